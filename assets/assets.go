// Package assets embeds the files the browser loads and serves them. Files of users never come this way.
//
// All of them live under one address that contains a hash of their content, so
// that browsers may keep them for a year and never see a mixture of two
// releases. Relative addresses inside the style sheet keep working because the
// hash is a folder.
package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

//go:embed dist/*.js dist/*.css vendor/*.gz fonts/*.woff2 fonts/OFL.txt img/*.svg notices.txt
var files embed.FS

// Prefix is the path all assets live under.
const Prefix = "/assets/"

// ErrMissing is returned by Check for a name that is not embedded.
var ErrMissing = errors.New("asset is missing")

// The names the pages use. Check tries each of them at start-up.
const (
	Script  = "app.js"
	Style   = "app.css"
	Sprite  = "img/sprite.svg"
	Contour = "img/contour.svg"
	Favicon = "img/favicon.svg"
	UIFont  = "fonts/hanken.woff2"

	SerifFont = "fonts/newsreader.woff2"

	// ShareScript is all that a page for readers of a link has.
	ShareScript = "share.js"

	// PagesStyle styles settings, tasks and other pages without a chat.
	PagesStyle = "pages.css"

	// NoticesText lists third-party components with their licenses.
	NoticesText = "notices.txt"

	// FilesStyle is loaded with the first file that is shown.
	FilesStyle = "files.css"

	// CardsStyle styles questions, plans, queues, helpers and failures in a chat.
	CardsStyle = "cards.css"

	// Assets of the palette, loaded when it is opened.
	PaletteScript = "palette.js"
	PaletteStyle  = "palette.css"

	// Assets of the command list in the message box.
	SlashScript = "slash.js"
	SlashStyle  = "slash.css"

	// Assets of a chat's tools.
	ToolsScript = "tools.js"
	ToolsStyle  = "tools.css"

	// GripScript moves the lines between the columns.
	GripScript = "grip.js"

	// HelloStyle styles pages with a large title: the welcome and error pages.
	HelloStyle = "hello.css"

	// NotifyScript notifies people while the page is hidden.
	NotifyScript = "notify.js"

	// RowMenuScript implements the menus in the side bar.
	RowMenuScript = "rowmenu.js"

	// GapsScript loads the turns that the page of a long conversation leaves out.
	GapsScript = "gaps.js"

	// EditScript supports text being edited.
	EditScript = "edit.js"

	// PreviewScript shows sheets, PDFs and images in the panel.
	PreviewScript = "preview.js"

	// Assets of sign-in and accounts.
	AccountScript = "account.js"
	AccountStyle  = "account.css"

	// TrailScript follows an active helper in the panel.
	TrailScript = "trail.js"

	// GlideScript animates layout changes.
	GlideScript = "glide.js"

	// PasteScript shows the text of a large paste.
	PasteScript = "paste.js"

	// EnterScript leads from a first message into its chat.
	EnterScript = "enter.js"

	// CompareStyle styles answers shown side by side.
	CompareStyle = "compare.css"

	// InsightStyle styles the pages about runs and their usage.
	InsightStyle = "insight.css"

	// Script and style of the panel with the agent's browser.
	BrowseScript = "browse.js"
	BrowseStyle  = "browse.css"

	// AppsScript is the host of apps of MCP servers.
	AppsScript = "apps.js"
	// StayScript reports that a temporary chat is visible.
	StayScript = "stay.js"

	// JumpScript navigates between messages, AskScript asks about selected text.
	JumpScript = "jump.js"
	AskScript  = "ask.js"

	// Assets of the frame that draws diagrams.
	Mermaid       = "mermaid.js"
	DiagramScript = "diagram.js"
	DiagramStyle  = "diagram.css"
)

