package files_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"fawn/agent/agenttest/must"
	"fawn/views"
	"fawn/views/files"
	"fawn/views/i18n"
)

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, c.Render(i18n.With(context.Background(), "en"), &b))
	return b.String()
}

func panel(name, text string) views.Panel {
	return views.Panel{ThreadID: "t1",
		File: &views.FileView{File: views.File{ThreadID: "t1", Path: "mnt/user-data/outputs/" + name}, Text: text}}
}

func TestEachKindHasItsPreview(t *testing.T) {
	for name, c := range map[string]struct{ text, want, not string }{
		"a.md":   {"# T", "<h2>T</h2>", "<iframe"},
		"a.html": {"<h1>x</h1>", `<iframe class="fill" sandbox="allow-scripts" src="/ui/threads/t1/view/mnt/user-data/outputs/a.html"`, "<h1>x</h1>"},
		"a.pdf":  {"", `<iframe class="fill" src="/ui/threads/t1/view/`, "sandbox"},
		"a.png":  {"", `<img src="/ui/threads/t1/view/`, "<iframe"},
		"a.svg":  {"<svg onload=x>", `<img src="/ui/threads/t1/view/`, "onload"},
		"a.csv":  {"a,b\n1,x", `<td dir="auto" class="r">1</td>`, "<iframe"},
		"a.mp3":  {"", "<audio", "<iframe"},
		"a.mp4":  {"", "<video", "<iframe"},
		"a.go":   {"package x <y>", `<span class="k">package</span> x &lt;y&gt;`, "<y>"},
		"a.zip":  {"", "be previewed", "<iframe"},
	} {
		t.Run(name, func(t *testing.T) {
			out := render(t, files.Panel(panel(name, c.text)))
			if !strings.Contains(out, c.want) {
				t.Errorf("%q is missing in\n%s", c.want, out)
			}
			if strings.Contains(out, c.not) {
				t.Errorf("%q is in\n%s", c.not, out)
			}
		})
	}
}

func TestSourceIsEscaped(t *testing.T) {
	p := panel("a.html", "<script>alert(1)</script>\n")
	p.Code = true
	out := render(t, files.Panel(p))
	if strings.Contains(out, "<script") || !strings.Contains(out, "alert") {
		t.Error(out)
	}
}

func TestMissingFilesSaySo(t *testing.T) {
	p := panel("a.md", "")
	p.File.Missing = true
	out := render(t, files.Panel(p))
	if !strings.Contains(out, "This file no longer exists.") || strings.Contains(out, "download=true") {
		t.Error(out)
	}
}

func TestTablesAreCutAndTold(t *testing.T) {
	var b strings.Builder
	b.WriteString("a;b;c\n")
	for i := range 600 {
		fmt.Fprintf(&b, "%d;\"x;y\"\n", i)
	}
	out := render(t, files.Panel(panel("a.csv", b.String())))
	if n := strings.Count(out, "<tr>"); n != 501 {
		t.Errorf("%d rows", n)
	}
	if !strings.Contains(out, "Only the first 500 rows") || !strings.Contains(out, ">x;y</td>") {
		t.Error("not told, or the separator is wrong")
	}
}

func TestBrokenTablesStillShow(t *testing.T) {
	out := render(t, files.Panel(panel("a.csv", "a,b\n\"unclosed,1\n2,3,4,5\n")))
	if !strings.Contains(out, "unclosed") {
		t.Error(out)
	}
	_ = render(t, files.Panel(panel("empty.csv", "")))
}

func TestNeighboursAreLinked(t *testing.T) {
	p := panel("b.md", "x")
	for _, n := range []string{"a.md", "b.md", "c.md"} {
		p.Files = append(p.Files, views.File{ThreadID: "t1", Path: "mnt/user-data/outputs/" + n})
	}
	out := render(t, files.Panel(p))
	for _, want := range []string{"2 of 3", `data-panel="/ui/threads/t1/panel/mnt/user-data/outputs/a.md"`,
		`data-panel="/ui/threads/t1/panel/mnt/user-data/outputs/c.md"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestNamesCannotTurnAround(t *testing.T) {
	out := render(t, files.Card(views.File{ThreadID: "t1", Path: "mnt/user-data/outputs/a\u202egpj.<b>.exe"}))
	if strings.Contains(out, "\u202e") || strings.Contains(out, "<b>") {
		t.Error(out)
	}
}

func TestASourceOpensAtALine(t *testing.T) {
	for at, want := range map[string]string{
		"line-1":  `<pre class="nums" aria-hidden="true"><span class="here" id="at-line-1">1</span>`,
		"line-12": "\n11\n<span class=\"here\" id=\"at-line-12\">12</span>\n13\n", "line-99": "\n11\n12\n13\n",
		"": ">1\n2\n", "page-2": ">1\n2\n",
	} {
		p := panel("a.txt", strings.Repeat("x\n", 13))
		p.File.At = at
		out := render(t, files.Panel(p))
		if !strings.Contains(out, want) || !strings.Contains(out, `data-at="`+at+`"`) {
			t.Errorf("%s: %q is missing in\n%s", at, want, out)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add("a,b\n1,\"2\n")
	f.Fuzz(func(t *testing.T, text string) {
		if out := render(t, files.Panel(panel("a.csv", text))); strings.Contains(out, "<script") {
			t.Error(out)
		}
	})
}
