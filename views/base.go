package views

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"fawn/views/markdown"
)

// Below a base path, every address of this server on a page needs the base as a prefix. Templates, handlers and
// Markdown write root-relative addresses, such as /workspace/chats; Render, which produces all HTML, adds the base. So
// none can be missed.

type baseKey struct{}

// WithBase returns a context whose pages are below a path such as /fawn; "" is the root.
func WithBase(ctx context.Context, base string) context.Context {
	if base == "" {
		return ctx
	}
	return context.WithValue(ctx, baseKey{}, base)
}

// Base returns the path below which the pages of a context are served.
func Base(ctx context.Context) string {
	base, _ := ctx.Value(baseKey{}).(string)
	return base
}

// Render returns the HTML of a component, with its addresses below the base of the context.
func Render(ctx context.Context, c templ.Component) ([]byte, error) {
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		return nil, err
	}
	return Below(Base(ctx), b.Bytes()), nil
}

// Put renders a component and adds a swap with it. Components that need a
// language take it from the context (i18n.With).
func (f *Frame) Put(ctx context.Context, how How, target string, c templ.Component) error {
	b, err := Render(ctx, c)
	if err != nil {
		return fmt.Errorf("render %s: %w", target, err)
	}
	f.Swap = append(f.Swap, Swap{Target: target, How: how, HTML: string(b)})
	return nil
}

// OpsBelow prefixes the addresses in the HTML of a patch with base.
func OpsBelow(base string, ops []markdown.Op) []markdown.Op {
	if base == "" {
		return ops
	}
	for i := range ops {
		ops[i].HTML = string(Below(base, []byte(ops[i].HTML)))
	}
	return ops
}

// Below adds base to every root-relative address in our HTML. It expects well-formed HTML with quoted values, as
// written by templ and the Markdown renderer. Text is unchanged.
func Below(base string, html []byte) []byte {
	if base == "" {
		return html
	}
	out := make([]byte, 0, len(html)+len(html)/16)
	for len(html) > 0 {
		i := bytes.IndexByte(html, '<')
		if i < 0 {
			break
		}
		out, html = append(out, html[:i]...), html[i:]
		n := tagLength(html)
		out, html = appendTag(out, html[:n], base), html[n:]
	}
	return append(out, html...)
}

// tagLength returns the length of the tag or comment at the start of s, which begins with <.
func tagLength(s []byte) int {
	if bytes.HasPrefix(s, []byte("<!--")) {
		if end := bytes.Index(s, []byte("-->")); end >= 0 {
			return end + 3
		}
		return len(s)
	}
	var quote byte
	for i, c := range s {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return len(s)
}

// appendTag appends a tag, prefixing its addresses with base.
func appendTag(out, tag []byte, base string) []byte {
	if len(tag) < 2 || !letter(tag[1]) {
		return append(out, tag...)
	}
	for i := 0; i < len(tag); i++ {
		q := tag[i]
		if q != '"' && q != '\'' {
			continue
		}
		end := bytes.IndexByte(tag[i+1:], q)
		if end < 0 {
			break
		}
		value := tag[i+1 : i+1+end]
		if len(value) > 0 && value[0] == '/' && isAddress(nameBefore(tag[:i]), value) {
			out = append(append(out, tag[:i+1]...), base...)
			tag, i = tag[i+1:], end
			continue
		}
		i += 1 + end
	}
	return append(out, tag...)
}

// nameBefore returns the name of the attribute whose value begins at s's end.
func nameBefore(s []byte) string {
	s = bytes.TrimRight(s, " \t\r\n")
	s, ok := bytes.CutSuffix(s, []byte("="))
	if !ok {
		return ""
	}
	s = bytes.TrimRight(s, " \t\r\n")
	begin := len(s)
	for begin > 0 && (letter(s[begin-1]) || s[begin-1] == '-' || s[begin-1] == ':') {
		begin--
	}
	return strings.ToLower(string(s[begin:]))
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// ownRoots are the first parts of paths that the page's script reads from data attributes.
var ownRoots = [...]string{"/api/", "/assets/", "/share/", "/ui/", "/workspace/"}

// isAddress reports whether the value of an attribute, which begins with a slash, is an address of this server. Data
// attributes have texts and names of files in them too.
func isAddress(name string, value []byte) bool {
	if bytes.HasPrefix(value, []byte("//")) {
		return false
	}
	switch name {
	case "href", "src", "action", "formaction", "poster", "cite", "xlink:href", "hx-get", "hx-post", "hx-put",
		"hx-patch", "hx-delete", "hx-push-url", "hx-replace-url":
		return true
	}
	return strings.HasPrefix(name, "data-") && !bytes.ContainsAny(value, " \t\r\n") &&
		slices.ContainsFunc(ownRoots[:], func(root string) bool { return bytes.HasPrefix(value, []byte(root)) })
}
