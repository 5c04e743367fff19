package skilltool

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/image/font/sfnt"
)

// maxFont limits a font of the machine, in bytes.
const maxFont = 64 << 20

// machineFont returns a font of this machine with Chinese, Japanese and Korean letters, nil if there is none.
var machineFont = sync.OnceValue(func() *sfnt.Font {
	best, rank := "", len(cjkNames())
	for _, dir := range fontFolders() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // unreadable files have no fonts
			}
			if d.IsDir() && strings.Count(path, string(filepath.Separator))-strings.Count(dir, string(filepath.Separator)) > 5 {
				return fs.SkipDir
			}
			base := strings.ToLower(d.Name())
			for i, name := range cjkNames()[:rank] {
				if strings.HasPrefix(base, name) && !strings.Contains(base, "bold") && !strings.Contains(base, "black") &&
					!strings.Contains(base, "mono") {
					best, rank = path, i
					break
				}
			}
			return nil
		})
	}
	if best == "" {
		return nil
	}
	info, err := os.Stat(best)
	if err != nil || info.Size() > maxFont {
		return nil
	}
	data, err := os.ReadFile(best)
	if err != nil {
		return nil
	}
	all, err := sfnt.ParseCollection(data)
	if err != nil {
		return nil
	}
	// Collections have one font for each region; simplified Chinese first.
	var buf sfnt.Buffer
	var first *sfnt.Font
	for i := range all.NumFonts() {
		f, err := all.Font(i)
		if err != nil {
			continue
		}
		if g, err := f.GlyphIndex(&buf, '中'); err != nil || g == 0 {
			continue
		}
		name, err := f.Name(&buf, sfnt.NameIDFull)
		if err == nil && (strings.Contains(name, " SC") || strings.Contains(name, "CN")) {
			return f
		}
		if first == nil {
			first = f
		}
	}
	return first
})

// cjkNames returns name prefixes of such fonts, the best first.
func cjkNames() []string {
	return []string{"notosanscjk", "notosanssc", "notosanscjksc", "sourcehansans", "msyh", "pingfang", "wqy-microhei", "wqy-zenhei",
		"droidsansfallback", "hiragino", "simhei", "simsun", "notoserifcjk", "sourcehanserif", "stheiti", "arial unicode", "unifont"}
}

func fontFolders() []string {
	out := []string{"/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts", `C:\Windows\Fonts`}
	if home, err := os.UserHomeDir(); err == nil {
		out = append(out, filepath.Join(home, ".fonts"), filepath.Join(home, ".local", "share", "fonts"), filepath.Join(home, "Library", "Fonts"))
	}
	return out
}
