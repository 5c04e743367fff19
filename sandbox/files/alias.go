package files

import (
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// decomposed returns the path of an existing file named like p with decomposed accents, as written by macOS; empty
// without one.
func (f *Files) decomposed(p string) string {
	name := path.Base(p)
	if norm.NFD.IsNormalString(name) {
		return ""
	}
	return f.besides(path.Dir(p), func(other string) bool { return norm.NFC.String(other) == name })
}

// converted returns the path of the Markdown converted from the upload w.docx for a request of w.md, its name in
// DeerFlow; empty if ambiguous.
func (f *Files) converted(p string) string {
	stem, ok := strings.CutSuffix(path.Base(p), ".md")
	if !ok || stem == "" || path.Dir(p) != Uploads {
		return ""
	}
	return f.besides(Uploads, func(other string) bool {
		source, ok := strings.CutSuffix(other, ".md")
		ext := path.Ext(source)
		if !ok || ext == "" || norm.NFC.String(strings.TrimSuffix(source, ext)) != stem {
			return false
		}
		_, err := f.Lstat(Uploads + "/" + source)
		return err == nil
	})
}

// besides returns the path of the only name in a folder that is meant, or empty. A folder that can't be read has none.
func (f *Files) besides(dir string, meant func(name string) bool) string {
	at, err := f.locate(dir)
	if err != nil {
		return ""
	}
	found, left := "", f.limits.Entries
	err = eachEntry(at.root, at.rel, func(e fs.DirEntry) error {
		switch left--; {
		case left < 0:
			return fs.SkipAll
		case !meant(e.Name()):
			return nil
		case found != "":
			found = ""
			return fs.SkipAll
		}
		found = dir + "/" + e.Name()
		return nil
	})
	if err != nil {
		return ""
	}
	return found
}
