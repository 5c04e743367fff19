package markdown_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fawn/views/markdown"
)

func walk(n *html.Node, f func(*html.Node)) {
	f(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, f)
	}
}

func TestRender(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"paragraphs":           {"one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"},
		"headings go down":     {"# a\n\n###### b", "<h2>a</h2><h6>b</h6>"},
		"tight list":           {"- a\n- b\n  - c", "<ul dir=\"auto\"><li>a</li><li>b<ul dir=\"auto\"><li>c</li></ul></li></ul>"},
		"list start":           {"3. a", `<ol dir="auto" start="3"><li>a</li></ol>`},
		"table":                {"|a|b|\n|-|-:|\n|1|2|", `<div aria-label="Table" class="tbl" role="group" tabindex="0"><table><thead><tr><th>a</th><th class="r">b</th></tr></thead><tbody><tr><td>1</td><td class="r">2</td></tr></tbody></table></div>`},
		"table with a corner":  {"||b|\n|-|-|\n|1|2|", `<div aria-label="Table" class="tbl" role="group" tabindex="0"><table><thead><tr><td></td><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>`},
		"task list":            {"- [x] a", `<ul dir="auto" class="tasks"><li><span aria-label="✓" class="box on" role="img"></span>a</li></ul>`},
		"strike":               {"~~a~~", "<p><del>a</del></p>"},
		"external link":        {"[a](https://e.org/x)", `<p><a href="https://e.org/x" rel="noopener noreferrer" target="_blank">a</a></p>`},
		"bare link":            {"https://e.org", `<p><a href="https://e.org" rel="noopener noreferrer" target="_blank">https://e.org</a></p>`},
		"file link":            {"[a](/mnt/user-data/outputs/a%20b.md)", `<p><a data-file="mnt/user-data/outputs/a b.md" href="/workspace/chats/t1/files/mnt/user-data/outputs/a%20b.md">a</a></p>`},
		"sandbox link":         {"[a](sandbox:/mnt/user-data/outputs/a.md)", `<p><a data-file="mnt/user-data/outputs/a.md" href="/workspace/chats/t1/files/mnt/user-data/outputs/a.md">a</a></p>`},
		"citation":             {"x [citation:Big Title](https://www.e.org/x).", `<p>x <a aria-label="e.org: Big Title" class="cite" data-tip="Big Title" href="https://www.e.org/x" rel="noopener noreferrer" target="_blank">e.org</a>.</p>`},
		"own picture":          {"![a](/mnt/user-data/outputs/c.png)", `<p><img alt="a" loading="lazy" src="/ui/threads/t1/view/mnt/user-data/outputs/c.png"></p>`},
		"own file, no picture": {"![a](/mnt/user-data/outputs/c.exe)", `<p><a data-file="mnt/user-data/outputs/c.exe" href="/workspace/chats/t1/files/mnt/user-data/outputs/c.exe">a</a></p>`},
		"foreign picture":      {"![a](https://e.org/c.png)", `<p><a href="https://e.org/c.png" rel="noopener noreferrer" target="_blank">a</a></p>`},
		"picture in a link":    {"[![a](https://e.org/c.png)](https://e.org)", `<p><a href="https://e.org" rel="noopener noreferrer" target="_blank"><span class="inert">a</span></a></p>`},
		"footnote":             {"a[^x]\n\n[^x]: note", `<p>a<sup class="fn"><a href="#fn-m1-x">x</a></sup></p><section aria-label="Footnotes" class="fns"><ul><li id="fn-m1-x"><span class="fn">x</span><div><p>note</p></div></li></ul></section>`},
		"break tag":            {"a<br>b", "<p>a<br>b</p>"},
		"inline html":          {"a <b onclick=x>b</b>", "<p>a b</p>"},
		"html block":           {"<div onclick=x>\nwords <i>here</i>\n</div>", "<p>words here</p>"},
		"script block":         {"<script>\nalert(1)\n</script>", ""},
		"money stays":          {"from $5 to $6, US$7 or $HOME and $PATH", "<p>from $5 to $6, US$7 or $HOME and $PATH</p>"},
		"code is escaped":      {"`<b>&`", "<p><code>&lt;b&gt;&amp;</code></p>"},
		"entities":             {"&lt;b&gt; &amp; &copy;", "<p>&lt;b&gt; &amp; ©</p>"},
		"unknown language":     {"```nolang\n<x>\n```", codeBlock("nolang", "nolang code", "&lt;x&gt;\n")},
		"language with extra":  {"```js {1,2} title=\"x\"\nlet\n```", codeBlock("js", "js code", "<span class=\"k\">let</span>\n")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := markdown.Render(c.src, opts); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRelativeAddressesStayInTheThread(t *testing.T) {
	img := func(p string) string {
		return `<p><img alt="a" loading="lazy" src="/ui/threads/t1/view/` + p + `"></p>`
	}
	const inert = `<p><span class="inert">a</span></p>`
	const dir = "mnt/user-data/outputs"
	for name, c := range map[string]struct {
		src, dir, want string
		links          bool
	}{
		"picture beside":             {src: "![a](c.svg)", dir: dir, want: img("mnt/user-data/outputs/c.svg")},
		"picture with a dot":         {src: "![a](./c%201.PNG)", dir: dir, want: img("mnt/user-data/outputs/c%201.PNG")},
		"picture below":              {src: "![a](img/c.webp?x#y)", dir: dir, want: img("mnt/user-data/outputs/img/c.webp")},
		"picture in another folder":  {src: "![a](../uploads/c.png)", dir: dir, want: img("mnt/user-data/uploads/c.png")},
		"no folder":                  {src: "![a](c.svg)", want: inert},
		"out of the thread":          {src: "![a](../../../etc/c.png)", dir: dir, want: inert},
		"out of the thread, escaped": {src: "![a](%2e%2e/%2e%2e/%2e%2e/etc/c.png)", dir: dir, want: inert},
		"absolute":                   {src: "![a](/etc/c.png)", dir: dir, want: inert},
		"absolute, up":               {src: "![a](/mnt/user-data/../../etc/c.png)", dir: dir, want: inert},
		"another host":               {src: "![a](//e.org/c.png)", dir: dir, want: inert},
		"backslashes":                {src: `![a](\\e.org\c.png)`, dir: dir, want: inert},
		"a scheme":                   {src: "![a](data:image/png;base64,AAAA)", dir: dir, want: inert},
		"no picture":                 {src: "![a](c.html)", dir: dir, want: `<p><a data-file="mnt/user-data/outputs/c.html" href="/workspace/chats/t1/files/mnt/user-data/outputs/c.html">a</a></p>`},
		"link":                       {src: "[a](c.csv)", dir: dir, want: inert},
		"link where asked for":       {src: "[a](c.csv)", dir: dir, links: true, want: `<p><a data-file="mnt/user-data/outputs/c.csv" href="/workspace/chats/t1/files/mnt/user-data/outputs/c.csv">a</a></p>`},
		"link to a heading":          {src: "[a](#b)", dir: dir, links: true, want: inert},
		"link out of the thread":     {src: "[a](../../secret)", dir: dir, links: true, want: inert},
	} {
		t.Run(name, func(t *testing.T) {
			o := markdown.Options{Thread: "t1", Dir: c.dir, Links: c.links}
			if got := markdown.Render(c.src, o); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func codeBlock(lang, label, body string) string {
	return fmt.Sprintf(`<div class="cb"><div class="cbh"><span>%s</span><label class="btn"><input class="vh" name="wrap" type="checkbox">Wrap</label><button aria-label="Copy code" class="btn js" data-copy="code" type="button">Copy</button></div><pre aria-label="%s" role="group" tabindex="0"><code>%s</code></pre></div>`,
		lang, label, body)
}

// Nothing a model writes may run, load or lead anywhere but to a few kinds of
// addresses.
func TestHostileInputIsInert(t *testing.T) {
	for _, src := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>",
		"<iframe src=//e.org></iframe>", "<style>*{}</style>", "[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))",
		"[a](java\tscript:alert(1))", "[a](&#106;avascript:alert(1))", "[a](javascript&colon;alert(1))",
		"[a](<java\nscript:alert(1)>)", "[a](\x01javascript:alert(1))", "[a](data:text/html,<script>alert(1)</script>)",
		"[a](vbscript:x)", "[a](file:///etc/passwd)",
		"[a](blob:x)", "[a](//evil.example)", "[a](/api/threads)", "[a](\\\\evil.example)", "[a](http:evil)",
		"![a](javascript:alert(1))", "![a](data:image/svg+xml,x)",
		"![a](https://evil.example/track.gif)", "[a](https://e.org \"x\\\" onclick=alert(1)\")",
		"[a](https://e.org/\"onclick=\"alert(1))", "<https://e.org/\"onx=1>", "<javascript:alert(1)>",
		"[x]: javascript:alert(1)\n\n[x]", "```\"><script>alert(1)</script>\nx\n```", "```js\"onclick=\"x\nx\n```",
		"`</code><script>`", "|<script>|\n|-|\n|<img src=x onerror=y>|", "[citation:x](javascript:alert(1))",
		"[^\"><script>]\n\n[^\"><script>]: x", "[a](/mnt/user-data/../../etc/passwd)",
		"[a](/mnt/user-data/outputs/%2e%2e/%2e%2e/x)", "[a](/mnt/user-data/outputs/..%5cx)",
		"![a](/mnt/user-data/outputs/x.png\" onerror=\"x)", "http://e.org/<script>", "<!-- --><script>x</script>",
		"<a href='javascript:x'>y</a>", "&lt;script&gt;alert(1)&lt;/script&gt;", "<math><mtext></p><script>",
		"<form action=//e.org><input name=x>", "<base href=//e.org>", "<meta http-equiv=refresh content=0>",
	} {
		for _, out := range []string{markdown.Render(src, opts), markdown.Partial(src, opts)} {
			for _, root := range parse(t, newDOM().root, out) {
				walk(root, func(n *html.Node) { checkNode(t, src, out, n) })
			}
		}
	}
}

func checkNode(t *testing.T, src, out string, n *html.Node) {
	t.Helper()
	if n.Type != html.ElementNode {
		return
	}
	// Formulas are MathML, of which only what links or holds something else is forbidden.
	// The only field is the switch of a block of code.
	wrap := n.Data == "input" && slices.Contains(n.Attr, html.Attribute{Key: "name", Val: "wrap"}) &&
		slices.Contains(n.Attr, html.Attribute{Key: "type", Val: "checkbox"})
	if !wrap && strings.Contains(" script style iframe svg form input base meta object embed link video audio maction mglyph annotation-xml ",
		" "+n.Data+" ") {
		t.Errorf("%q became %s", src, out)
	}
	for i, a := range n.Attr {
		if i > 0 && n.Attr[i-1].Key > a.Key && n.Namespace != "math" {
			t.Errorf("%q: attributes are not in order: %s", src, out)
		}
		switch {
		case strings.HasPrefix(a.Key, "on"), a.Key == "style", strings.HasPrefix(a.Key, "hx-"),
			strings.HasPrefix(a.Key, "data-hx"), a.Key == "popovertarget":
			t.Errorf("%q has attribute %s: %s", src, a.Key, out)
		case a.Key == "src" && !strings.HasPrefix(a.Val, "/ui/threads/t1/view/mnt/user-data/"):
			t.Errorf("%q loads %s", src, a.Val)
		case a.Key == "href":
			ok := strings.HasPrefix(a.Val, "https://") || strings.HasPrefix(a.Val, "http://") ||
				strings.HasPrefix(a.Val, "mailto:") || strings.HasPrefix(a.Val, "#fn-") ||
				strings.HasPrefix(a.Val, "/workspace/chats/t1/files/mnt/user-data/") && !strings.Contains(a.Val, "..")
			if !ok {
				t.Errorf("%q leads to %s", src, a.Val)
			}
		}
	}
}

func TestDirectionOverridesAndControlsAreRemoved(t *testing.T) {
	for _, src := range []string{"a\u202eb", "a&#x202e;b", "`a\u2066b`", "```\na\u202db\n```",
		"[a](https://e.org \"\u202eb\")", "a\x1b[31mb", "a\x00b\x07"} {
		out := markdown.Render(src, opts)
		if strings.ContainsAny(out, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x1b\x00\x07") {
			t.Errorf("%q became %q", src, out)
		}
	}
	if got := markdown.SafeText("evil\u202egnp.exe\n\x07"); got != "evilgnp.exe " {
		t.Errorf("SafeText: %q", got)
	}
}

// hugeInputs are what hostile or broken models could write. How long they take is a
// benchmark's business.
func hugeInputs() map[string]string {
	return map[string]string{
		"one line of words": strings.Repeat("word ", 1<<18), "one line without blanks": strings.Repeat("x", 1<<20),
		"open brackets": strings.Repeat("[", 1<<20), "open links": strings.Repeat("[a](", 1<<17),
		"stars": strings.Repeat("*a_ ", 1<<18), "ticks": strings.Repeat("` `` ", 1<<17),
		"quotes": strings.Repeat(">", 1<<17), "lists in lists": strings.Repeat("- ", 1<<15) + "x",
		"table":      "|a|b|\n|-|-|\n" + strings.Repeat("|x|y|\n", 10_000),
		"wide table": strings.Repeat("|a", 5000) + "\n" + strings.Repeat("|-", 5000) + "\n" + strings.Repeat("|x\n", 3000),
		"many tables": strings.Repeat("\n"+strings.Repeat("|a", 60)+"\n"+strings.Repeat("|-", 60)+"\n"+
			strings.Repeat("|x\n", 900), 100),
		"open fence": "```go\n" + strings.Repeat("func main() { x := \"y\" }\n", 20_000),
		"footnotes":  strings.Repeat("[^a] ", 1<<17), "tags": strings.Repeat("<a ", 1<<18),
		"html": "<div>\n" + strings.Repeat("<", 1<<19), "pictures": strings.Repeat("![", 1<<18),
		"lines": strings.Repeat("a\n", 1<<18), "open formulas": strings.Repeat(`\(a $b `, 1<<16),
		"open displays": strings.Repeat("\\[\n$$ a\n", 1<<16), "formulas": strings.Repeat("$x$ ", 1<<17),
		"displays": strings.Repeat("$$x$$\n", 1<<16),
	}
}

func BenchmarkHugeInputs(b *testing.B) {
	for name, src := range hugeInputs() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				markdown.Render(src, opts)
			}
		})
	}
}

func TestHugeInputsAreCapped(t *testing.T) {
	for name, src := range hugeInputs() {
		t.Run(name, func(t *testing.T) {
			out := markdown.Render(src, opts)
			d := markdown.NewDiffer(opts)
			d.Patch(src, false)
			d.Patch(src, true)
			if len(out) > 4<<20 {
				t.Errorf("made %d bytes", len(out))
			}
		})
	}
	out := markdown.Render(strings.Repeat("word ", 1<<18), opts)
	if !strings.HasSuffix(out, `<p class="note">This text is too long to show in full.</p>`) {
		t.Error("the cut is not told")
	}
	if out := markdown.Render("|a|b|\n|-|-|\n"+strings.Repeat("|x|y|\n", 10_000),
		opts); strings.Count(out, "<tr>") != 1001 || strings.Count(out, "too many rows") != 1 {
		t.Error("the table is not cut, or the cut is not told")
	}
}

// What is left out can be read elsewhere, when there is such a place, and only the end says so.
func TestNotesLeadToTheWholeText(t *testing.T) {
	o := opts
	o.Whole = "/whole"
	link := `<a href="/whole" rel="noopener noreferrer" target="_blank">Show all</a></p>`
	for name, src := range map[string]string{"text": strings.Repeat("word ", 1<<18),
		"table": "|a|b|\n|-|-|\n" + strings.Repeat("|x|y|\n", 10_000)} {
		if out := markdown.Render(src, o); strings.Count(out, link) != 1 {
			t.Errorf("%s: no link in …%s", name, out[max(0, len(out)-200):])
		}
		if out := markdown.Render(src, opts) + markdown.Partial(src, o); strings.Contains(out, "Show all") {
			t.Errorf("%s: a link that leads nowhere", name)
		}
	}
}

func TestPilesOfAccentsAreCut(t *testing.T) {
	for _, src := range []string{"e" + strings.Repeat("\u0301", 5000) + "f",
		"`a" + strings.Repeat("\u0301\u200d", 3000) + "f`", strings.Repeat("\u0489", 5000)} {
		out := markdown.Render(src, opts)
		if n := strings.Count(out, "\u0301") + strings.Count(out, "\u0489"); n != 8 {
			t.Errorf("%d accents are left in %.80q", n, out)
		}
	}
	for _, src := range []string{"Việt", "שָׁלוֹם", "བསྒྲུབས", "ที่นี่",
		"e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "👩\u200d👩\u200d👧", "می\u200cخواهم"} {
		if out := markdown.Render(src, opts); out != "<p>"+src+"</p>" {
			t.Errorf("%q became %q", src, out)
		}
	}
}

// Marks beyond the first few hundred in one paragraph are plain, marks in long
// texts are not.
func TestLongTextsKeepTheirMarks(t *testing.T) {
	src := strings.Repeat("Some **bold** words and a [link](https://e.org) in a line.\n", 40)
	if n := strings.Count(markdown.Render(src, opts), "<strong>"); n != 40 {
		t.Errorf("%d of 40 marks survived", n)
	}
}

func TestSources(t *testing.T) {
	got := markdown.Sources("a [citation:One](https://www.a.org/x) b [citation:Two](https://b.org) c [citation:Again](https://www.a.org/x) [no](https://c.org) [citation:bad](javascript:x)")
	want := []markdown.Source{{Title: "One", URL: "https://www.a.org/x", Host: "a.org"},
		{Title: "Two", URL: "https://b.org", Host: "b.org"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestHighlightKeepsTheText(t *testing.T) {
	for lang, src := range map[string]string{"go": "package x // c\nfunc f() { s := \"a\" + `b` + 'c' }\n",
		"python": "def f(x): return 'a' # c\n", "js": "let a = `b${c}` /* d */;\n", "ts": "type A<B> = {c: string}\n",
		"html": "<a href='x'>y</a>\n<script>let a=1</script>", "css": "a{b:c}", "json": "{\"a\":[1,true,null]}",
		"yaml": "a: b\n- c\n", "bash": "for i in *; do echo \"$i\"; done\n", "sql": "select a from b where c = 'd'",
		"rust": "fn main() { let x = 1u8; }", "diff": "+a\n-b\n", "dockerfile": "FROM x\nRUN y\n",
		"toml": "[a]\nb = 1\n", "java": "class A { int b = 1; }", "c": "#include <a>\nint main(){}\n",
		"cpp": "auto a = std::b<int>();", "broken": "\"\"\"`'"} {
		t.Run(lang, func(t *testing.T) {
			out := markdown.Highlight(src, lang)
			var b strings.Builder
			for _, n := range parse(t, newDOM().root, out) {
				walk(n, func(n *html.Node) {
					if n.Type == html.TextNode {
						b.WriteString(n.Data)
					}
				})
			}
			if b.String() != src {
				t.Errorf("got %q", b.String())
			}
			if lang != "broken" && !strings.Contains(out, "<span class=") {
				t.Errorf("no colours: %s", out)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	if got := markdown.Plain("# A *title*\n\nwith [words](https://e.org) and more", 20); got != "A title with words a" {
		t.Errorf("%q", got)
	}
}

func FuzzRenderIsInert(f *testing.F) {
	f.Add("<b>[a](javascript:x) ![b](data:x) `c` |d|\n|-|")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 2000 {
			return
		}
		out := markdown.Render(src, opts)
		for _, root := range parse(t, newDOM().root, out) {
			walk(root, func(n *html.Node) { checkNode(t, src, out, n) })
		}
	})
}

func TestConcurrentUseIsSafe(t *testing.T) {
	src := sample()
	want := markdown.Render(src, opts)
	done := make(chan string)
	for range 4 {
		go func() {
			d := markdown.NewDiffer(opts)
			for i := 0; i < len(src); i += 200 {
				d.Patch(src[:i], false)
			}
			done <- markdown.Render(src, opts)
		}()
	}
	for range 4 {
		if got := <-done; got != want {
			t.Error("differs")
		}
	}
}

func BenchmarkRender(b *testing.B) {
	src := sample()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		markdown.Render(src, opts)
	}
}

// Long code folds once the text is finished, and never while it grows.
func TestLongCodeFolds(t *testing.T) {
	block := func(n int) string { return "```go\n" + strings.Repeat("x\n", n) + "```\n" }
	for n, want := range map[int]bool{40: false, 41: true} {
		if got := strings.Contains(markdown.Render(block(n), opts), `class="cb long"`); got != want {
			t.Errorf("%d lines: folded is %t", n, got)
		}
	}
	if out := markdown.Render(block(41), opts); !strings.Contains(out, "Show all 41 lines") {
		t.Errorf("it does not say how many lines there are: %s", out)
	}
	for _, src := range []string{block(50), block(50) + "\nMore.\n\n"} {
		if out := markdown.Partial(src, opts); strings.Contains(out, "long") {
			t.Errorf("it folds while the text grows: %s", out)
		}
	}
}
