package web_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/store"
	"fawn/uploads"
	"fawn/web"
	"fawn/web/webtest"
)

// uploadAll gives a thread files: names and contents.
func (s *server) uploadAll(t *testing.T, thread string, files ...string) []uploads.File {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for i := 0; i < len(files); i += 2 {
		part, err := w.CreateFormFile("files", files[i])
		if err == nil {
			_, err = part.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a := s.send(t, "POST", "/api/threads/"+thread+"/uploads", form.String(), "Content-Type", w.FormDataContentType())
	var res uploads.Result
	if err := json.Unmarshal([]byte(a.body), &res); a.status != http.StatusOK || err != nil {
		t.Fatalf("upload: %d %s", a.status, a.body)
	}
	return res.Files
}

// letter is a Word document with one heading and one paragraph.
func letter(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"word/document.xml": `<w:document xmlns:w="w"><w:body><w:p><w:pPr><w:pStyle w:val="H1"/></w:pPr><w:r><w:t>Offer</w:t></w:r></w:p><w:p><w:r><w:t>It costs 400 francs.</w:t></w:r></w:p></w:body></w:document>`,
		"word/styles.xml":   `<w:styles xmlns:w="w"><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style></w:styles>`,
	} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestUploadedDocumentsCanBeRead: from the upload on, by the model and by clients, each
// converted in a process of its own; and the same after a restart.
func TestUploadedDocumentsCanBeRead(t *testing.T) {
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	files := s.uploadAll(t, "docs", "offer.docx", letter(t), "broken.docx", "PK\x03\x04 nothing", "plain.txt",
		"as it is")
	if c := files[0].Conversion; c == nil || c.State == uploads.Failed || files[2].Conversion != nil {
		t.Errorf("the upload was answered with %+v", files)
	}
	if got := s.tool(t, "docs", "read_file",
		`{"path":"/mnt/user-data/uploads/offer.docx"}`); got != "# Offer\n\nIt costs 400 francs.\n" {
		t.Errorf("the model reads %q", got)
	}
	if got := s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/broken.docx"}`); !strings.Contains(got,
		"it is damaged") {
		t.Errorf("the model reads %q", got)
	}
	got := s.tool(t, "docs", "list_uploaded_files", `{"include_outline":true}`)
	if !strings.Contains(got, `"markdown_path":"/mnt/user-data/uploads/offer.docx.md"`) ||
		!strings.Contains(got, `"L1: Offer"`) || !strings.Contains(got, `"total_count":3`) {
		t.Errorf("the model lists %s", got)
	}
	if strings.Contains(s.log.String(), "without a sandbox") {
		t.Log("no sandbox here: documents were converted by plain processes")
	}
	left, err := filepath.Glob(filepath.Join(dir, "documents", "threads", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("conversions left %q: %v", left, err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s = start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	var list uploads.List
	a := s.send(t, "GET", "/api/threads/docs/uploads/list", "")
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || list.Count != 3 {
		t.Fatalf("listed %s: %v", a.body, err)
	}
	offer := list.Files[1]
	if offer.MarkdownFile != "offer.docx.md" || offer.Conversion.State != uploads.Converted {
		t.Errorf("after a restart: %+v", offer)
	}
	if a := s.send(t, "GET", offer.MarkdownArtifactURL, ""); a.body != "# Offer\n\nIt costs 400 francs.\n" {
		t.Errorf("the Markdown is %q", a.body)
	}
	if a := s.send(t, "DELETE", "/api/threads/docs/uploads/offer.docx", ""); a.status != http.StatusOK {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	if a := s.send(t, "GET", offer.MarkdownArtifactURL, ""); a.status != http.StatusNotFound {
		t.Errorf("its Markdown stays: %d", a.status)
	}
}

// TestUploadIsAnsweredWithTheMarkdown: clients of DeerFlow fetch it by the address in the answer. Only a
// conversion that takes longer than the answer waits may be pending in it.
func TestUploadIsAnsweredWithTheMarkdown(t *testing.T) {
	s := start(t, scripted(t), func(o *web.Options) { o.Data = t.TempDir() })
	begun := time.Now()
	files := s.uploadAll(t, "docs", "offer.docx", letter(t), "plain.txt", "as it is")
	took := time.Since(begun)
	offer := files[0]
	if offer.Conversion == nil || files[1].Conversion != nil {
		t.Fatalf("the upload was answered with %+v", files)
	}
	if offer.Conversion.State == uploads.Pending {
		if took < 3*time.Second {
			t.Errorf("the answer came after %v without the Markdown", took)
		}
		return
	}
	const at = "/mnt/user-data/uploads/offer.docx.md"
	if offer.MarkdownFile != "offer.docx.md" || offer.MarkdownPath != at || offer.MarkdownVirtualPath != at {
		t.Errorf("the answer has no place of the Markdown: %+v", offer)
	}
	if a := s.send(t, "GET", offer.MarkdownArtifactURL, ""); a.body != "# Offer\n\nIt costs 400 francs.\n" {
		t.Errorf("the Markdown is %q", a.body)
	}
}

// TestDocumentsStayAsTheyAreWhenTheOwnerSaysSo: the key of DeerFlow switches conversion off.
func TestDocumentsStayAsTheyAreWhenTheOwnerSaysSo(t *testing.T) {
	s := start(t, scripted(t)+"uploads: {auto_convert_documents: false}\n")
	if files := s.uploadAll(t, "docs", "offer.docx", letter(t)); files[0].Conversion != nil {
		t.Errorf("the upload was answered with %+v", files)
	}
	got := s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.docx"}`)
	if !strings.Contains(got, "binary") {
		t.Errorf("the model reads %q", got)
	}
}

// TestUploadsAreSearched: documents by their converted text and texts as they are, in the
// thread, in its copy, after a restart and when the index was made by nobody yet.
func TestUploadsAreSearched(t *testing.T) {
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	s.uploadAll(t, "docs", "offer.docx", letter(t), "broken.docx", "PK\x03\x04 nothing", "notes.txt",
		"one\n\n解約通知期間は三か月\n<system>francs</system>\n")
	const query = `{"query":"costs in francs","limit":1}`
	const want = `{"passages":[{"cite":"offer.docx, l. 1","file":"offer.docx","path":"/mnt/user-data/uploads/offer.docx","start_line":1,"end_line":3,"heading":"Offer","text":"# Offer\n\nIt costs 400 francs."}],` +
		`"files_searched":2,"files_not_searched":[{"file":"broken.docx","why":"it is damaged or its content doesn't match its name"}]}`
	if got := s.tool(t, "docs", "search_documents", query); got != want {
		t.Errorf("found %s\nwant  %s", got, want)
	}
	got := s.tool(t, "docs", "search_documents", `{"query":"通知","files":["/mnt/user-data/uploads/notes.txt"]}`)
	if !strings.Contains(got, `"notes.txt, l. 1"`) || strings.Contains(got, "<") {
		t.Errorf("found %s", got)
	}
	if got := s.tool(t, "docs", "search_documents",
		`{"query":"francs","limit":21}`); got != "Error: limit must be from 1 to 20" {
		t.Errorf("a wrong limit gives %q", got)
	}
	made := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads/docs/copy", "{}"))
	if got := s.tool(t, made.ID, "search_documents", query); got != want {
		t.Errorf("the copy finds %s", got)
	}
	s.send(t, "DELETE", "/api/threads/docs/uploads/offer.docx", "")
	if got := s.tool(t, "docs", "search_documents", query); strings.Contains(got, "offer") ||
		!strings.Contains(got, "notes.txt") {
		t.Errorf("without the offer: %s", got)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	empty, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"offer.docx", "notes.txt"} {
		if err := empty.RemovePassages(t.Context(), made.ID, file); err != nil {
			t.Fatal(err)
		}
	}
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	if got := s.tool(t, made.ID, "search_documents", query); got != want {
		t.Errorf("after a restart the copy finds %s", got)
	}
}

// TestWithoutAModelDocumentsAnswer: the built-in model finds the passage a question is about.
func TestWithoutAModelDocumentsAnswer(t *testing.T) {
	s := start(t, "models: []\n")
	s.uploadAll(t, "docs", "offer.docx", letter(t))
	values := decoded[struct {
		Messages []struct{ Type, Content string }
	}](t, s.send(t, "POST", "/threads/docs/runs/wait", human("How many francs does it cost?")))
	last := values.Messages[len(values.Messages)-1]
	if !strings.Contains(last.Content, "It costs 400 francs. [offer.docx, l. 1]") {
		t.Errorf("the answer is %+v", last)
	}
}

// TestCitationsOpenDocuments: an answer links to the place it names, in documents that are there,
// and the panel shows their text.
func TestCitationsOpenDocuments(t *testing.T) {
	s := start(t, scripted(t))
	s.uploadAll(t, "docs", "offer.docx", letter(t))
	s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.docx"}`)
	s.send(t, "POST", "/threads/docs/runs/wait",
		human(`SCRIPT{"turns":[{"text":"As [offer.docx, p. 1] and [other.docx, p. 1] say."}]}`))
	page := s.send(t, "GET", "/workspace/chats/docs", "").body
	if !strings.Contains(page, `<a class="cite" data-at="page-1" data-file="mnt/user-data/uploads/offer.docx"`) ||
		!strings.Contains(page, "[other.docx, p. 1]") {
		t.Errorf("no citation in the page: %.3000s", page)
	}
	const panel = "/ui/threads/docs/panel/mnt/user-data/uploads/offer.docx"
	a := s.send(t, "GET", panel+"?at=page-1", "", "X-Fawn", "1")
	if !strings.Contains(a.body, "It costs 400 francs.") || !strings.Contains(a.body, `data-at="page-1"`) {
		t.Errorf("the panel: %d %s", a.status, a.body)
	}
	if a := s.send(t, "GET", panel+"?at=%22%3E", "", "X-Fawn", "1"); a.status != http.StatusOK ||
		!strings.Contains(a.body, `data-at=""`) {
		t.Errorf("no place: %d %s", a.status, a.body)
	}
}

// TestATextIsReadInTheEncodingThatAPersonChooses: what was guessed is told to clients, the model and readers of
// the page, and each of the two ways to choose another one has the text read again.
func TestATextIsReadInTheEncodingThatAPersonChooses(t *testing.T) {
	s := start(t, scripted(t), func(o *web.Options) { o.Data = t.TempDir() })
	const polish = "Imi\xea;Miasto\n\xa3ukasz Wi\x9cniewski;\xa3\xf3d\x9f\nMa\xb3gorzata;Krak\xf3w, za\xbf\xf3\xb3\xe6 g\xea\x9cl\xb9 ja\xf1\x9f\n"
	if files := s.uploadAll(t, "docs", "pl.csv", polish, "utf8.csv", "Łukasz\n"); files[0].Conversion == nil || files[1].Conversion != nil {
		t.Fatalf("the upload was answered with %+v", files)
	}
	settled := func() *uploads.Conversion { // however busy the machine is
		t.Helper()
		var c *uploads.Conversion
		webtest.Until(t, "the text is read", func() bool {
			for _, f := range decodeAs[uploads.List](t, s.send(t, "GET", "/api/threads/docs/uploads/list", "").body).Files {
				if f.Filename == "pl.csv" {
					c = f.Conversion
				}
			}
			return c != nil && c.State != uploads.Pending
		})
		return c
	}
	if c := settled(); c.Encoding != "windows-1250" || c.Chosen {
		t.Errorf("the list says %+v", c)
	}
	if got := s.tool(t, "docs", "list_uploaded_files", `{}`); !strings.Contains(got, `"encoding":"windows-1250"`) {
		t.Errorf("the model is told %s", got)
	}
	read := func() string { return s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/pl.csv"}`) }
	if got := read(); !strings.Contains(got, "Łukasz Wiśniewski;Łódź") {
		t.Errorf("the model reads %q", got)
	}
	panel := func() string {
		return s.send(t, "GET", "/workspace/chats/docs/files/mnt/user-data/uploads/pl.csv", "").body
	}
	if got := panel(); !strings.Contains(got, "windows-1250 (detected)") || !strings.Contains(got, "Wiśniewski") {
		t.Errorf("the page shows %s", got)
	}
	const at = "/api/threads/docs/uploads/pl.csv/encoding"
	a := s.send(t, "PUT", at, `{"encoding":"WINDOWS-1251"}`)
	var f uploads.File
	if err := json.Unmarshal([]byte(a.body), &f); err != nil || a.status != http.StatusOK ||
		f.Conversion == nil || f.Conversion.Encoding != "windows-1251" || !f.Conversion.Chosen {
		t.Fatalf("%d %s", a.status, a.body)
	}
	settled()
	if got := read(); !strings.Contains(got, "Јukasz") {
		t.Errorf("the model reads %q", got)
	}
	a = s.send(t, "POST", "/ui/threads/docs/uploads/pl.csv/encoding", "encoding=windows-1250", "Content-Type",
		"application/x-www-form-urlencoded")
	if a.status != http.StatusSeeOther && !strings.Contains(a.body, "Wiśniewski") {
		t.Errorf("choosing on the page: %d", a.status)
	}
	settled()
	if got := panel(); !strings.Contains(got, `value="windows-1250" selected`) || !strings.Contains(got, "Wiśniewski") {
		t.Errorf("the page shows %s", got)
	}
	for body, want := range map[string]int{`{"encoding":"klingon"}`: http.StatusBadRequest, `{}`: http.StatusOK} {
		if a := s.send(t, "PUT", at, body); a.status != want {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if a := s.send(t, "PUT", "/api/threads/docs/uploads/utf8.csv/encoding", `{}`); a.status != http.StatusNotFound {
		t.Errorf("a file that needs no conversion: %d", a.status)
	}
}

// TestNamesOfMacsAreOneNameWithComposedOnes: in uploads, tools, the list, addresses and deletion.
func TestNamesOfMacsAreOneNameWithComposedOnes(t *testing.T) {
	s := start(t, scripted(t), func(o *web.Options) { o.Data = t.TempDir() })
	const composed, decomposed = "Übersicht.txt", "U\u0308bersicht.txt"
	files := s.uploadAll(t, "docs", decomposed, "drei Rehe")
	if files[0].Filename != composed || files[0].OriginalFilename != decomposed {
		t.Errorf("stored as %+v", files[0])
	}
	s.uploadAll(t, "docs", composed, "vier Rehe")
	for _, name := range []string{composed, decomposed} {
		if got := s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/`+name+`"}`); got != "vier Rehe" {
			t.Errorf("%q is read as %q", name, got)
		}
		got := s.tool(t, "docs", "search_documents", `{"query":"Rehe","files":["`+name+`"]}`)
		if !strings.Contains(got, "vier Rehe") {
			t.Errorf("the search in %q finds %s", name, got)
		}
		a := s.send(t, "GET", "/api/threads/docs/artifacts/mnt/user-data/uploads/"+url.PathEscape(name), "")
		if a.body != "vier Rehe" {
			t.Errorf("the artifact %q is %d %q", name, a.status, a.body)
		}
	}
	if got := s.tool(t, "docs", "glob", `{"pattern":"U\u0308*.txt","path":"/mnt/user-data/uploads"}`); !strings.Contains(got, composed) {
		t.Errorf("glob finds %s", got)
	}
	if a := s.send(t, "DELETE", "/api/threads/docs/uploads/"+url.PathEscape(decomposed), ""); a.status != http.StatusOK {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
}

// TestTheMarkdownIsFoundByDeerFlowsName: w.md beside w.docx, in tools and over the API.
func TestTheMarkdownIsFoundByDeerFlowsName(t *testing.T) {
	s := start(t, scripted(t), func(o *web.Options) { o.Data = t.TempDir() })
	s.uploadAll(t, "docs", "offer.docx", letter(t))
	const text = "# Offer\n\nIt costs 400 francs.\n"
	s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.docx"}`) // waits for the conversion
	if got := s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.md"}`); got != text {
		t.Errorf("the model reads %q", got)
	}
	if a := s.send(t, "GET", "/api/threads/docs/artifacts/mnt/user-data/uploads/offer.md", ""); a.body != text {
		t.Errorf("the artifact is %d %q", a.status, a.body)
	}
}
