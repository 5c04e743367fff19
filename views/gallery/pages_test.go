package gallery_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fawn/agent/agenttest/must"
	"fawn/assets"
	"fawn/views"
	"fawn/views/gallery"
	"fawn/views/i18n"
)

func walk(n *html.Node, f func(*html.Node)) {
	f(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, f)
	}
}

func attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// every renders all sample pages in all languages and themes.
func every(t *testing.T, f func(t *testing.T, lang string, doc *html.Node)) {
	for _, lang := range i18n.Languages() {
		for _, theme := range []views.Theme{"", views.ThemeLight, views.ThemeDark} {
			pages := gallery.Pages(gallery.Look{Theme: theme, Lang: lang})
			pages["all"] = gallery.Gallery(theme)
			for name, c := range pages {
				if name == "all" && lang != i18n.English {
					continue
				}
				t.Run(name+" "+lang+" "+string(theme), func(t *testing.T) {
					var b strings.Builder
					must.Do(t, c.Render(t.Context(), &b))
					doc := must.Get(html.Parse(strings.NewReader(b.String())))(t)
					f(t, lang, doc)
				})
			}
		}
	}
}

// The policy of the pages allows no inline script and no inline style; whatever
// breaks it is dead in the browser.
func TestPagesObeyTheirPolicy(t *testing.T) {
	every(t, func(t *testing.T, _ string, doc *html.Node) {
		walk(doc, func(n *html.Node) {
			if n.Type != html.ElementNode {
				return
			}
			if n.Data == "style" {
				t.Error("a style element")
			}
			src, ok := attr(n, "src")
			if n.Data == "script" && (!ok || !strings.HasPrefix(src, assets.Prefix) || n.FirstChild != nil) {
				t.Error("an inline or foreign script")
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Key, "hx-on") ||
					strings.HasPrefix(a.Val, "js:") || strings.HasPrefix(a.Val, "javascript:") {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
				if a.Key == "hx-trigger" && strings.Contains(a.Val, "[") {
					t.Errorf("a trigger with a filter: %s", a.Val)
				}
			}
		})
	})
}

func TestPagesAreWellFormed(t *testing.T) {
	every(t, func(t *testing.T, lang string, doc *html.Node) {
		ids, h1, mains := map[string]bool{}, 0, 0
		var refs []string
		walk(doc, func(n *html.Node) {
			if n.Type != html.ElementNode {
				return
			}
			switch n.Data {
			case "html":
				if l, _ := attr(n, "lang"); l != lang {
					t.Errorf("lang is %q", l)
				}
			case "h1":
				h1++
			case "main":
				mains++
			case "button":
				if words(n) == "" {
					t.Error("a button without words")
				}
			case "form":
				method, _ := attr(n, "method")
				role, _ := attr(n, "role")
				class, _ := attr(n, "class") // one that only goes to another section changes nothing
				if method != "post" && role != "search" && !strings.HasSuffix(class, " where") {
					t.Error("a form that does not post")
				}
			case "input", "textarea", "select":
				if ty, _ := attr(n, "type"); ty == "hidden" {
					break
				}
				_, named := attr(n, "name")
				if _, ticksOthers := attr(n, "data-all"); !named && !ticksOthers {
					t.Errorf("<%s> without a name is lost without script", n.Data)
				}
			case "a":
				if href, ok := attr(n, "href"); !ok || href == "" {
					t.Error("a link to nowhere")
				}
				if words(n) == "" {
					t.Error("a link without words")
				}
			}
			if id, ok := attr(n, "id"); ok {
				if ids[id] {
					t.Errorf("id %s twice", id)
				}
				ids[id] = true
			}
			for _, k := range []string{"for", "popovertarget", "aria-labelledby", "data-dialog"} {
				if v, ok := attr(n, k); ok {
					refs = append(refs, strings.Fields(v)...) // some may name several
				}
			}
		})
		for _, r := range refs {
			if !ids[r] {
				t.Errorf("refers to %s, which is not there", r)
			}
		}
		if h1 != 1 || mains != 1 {
			t.Errorf("%d h1, %d main", h1, mains)
		}
	})
}

// words is the accessible name of an element, near enough.
func words(n *html.Node) string {
	if l, _ := attr(n, "aria-label"); l != "" {
		return l
	}
	var b strings.Builder
	walk(n, func(c *html.Node) {
		if c.Type == html.TextNode {
			b.WriteString(strings.TrimSpace(c.Data))
		}
	})
	return b.String()
}

// Every picture of the sprite and every asset a page asks for is there.
func TestAssetsOfPagesExist(t *testing.T) {
	srv := httptest.NewServer(assets.Handler())
	defer srv.Close()
	sprite := ""
	seen := map[string]bool{}
	every(t, func(t *testing.T, _ string, doc *html.Node) {
		walk(doc, func(n *html.Node) {
			for _, a := range n.Attr {
				if !strings.HasPrefix(a.Val, assets.Prefix) || seen[a.Val] {
					continue
				}
				seen[a.Val] = true
				path, symbol, _ := strings.Cut(a.Val, "#")
				res := must.Get(srv.Client().Get(srv.URL + path))(t)
				var b strings.Builder
				buf := make([]byte, 64<<10)
				for {
					n, err := res.Body.Read(buf)
					b.Write(buf[:n])
					if err != nil {
						break
					}
				}
				_ = res.Body.Close()
				if res.StatusCode != 200 {
					t.Errorf("%s: %s", path, res.Status)
				}
				if symbol != "" {
					sprite = b.String()
					if !strings.Contains(sprite, `id="`+symbol+`"`) {
						t.Errorf("no symbol %s", symbol)
					}
				}
			}
		})
	})
	if sprite == "" {
		t.Error("no page has an icon")
	}
}

func TestNoSentenceIsMissing(t *testing.T) {
	every(t, func(t *testing.T, _ string, doc *html.Node) {
		walk(doc, func(n *html.Node) {
			if n.Type == html.TextNode && n.Parent.Data != "code" && n.Parent.Data != "pre" {
				for _, f := range []string{"%!", "files.", "tool.", "step.", "turn.", "nav."} {
					if strings.HasPrefix(strings.TrimSpace(n.Data), f) || f == "%!" && strings.Contains(n.Data, f) {
						t.Errorf("%q", n.Data)
					}
				}
			}
		})
	})
}
