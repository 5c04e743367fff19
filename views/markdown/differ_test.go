package markdown_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	"fawn/agent/agenttest/must"
	"fawn/views/markdown"
)

var opts = markdown.Options{Lang: "en", Thread: "t1", Prefix: "m1"}

// dom is a reader: it does with patches what the browser does.
type dom struct{ root *html.Node }

func newDOM() *dom { return &dom{&html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}} }

func parse(t testing.TB, ctx *html.Node, s string) []*html.Node {
	t.Helper()
	nodes := must.Get(html.ParseFragment(strings.NewReader(s),
		&html.Node{Type: html.ElementNode, Data: ctx.Data, DataAtom: ctx.DataAtom}))(t)
	return nodes
}

func (d *dom) apply(t testing.TB, ops []markdown.Op) {
	t.Helper()
	for _, o := range ops {
		n := d.root
		if o.Depth < 0 {
			n = n.FirstChild
			for range -1 - o.Depth {
				n = n.NextSibling
			}
			for _, c := range parse(t, d.root, o.HTML) {
				d.root.InsertBefore(c, n)
			}
			d.root.RemoveChild(n)
			continue
		}
		for range o.Depth {
			if n = n.LastChild; n == nil {
				t.Fatalf("op %+v goes below the tree", o)
			}
		}
		for range o.Drop {
			n.RemoveChild(n.LastChild)
		}
		if o.Text != "" {
			if n.LastChild == nil || n.LastChild.Type != html.TextNode {
				t.Fatalf("op %+v appends text to something else", o)
			}
			n.LastChild.Data += o.Text
		}
		for _, c := range parse(t, n, o.HTML) {
			n.AppendChild(c)
		}
	}
}

func (d *dom) html() string {
	var b strings.Builder
	for c := d.root.FirstChild; c != nil; c = c.NextSibling {
		_ = html.Render(&b, c)
	}
	return b.String()
}

func fresh(t testing.TB, s string) string {
	d := newDOM()
	d.apply(t, []markdown.Op{{HTML: s}})
	return d.html()
}

// play streams src in the given cuts and checks every promise on the way.
func play(t testing.TB, src string, cuts []int, everyTick bool) {
	t.Helper()
	d, page := markdown.NewDiffer(opts), newDOM()
	for _, c := range cuts {
		page.apply(t, d.Patch(src[:c], false))
		if everyTick {
			if got, want := page.html(), fresh(t, markdown.Partial(src[:c], opts)); got != want {
				t.Fatalf("after %d bytes (%q):\n got %s\nwant %s", c, tailOf(src[:c]), got, want)
			}
		}
	}
	page.apply(t, d.Patch(src, true))
	if got, want := page.html(), fresh(t, markdown.Render(src, opts)); got != want {
		t.Fatalf("at the end:\n got %s\nwant %s", got, want)
	}
}

func tailOf(s string) string { return s[max(0, len(s)-60):] }

func TestStreamEndsEqualToFreshRender(t *testing.T) {
	src := sample()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var cuts []int
		for i := 0; i < len(src); {
			i = min(len(src), i+1+r.IntN(40))
			cuts = append(cuts, i)
		}
		play(t, src, cuts, seed < 2)
	}
}

func TestPageRenderedMidwayGoesOnSeamlessly(t *testing.T) {
	src := sample()
	for at := 0; at < len(src); at += 97 {
		page := newDOM()
		page.apply(t, []markdown.Op{{HTML: markdown.Partial(src[:at], opts)}})
		d := markdown.NewDiffer(opts)
		d.Patch(src[:at], false)
		page.apply(t, d.Patch(src[:min(len(src), at+500)], false))
		page.apply(t, d.Patch(src, true))
		if got, want := page.html(), fresh(t, markdown.Render(src, opts)); got != want {
			t.Fatalf("joined at %d:\n got %s\nwant %s", at, got, want)
		}
	}
}

func TestFinishedBlocksAreNeverTouched(t *testing.T) {
	src := sample()
	d, page := markdown.NewDiffer(opts), newDOM()
	first := (*html.Node)(nil)
	for i := 0; i < len(src); i += 7 {
		page.apply(t, d.Patch(src[:i], false))
		if i > 400 && first == nil {
			first = page.root.FirstChild.NextSibling
		}
		if first != nil && page.root.FirstChild.NextSibling != first {
			t.Fatalf("second block was replaced at %d", i)
		}
	}
}

