package files_test

import (
	"strings"
	"testing"

	"fawn/views"
	"fawn/views/files"
)

func TestSheetsHaveTabsThatAreLinks(t *testing.T) {
	p := panel("a.xlsx", "")
	p.File.Book = &views.Book{
		Sheets: []views.Sheet{{N: 1, Title: "<b>One"}, {N: 2}}, More: 3, Shown: 2,
		Rows: [][]string{{"a", "b"}, {"<i>", "2"}, {"short"}}, Total: 5001, Width: 70,
	}
	out := render(t, files.Panel(p))
	for _, want := range []string{
		`data-push="/workspace/chats/t1?file=mnt%2Fuser-data%2Foutputs%2Fa.xlsx&amp;at=sheet-1"`,
		`href="/workspace/chats/t1/files/mnt/user-data/outputs/a.xlsx?at=sheet-1"`,
		`aria-selected="true" aria-controls="sheet" dir="auto">Sheet 2</a>`, "&lt;b&gt;One", "&lt;i&gt;",
		`class="r">2</td>`, "first 2 of 5000 rows", "first 2 of 70 columns", "3 more sheets",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	p.File.Book = &views.Book{Sheets: []views.Sheet{{N: 1}}, Shown: 1}
	if out := render(t, files.Panel(p)); strings.Contains(out, "role=\"tab") ||
		!strings.Contains(out, "This sheet is empty.") {
		t.Errorf("one empty sheet:\n%s", out)
	}
}

func TestDocumentsWithoutATextSayWhy(t *testing.T) {
	for _, name := range []string{"a.docx", "a.xlsx"} {
		p := panel(name, "")
		p.File.Lack = "Needs a password"
		out := render(t, files.Panel(p))
		if !strings.Contains(out, "Needs a password") || !strings.Contains(out, "download=true") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

func TestAPDFHasItsTextBesideIt(t *testing.T) {
	p := panel("a.pdf", "<!-- page 7 -->\n\n# Seven\n\n<script>x</script>\n")
	p.File.Converted, p.File.At, p.Words = true, "page-7", true
	out := render(t, files.Panel(p))
	for _, want := range []string{`class="duo words"`, `a.pdf#page=7"`, `<div id="at-page-7"></div>`, "<h2>Seven</h2>",
		`at=page-7&amp;tab=text" aria-current="true"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "<script>") {
		t.Error(out)
	}
}

func TestArchivesAndSkillsAreListed(t *testing.T) {
	p := panel("a.skill", "# Maps\n\n<script>x</script>")
	p.File.Bytes = 1000
	p.File.Archive = &views.Archive{Main: "SKILL.md", Fields: [][2]string{{"name", "<b>"}},
		Entries: []views.ArchiveEntry{{Name: "../\u202e<i>", Bytes: 5}}, Files: 3, Bytes: 5 << 30, Outside: true}
	out := render(t, files.Panel(p))
	for _, want := range []string{"&lt;b&gt;", "<h2>Maps</h2>", "../&lt;i&gt;", "3 files · 5.0 GB unpacked",
		"2 more files", "outside the target folder", "claims to unpack from 1000 B to 5.0 GB"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "<script>") {
		t.Error(out)
	}
}

func TestNotebooksAreTheirCells(t *testing.T) {
	p := panel("a.ipynb", `{"cells":[]}`)
	p.File.Notebook = &views.Notebook{Language: "python", More: 2, Cells: []views.Cell{
		{Kind: "markdown", Source: "# Hi <img src=x onerror=y>"},
		{Kind: "code", Source: "a = '```'\n", Count: 4, Outputs: []views.CellOutput{{Text: "<i>"}, {Error: "E"}, {Picture: "data:image/png;base64,AA=="}, {Markdown: "**m**"}}},
	}}
	out := render(t, files.Panel(p))
	for _, want := range []string{"<h2>Hi </h2>", "Run 4", "&lt;i&gt;</pre>", `class="out wrong"`,
		`src="data:image/png;base64,AA=="`, "<strong>m</strong>", "2 more cells"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "onerror") {
		t.Error(out)
	}
	p.Code = true
	if out := render(t, files.Panel(p)); !strings.Contains(out, "cells") || strings.Contains(out, "Run 4") {
		t.Errorf("its source: %s", out)
	}
}