// Names lists every asset a page may refer to.
func Names() []string {
	return []string{Script, Style, Sprite, Contour, Favicon, UIFont, SerifFont, "fonts/jbmono.woff2",
		"fonts/math.woff2", "fonts/mathletters.woff2", ShareScript, PagesStyle, NoticesText, FilesStyle, PaletteScript,
		PaletteStyle, GripScript, HelloStyle, CardsStyle, SlashScript, SlashStyle, ToolsScript, ToolsStyle,
		NotifyScript, RowMenuScript, GapsScript, EditScript, EnterScript, PreviewScript, TrailScript, PasteScript, GlideScript, InsightStyle, CompareStyle,
		AccountScript, AccountStyle, BrowseScript, BrowseStyle, AppsScript, StayScript, JumpScript, AskScript, Mermaid, DiagramScript, DiagramStyle}
}

// URL returns the address of an asset, for example URL("app.css") or URL("img/sprite.svg"). It does not check that the
// asset exists; Check and the tests do.
func URL(name string) string { return Prefix + version() + "/" + name }

// Check reports the first asset of Names that is missing or empty. Call it when
// the server starts: a page without its script is worse than no page.
func Check() error {
	for _, n := range Names() {
		size, err := sizeOf(n) // reading them would put megabytes of the binary into memory
		if err != nil {
			return err
		}
		if size == 0 {
			return fmt.Errorf("check %s: empty: %w", n, ErrMissing)
		}
	}
	return nil
}

// read returns the content of an asset as it is embedded.
func read(name string) ([]byte, error) {
	b, err := files.ReadFile(pathOf(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, ErrMissing)
	}
	return b, nil
}

// sizeOf returns the length in bytes of read's result.
func sizeOf(name string) (int64, error) {
	info, err := fs.Stat(files, pathOf(name))
	if err != nil || info.IsDir() {
		return 0, fmt.Errorf("find %s: %w", name, ErrMissing)
	}
	return info.Size(), nil
}

// pathOf returns the path of an embedded asset; "" for an unknown name, which no file has.
func pathOf(name string) string {
	switch {
	case strings.HasPrefix(name, "dist/"), strings.HasPrefix(name, "vendor/"):
		return ""
	case packed(name):
		return "vendor/" + name + ".gz"
	case !strings.Contains(name, "/") && name != NoticesText:
		return "dist/" + name
	}
	return name
}

// packed reports whether a large third-party file is embedded and read compressed.
func packed(name string) bool { return name == Mermaid }

// version is a hash over the names and contents of all files.
var version = sync.OnceValue(func() string {
	h := sha256.New()
	_ = fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", p, len(b))
		h.Write(b)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// fontURL matches a font's URL in a style sheet.
var fontURL = regexp.MustCompile(`url\("?(fonts/[\w-]+\.woff2)"?\)`)

// Inline returns a style sheet with its fonts inside, for a document that may load nothing. Fonts that use refuses keep
// their addresses, which lead nowhere then.
func Inline(name string, use func(font string) bool) (string, error) {
	css, err := read(name)
	if err != nil {
		return "", err
	}
	return fontURL.ReplaceAllStringFunc(string(css), func(found string) string {
		font := fontURL.FindStringSubmatch(found)[1]
		body, failed := read(font)
		if !use(font) || failed != nil {
			return found
		}
		return "url(data:font/woff2;base64," + base64.StdEncoding.EncodeToString(body) + ")"
	}), nil
}

// Symbols returns the icon sprite, starting at its root element.
func Symbols() (string, error) {
	b, err := read(Sprite)
	if err != nil {
		return "", err
	}
	text := string(b)
	return text[max(0, strings.Index(text, "<svg")):], nil
}

// Notice names something of others that is built into the binary.
type Notice struct {
	Name    string // name of the module or the work
	Version string // may be empty
	License string // SPDX identifiers, separated by commas
}

// Notices lists everything of others that is in the binary. NoticesText has the texts.
func Notices() []Notice {
	b, err := read(NoticesText)
	if err != nil {
		return nil
	}
	var list []Notice
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "---") { // the texts begin
			break
		}
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 3 {
			list = append(list, Notice{f[0], f[1], f[2]})
		}
	}
	return list
}
