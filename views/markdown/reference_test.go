package markdown_test

import (
	"strings"
	"testing"

	"fawn/views/markdown"
)

// TestReferencesToUploadsAreLinks: to uploads there are, by names of which nothing gets out.
func TestReferencesToUploadsAreLinks(t *testing.T) {
	const evil = `"><img src=x onerror=y>.pdf`
	uploaded := map[string]bool{"file.pdf": true, "a (1) [2].pdf": true, "lease, old.docx": true,
		"semi; colon.pdf": true, evil: true, "../x.pdf": true}
	o := markdown.Options{Thread: "t1", Uploaded: func(name string) bool { return uploaded[name] }}
	link := func(name, escaped, at, words string) string {
		return `<a class="cite" data-at="` + at + `" data-file="mnt/user-data/uploads/` + name +
			`" href="/workspace/chats/t1/files/mnt/user-data/uploads/` + escaped + `?at=` + at + `#at-` + at + `">` +
			words + `</a>`
	}
	for src, want := range map[string]string{
		"So [file.pdf, p. 7].":       "<p>So " + link("file.pdf", "file.pdf", "page-7", "file.pdf, p. 7") + ".</p>",
		"(file.pdf, p. 7)":           "<p>" + link("file.pdf", "file.pdf", "page-7", "file.pdf, p. 7") + "</p>",
		"[file.pdf, pp. 7–9]":        "<p>" + link("file.pdf", "file.pdf", "page-7", "file.pdf, pp. 7–9") + "</p>",
		"**[file.pdf, sheet 2]**":    "<p><strong>" + link("file.pdf", "file.pdf", "sheet-2", "file.pdf, sheet 2") + "</strong></p>",
		`[a (1) \[2\].pdf, slide 3]`: "<p>" + link("a (1) [2].pdf", "a%20%281%29%20%5B2%5D.pdf", "slide-3", "a (1) [2].pdf, slide 3") + "</p>",
		"[lease, old.docx, p. 2]":    "<p>" + link("lease, old.docx", "lease%2C%20old.docx", "page-2", "lease, old.docx, p. 2") + "</p>",
		"[file.pdf, p. 7; lease, old.docx, p. 2]": "<p>" + link("file.pdf", "file.pdf", "page-7",
			"file.pdf, p. 7") + " " + link("lease, old.docx", "lease%2C%20old.docx", "page-2",
			"lease, old.docx, p. 2") + "</p>",
		"(file.pdf, p. 7; p. 9)":                "<p>" + link("file.pdf", "file.pdf", "page-7", "file.pdf, p. 7") + " " + link("file.pdf", "file.pdf", "page-9", "p. 9") + "</p>",
		"[gone.pdf, p. 1; file.pdf, p. 7]":      "<p>gone.pdf, p. 1; " + link("file.pdf", "file.pdf", "page-7", "file.pdf, p. 7") + "</p>",
		"[semi; colon.pdf, p. 1]":               "<p>" + link("semi; colon.pdf", "semi%3B%20colon.pdf", "page-1", "semi; colon.pdf, p. 1") + "</p>",
		"[gone.pdf, p. 1; lost.pdf, p. 7]":      "<p>[gone.pdf, p. 1; lost.pdf, p. 7]</p>",
		"[gone.pdf, p. 7] (see file.pdf, p. 7)": "<p>[gone.pdf, p. 7] (see file.pdf, p. 7)</p>",
		"[file.pdf, p. 0] [file.pdf, p. x]":     "<p>[file.pdf, p. 0] [file.pdf, p. x]</p>",
		"[../x.pdf, p. 1]":                      "<p>[../x.pdf, p. 1]</p>",
		"[file.pdf, p. 7](https://e.org)":       `<p><a href="https://e.org" rel="noopener noreferrer" target="_blank">file.pdf, p. 7</a></p>`,
		"[x (file.pdf, p. 7)](https://e.org)":   `<p><a href="https://e.org" rel="noopener noreferrer" target="_blank">x (file.pdf, p. 7)</a></p>`,
		"`[file.pdf, p. 7]`":                    "<p><code>[file.pdf, p. 7]</code></p>",
		"[file.pdf, p. 7](/mnt/user-data/uploads/file.pdf#page=7)": `<p><a data-at="page-7" ` +
			`data-file="mnt/user-data/uploads/file.pdf" ` +
			`href="/workspace/chats/t1/files/mnt/user-data/uploads/file.pdf?at=page-7#at-page-7">file.pdf, p. 7</a></p>`,
	} {
		if got := markdown.Render(src, o); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
		if got := markdown.Partial(src, o); got != want {
			t.Errorf("%s as it grows\n got %s\nwant %s", src, got, want)
		}
		if got := markdown.Render(src, markdown.Options{Thread: "t1"}); strings.Contains(got, `class="cite"`) {
			t.Errorf("%s without uploads: %s", src, got)
		}
	}
	got := markdown.Render("["+evil+", p. 7]", o)
	if strings.Contains(got, "<img") {
		t.Errorf("a name gets out: %s", got)
	}
	if got := markdown.Plain("as [file.pdf, p. 7] says", 100); got != "as [file.pdf, p. 7] says" {
		t.Errorf("plain: %q", got)
	}
	looks := 0
	o.Uploaded = func(string) bool { looks++; return false }
	if markdown.Render(strings.Repeat("[file.pdf, p. 7]\n\n", 2000), o); looks > 400 {
		t.Errorf("%d references are looked up", looks)
	}
}

func TestPagesOfConvertedTextsAreMarked(t *testing.T) {
	const src = "<!-- page 7 -->\n\ntext\n\n<!-- page x -->\n\n<!-- page 8\" onclick=y -->\n"
	got, want := markdown.Render(src, markdown.Options{Marks: true}), `<div id="at-page-7"></div><p>text</p>`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := markdown.Render(src, markdown.Options{}); got != "<p>text</p>" {
		t.Errorf("elsewhere: %s", got)
	}
}