func TestNoRawMarksWhileStreaming(t *testing.T) {
	src := sample()
	for i := range src {
		if !utf8.ValidString(src[:i]) {
			continue
		}
		text := visibleText(t, markdown.Partial(src[:i], opts))
		for _, mark := range []string{"**", "](", "[citation", "~~", "[^", "|:", "| Harb", "<b", "<div"} {
			if strings.Contains(text, mark) {
				t.Fatalf("%q is visible after %q: %s", mark, tailOf(src[:i]), tailOf(text))
			}
		}
	}
}

// visibleText is the text outside code.
func visibleText(t *testing.T, s string) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		if n.Data == "code" && n.Type == html.ElementNode {
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	for _, n := range parse(t, newDOM().root, s) {
		walk(n)
	}
	return b.String()
}

func TestShorterTextStartsAnew(t *testing.T) {
	d, page := markdown.NewDiffer(opts), newDOM()
	page.apply(t, d.Patch("one\n\ntwo\n\nthree", false))
	page.apply(t, d.Patch("other", false))
	page.apply(t, d.Patch("other *text*", true))
	if got := page.html(); got != "<p>other <em>text</em></p>" {
		t.Fatal(got)
	}
}

func TestOpJSONIsFourValues(t *testing.T) {
	b := must.Get(json.Marshal([]markdown.Op{{Depth: 2, Drop: 1, HTML: "<b>&</b>", Text: "x"}}))(t)
	var back [][]any
	if err := json.Unmarshal(b, &back); err != nil || len(back[0]) != 4 || back[0][2] != "<b>&</b>" {
		t.Fatalf("%s %v", b, err)
	}
}

var pieces = []string{"# ", "## Head\n", "\n", "\n\n", "text ", "**", "*", "_", "`", "```", "```go\n", "\n```\n",
	"~~~\n", "- ", "- item\n", "1. ", "  ", "    ",
	"| a | b |\n", "|---|---|\n", "| x | y |\n", "> ", "[", "](", "](https://e.org)", "[citation:T](https://e.org)",
	"![", "<b>", "<div>\n", "</div>\n", "<!--", "-->", "<script>",
	"[^1]", "[^1]: note\n", "[r]: https://e.org\n", "[r]", "---\n", "===\n", "~~", "\\", "é", "日本", "&amp;", "&#x202e;",
	"\u202e", "https://e.org/x ", "$x$", "$", "$$", "$$\n", "\\(", "\\)", "\\[\n", "\\]", "a_1 ", "$5 ", "- [ ] ",
	"- [x] ", "\t", "\r\n"}

func TestAnyTextInAnyCutsEndsEqual(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		src := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 40).Draw(rt, "pieces"), "")
		var cuts []int
		for i := 0; i < len(src); {
			i = min(len(src), i+rapid.IntRange(1, 12).Draw(rt, "step"))
			if utf8.ValidString(src[:i]) {
				cuts = append(cuts, i)
			}
		}
		play(t, src, cuts, true)
	})
}

func FuzzDiffer(f *testing.F) {
	f.Add(sample()[:480], uint8(7))
	for _, p := range pieces {
		f.Add("a\n\n"+p+p+"b\n\n"+p, uint8(1))
	}
	f.Fuzz(func(t *testing.T, src string, step uint8) {
		if len(src) > 500 || !utf8.ValidString(src) {
			return
		}
		var cuts []int
		for i := 0; i < len(src); {
			i = min(len(src), i+int(step)%60+1)
			if utf8.ValidString(src[:i]) {
				cuts = append(cuts, i)
			}
		}
		play(t, src, cuts, true)
	})
}

// The time of one tick must not grow with the finished part of the message.
func BenchmarkTick(b *testing.B) {
	for name, n := range map[string]int{"after-1-sample": 1, "after-20-samples": 20} {
		b.Run(name, func(b *testing.B) {
			head := strings.Repeat(sample(), n)
			d := markdown.NewDiffer(opts)
			d.Patch(head, false)
			full := head + "\n\nA paragraph of usual length with **bold** words and `code`, which is being typed"
			tail, i := full[len(head):], 0
			for b.Loop() {
				i = i%len(tail) + 1
				if i == 1 {
					b.StopTimer()
					d = markdown.NewDiffer(opts)
					d.Patch(head, false)
					b.StartTimer()
				}
				d.Patch(full[:len(head)+i], false)
			}
		})
	}
}
