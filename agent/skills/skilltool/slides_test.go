package skilltool

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// slideParts makes a presentation, and returns its parts by their names and the warnings.
func slideParts(t *testing.T, deck string) (parts map[string]string, warn string) {
	t.Helper()
	dir, _, warn, code := run(t, map[string]string{"a.md": deck}, "pptx", "@a.md", "@o.pptx")
	if code != 0 {
		t.Fatal(code, warn)
	}
	z := must.Get(zip.OpenReader(filepath.Join(dir, "o.pptx")))(t)
	defer z.Close()
	parts = map[string]string{}
	for _, f := range z.File {
		r := must.Get(f.Open())(t)
		b := must.Get(io.ReadAll(r))(t)
		parts[f.Name] = string(b)
	}
	return parts, warn
}

// named is a box on a slide.
type named struct {
	name string
	box
}

// boxes are those of a slide that stand where the slide says, in points; the field of a quote counts once.
func boxes(t *testing.T, slide string) (out []named) {
	t.Helper()
	shape := regexp.MustCompile(`(?s)<p:cNvPr id="\d+" name="(\w+) \d+".*?</p:(?:sp|graphicFrame|pic)>`)
	place := regexp.MustCompile(`<a:off x="(-?\d+)" y="(-?\d+)"/><a:ext cx="(-?\d+)" cy="(-?\d+)"/>`)
	for _, m := range shape.FindAllStringSubmatch(slide, -1) {
		at := place.FindStringSubmatch(m[0])
		if at == nil || m[1] == "Field" {
			continue
		}
		one := named{name: m[1]}
		for i, to := range []*float64{&one.x, &one.y, &one.w, &one.h} {
			must.Get(fmt.Sscan(at[i+1], to))(t)
			*to /= emu
		}
		out = append(out, one)
	}
	return out
}

// TestBoxesOfSlidesDoNotOverlap, in whatever order text, tables, charts and code come; all are on the slide, and a chart
// beside a table of few rows is large.
func TestBoxesOfSlidesDoNotOverlap(t *testing.T) {
	t.Parallel()
	const (
		before = "Before it.\n\n- one\n- two\n\n"
		few    = "| Region | 2026 | 2027 |\n|---|---|---|\n| North | 1 | 2 |\n| South | 3 | 4 |\n\n"
		chart  = "```chart\ntype: bar\n\nx,y\na,1\nb,2\n```\n\n"
		code   = "```\na\nb\nc\n```\n\n"
		behind = "Behind it.\n\n"
		quote  = "> Decide.\n"
	)
	rows := few[:len(few)-1] + strings.Repeat("| East | 5 | 6 |\n", 3) + "\n"
	long := "| Risk | What we do |\n|---|---|\n" + strings.Repeat("| Prices of copper rise | "+strings.Repeat("buy a part of it early ", 6)+"|\n", 3) + "\n"
	for name, deck := range map[string]string{
		"table, chart":                few + chart + behind,
		"chart, table":                chart + few + behind,
		"text, table, chart, quote":   before + few + chart + behind + quote,
		"text, many rows, chart":      before + rows + chart + behind,
		"table, table":                few + few + behind,
		"chart, chart, table":         chart + chart + few + behind,
		"table, code":                 few + code + behind,
		"code, table":                 code + few + behind,
		"cells of several lines":      long + behind,
		"cells of several lines, too": long + chart + behind,
		"much text behind":            few + chart + strings.Repeat("Words of some length that stand below the table.\n\n", 4),
		"charts":                      chart + chart,
	} {
		parts, warn := slideParts(t, "## Title\n\n"+deck)
		list := boxes(t, parts["ppt/slides/slide1.xml"])
		if len(list) < 2 || warn != "" {
			t.Errorf("%s: %d boxes, %s", name, len(list), warn)
		}
		for i, a := range list {
			if a.w <= 0 || a.h < 20 || a.y < bodyTop-1 || a.y+a.h > footTop {
				t.Errorf("%s: %+v is not on the slide", name, a)
			}
			for _, b := range list[i+1:] {
				if a.x+a.w > b.x+1 && b.x+b.w > a.x+1 && a.y+a.h > b.y+0.1 && b.y+b.h > a.y+0.1 {
					t.Errorf("%s: %+v and %+v overlap", name, a, b)
				}
			}
			if name == "table, chart" && a.name == "Chart" && a.h < 200 {
				t.Errorf("the chart is only %v high", a.h)
			}
		}
	}
	if _, warn := slideParts(t, "## Title\n\n"+few[:len(few)-1]+strings.Repeat("| East | 5 | 6 |\n", 40)); !strings.Contains(warn, "slide 1: the table has too many rows; split it") {
		t.Errorf("warned of %q", warn)
	}
}

// TestNotesMayBeginOnTheLineOfTheirLabel, in presentations and in decks for browsers.
func TestNotesMayBeginOnTheLineOfTheirLabel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ slide, said string }{
		{"Notes: say this", "say this"},
		{"notes:say this\nand that", "say this and that"},
		{"- point\nSpeaker notes: say this\n\nand that", "say this|and that"},
		{"备注：说这个", "说这个"},
		{"备注: 说这个", "说这个"},
		{"**Notes:** say *this*", "say this"},
		{"**Notes**: say this", "say this"},
		{"*Notes: say this*", "say this"},
		{"**Notes:**\n\nsay this", "say this"},
		{"Notes:\n\nsay this\n\nNotes: and that", "say this|and that"},
		{"- Notes: a point", ""},
		{"* Notes: a point", ""},
		{"Notes on it: none", ""},
		{"```\nNotes: code\n```", ""},
		{"    Notes: code", ""},
	} {
		deck := "## Title\n\nShown.\n\n" + c.slide + "\n"
		parts, _ := slideParts(t, deck)
		notes, shown := parts["ppt/notesSlides/notesSlide1.xml"], parts["ppt/slides/slide1.xml"]
		dir, _, warn, code := run(t, map[string]string{"a.md": deck}, "deck", "@a.md", "@o.html")
		page, err := os.ReadFile(filepath.Join(dir, "o.html"))
		if err != nil || code != 0 {
			t.Fatal(err, warn)
		}
		_, aside, _ := strings.Cut(string(page), "<aside hidden>")
		aside, _, _ = strings.Cut(aside, "</aside>")
		if c.said == "" {
			if notes != "" || aside != "" {
				t.Errorf("%q: notes %q %q", c.slide, notes, aside)
			}
			continue
		}
		if want := strings.ReplaceAll(c.said, "|", "<br>"); aside != want {
			t.Errorf("%q: %q in the page, want %q", c.slide, aside, want)
		}
		for _, said := range strings.Split(c.said, "|") {
			if !strings.Contains(notes, ">"+said+"<") || strings.Contains(shown, said) {
				t.Errorf("%q: %q is on the slide, or not in the notes %s", c.slide, said, notes)
			}
		}
		if !strings.Contains(shown, ">Shown.<") || strings.Contains(strings.ToLower(shown), "notes") {
			t.Errorf("%q: the slide is %s", c.slide, shown)
		}
	}
}
