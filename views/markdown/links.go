package markdown

import (
	"html"
	"net/url"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

const filesRoot = "/mnt/user-data/"

// wholeDest represents Options.Whole in the source of notes.
const wholeDest = "fawn:whole"

// target is the allowed target of a link.
type target struct {
	href     string // empty shows the text only
	external bool
	file     string // virtual path without leading slash when it is a file of the thread
	at       string // place in that file, such as page-7
}

// resolve checks an address written by a model. Only http, https and mailto lead elsewhere; paths of
// the thread's files become addresses of this server, also relative ones if requested; everything else
// is inert.
func (w *writer) resolve(dest []byte, relative bool) target {
	if string(dest) == wholeDest && w.o.Whole != "" {
		return target{href: w.o.Whole, external: true}
	}
	s := string(util.URLEscape(dest, true))
	if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || turnsDirection(r) }); i >= 0 {
		return target{}
	}
	// sandbox: is a prefix some models put before a file path.
	if p := strings.TrimPrefix(strings.TrimPrefix(s, "sandbox:"), "file://"); strings.HasPrefix(p, filesRoot) {
		file, at := cutPlace(p)
		return w.resolveFile(file).in(at)
	}
	u, err := url.Parse(s)
	if err != nil {
		return target{}
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return target{}
		}
		return target{href: s, external: true}
	case "mailto":
		return target{href: s, external: true}
	case "":
		if relative && w.o.Dir != "" && u.Host == "" && u.Path != "" && u.Path[0] != '/' {
			return w.resolveFile(path.Join("/", w.o.Dir, u.EscapedPath()))
		}
	}
	return target{}
}

// resolveFile returns the address of a file from an escaped virtual path.
func (w *writer) resolveFile(escaped string) target {
	p, err := url.PathUnescape(escaped)
	if err != nil || w.o.Thread == "" && w.o.Share == "" || !strings.HasPrefix(p, filesRoot) {
		return target{}
	}
	p = strings.TrimPrefix(p, "/")
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\\x00") {
			return target{}
		}
	}
	if w.o.Share != "" && !w.o.Shared[p] {
		return target{}
	}
	return target{href: w.o.fileURL(p), file: p}
}

// fileURL returns the address of the page of a file.
func (o *Options) fileURL(p string) string {
	if o.Share != "" {
		return "/share/" + url.PathEscape(o.Share) + "/files/" + escapePath(p)
	}
	return "/workspace/chats/" + url.PathEscape(o.Thread) + "/files/" + escapePath(p)
}

// viewURL returns the address that shows a file inside a page.
func (o *Options) viewURL(p string) string {
	if o.Share != "" {
		return "/share/" + url.PathEscape(o.Share) + "/view/" + escapePath(p)
	}
	return "/ui/threads/" + url.PathEscape(o.Thread) + "/view/" + escapePath(p)
}

func escapePath(p string) string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// anchor opens a link or, for an inert one, a span. The returned string closes it.
func (w *writer) anchor(t target, class, title string) string {
	if t.href == "" || w.inLink > 0 {
		w.raw(`<span class="inert">`)
		return "</span>"
	}
	w.raw("<a")
	if class != "" {
		w.raw(` class="` + class + `"`)
	}
	if t.at != "" {
		w.raw(` data-at="` + html.EscapeString(t.at) + `"`)
	}
	if t.file != "" {
		w.raw(` data-file="` + html.EscapeString(t.file) + `"`)
	}
	w.raw(` href="` + html.EscapeString(t.href) + `"`)
	if t.external {
		w.raw(` rel="noopener noreferrer" target="_blank"`)
	}
	if title != "" {
		w.raw(` title="` + html.EscapeString(title) + `"`)
	}
	w.raw(">")
	return "</a>"
}

func (w *writer) link(n *ast.Link) {
	t := w.resolve(n.Destination, w.o.Links)
	if title, ok := citation(w.plain(n)); ok && t.external {
		w.cite(t, title)
		return
	}
	title := string(n.Title)
	end := w.anchor(t, "", title)
	w.inLink++
	w.children(n)
	w.inLink--
	w.raw(end)
}

// cite writes a citation: a chip with the name of the site, and the title of the
// page for the tooltip of the style sheet and for screen readers.
func (w *writer) cite(t target, title string) {
	site := Host(t.href)
	if title == "" {
		title = site
	}
	w.raw(`<a aria-label="` + html.EscapeString(site+": "+title) + `" class="cite" data-tip="` +
		html.EscapeString(title) + `" href="` +
		html.EscapeString(t.href) + `" rel="noopener noreferrer" target="_blank">`)
	w.text(site)
	w.raw("</a>")
}

func (w *writer) autoLink(n *ast.AutoLink) {
	dest := n.URL(w.src)
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(string(dest)), "mailto:") {
		dest = append([]byte("mailto:"), dest...)
	}
	end := w.anchor(w.resolve(dest, false), "", "")
	w.text(string(n.Label(w.src)))
	w.raw(end)
}

// image shows images of this thread only: external images would reveal the reader to their server, and the page's
// policy blocks them anyway. They become links.
func (w *writer) image(n *ast.Image) {
	alt := w.plain(n)
	t := w.resolve(n.Destination, true)
	if t.file != "" && isPicture(t.file) {
		w.raw(`<img alt="` + html.EscapeString(alt) + `" loading="lazy" src="` +
			html.EscapeString(w.o.viewURL(t.file)) + `">`)
		return
	}
	if alt == "" {
		alt = Host(t.href)
	}
	end := w.anchor(t, "", "")
	w.text(alt)
	w.raw(end)
}

// isPicture reports whether a file's name is that of an image that browsers can display.
func isPicture(file string) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg", ".bmp", ".ico":
		return true
	}
	return false
}

// plain returns the text of the children of n.
func (w *writer) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch c := c.(type) {
			case *ast.Text:
				b.Write(util.UnescapePunctuations(c.Segment.Value(w.src)))
				if c.SoftLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.AutoLink:
				b.Write(c.Label(w.src))
			case *reference:
				b.WriteString(c.written)
			}
		}
		return ast.WalkContinue, nil
	})
	return SafeText(b.String())
}

// citation removes the title from the text of a citation link.
func citation(s string) (string, bool) {
	title, ok := strings.CutPrefix(s, "citation:")
	return strings.TrimSpace(title), ok
}

// Host returns the familiar site name of an address.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Hostname(), "www.")
}

// Source is one address a text refers to by citations.
type Source struct{ Title, URL, Host string }

// Sources lists the citations of src, each address once, in their order.
func Sources(src string) []Source {
	if !strings.Contains(src, "[citation:") {
		return nil
	}
	src, _ = capSource(src, Options{})
	w := &writer{src: []byte(src)}
	var out []Source
	seen := map[string]bool{}
	_ = ast.Walk(parse(w.src), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		l, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		t := w.resolve(l.Destination, false)
		title, ok := citation(w.plain(l))
		if ok && t.external && !seen[t.href] {
			seen[t.href] = true
			out = append(out, Source{Title: title, URL: t.href, Host: Host(t.href)})
		}
		return ast.WalkSkipChildren, nil
	})
	return out
}
