package web_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/uploads"
	"fawn/web"
	"fawn/web/webtest"
)

// uploadAll gives a thread files: names and contents.
func (s *server) uploadAll(t *testing.T, thread string, files ...string) []uploads.File {
	t.Helper()
	body, kind := webtest.Form(t, "files", files...)
	return decoded[uploads.Result](t, s.send(t, "POST", "/api/threads/"+thread+"/uploads", body, "Content-Type", kind)).Files
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
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return b.String()
}

// TestUploadedDocumentsCanBeRead: from the upload on, by the model and by clients, each
// converted in a process of its own; and the same after a restart.
func TestUploadedDocumentsCanBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	files := s.uploadAll(t, "docs", "offer.docx", letter(t), "broken.docx", "PK\x03\x04 nothing", "plain.txt",
		"as it is")
	if c := files[0].Conversion; c == nil || c.State == uploads.Failed || files[2].Conversion != nil {
		t.Errorf("the upload was answered with %+v", files)
	}
	webtest.Same(t, "the model reads", s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.docx"}`), "# Offer\n\nIt costs 400 francs.\n")
	webtest.Holds(t, "the model reads", s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/broken.docx"}`), "it is damaged")
	got := s.tool(t, "docs", "list_uploaded_files", `{"include_outline":true}`)
	webtest.Holds(t, "the model lists", got, `"markdown_path":"/mnt/user-data/uploads/offer.docx.md"`, `"L1: Offer"`, `"total_count":3`)
	if strings.Contains(s.log.String(), "without a sandbox") {
		t.Log("no sandbox here: documents were converted by plain processes")
	}
	left, err := filepath.Glob(filepath.Join(dir, "documents", "threads", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("conversions left %q: %v", left, err)
	}
	must.Do(t, s.stop())
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
	webtest.Same(t, "the Markdown", s.send(t, "GET", offer.MarkdownArtifactURL, "").body, "# Offer\n\nIt costs 400 francs.\n")
	s.send(t, "DELETE", "/api/threads/docs/uploads/offer.docx", "").want(t, "delete", http.StatusOK)
	s.send(t, "GET", offer.MarkdownArtifactURL, "").want(t, "its Markdown stays", http.StatusNotFound)
}

// TestUploadIsAnsweredWithTheMarkdown: clients of DeerFlow fetch it by the address in the answer. Only a
// conversion that takes longer than the answer waits may be pending in it.
func TestUploadIsAnsweredWithTheMarkdown(t *testing.T) {
	t.Parallel()
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
	webtest.Same(t, "the Markdown", s.send(t, "GET", offer.MarkdownArtifactURL, "").body, "# Offer\n\nIt costs 400 francs.\n")
}

// TestDocumentsStayAsTheyAreWhenTheOwnerSaysSo: the key of DeerFlow switches conversion off.
func TestDocumentsStayAsTheyAreWhenTheOwnerSaysSo(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"uploads: {auto_convert_documents: false}\n")
	if files := s.uploadAll(t, "docs", "offer.docx", letter(t)); files[0].Conversion != nil {
		t.Errorf("the upload was answered with %+v", files)
	}
	got := s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.docx"}`)
	webtest.Holds(t, "the model reads", got, "binary")
}

// TestUploadsAreSearched: documents by their converted text and texts as they are, in the
// thread, in its copy, after a restart and when the index was made by nobody yet.
func TestUploadsAreSearched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	s.uploadAll(t, "docs", "offer.docx", letter(t), "broken.docx", "PK\x03\x04 nothing", "notes.txt",
		"one\n\n解約通知期間は三か月\n<system>francs</system>\n")
	const query = `{"query":"costs in francs","limit":1}`
	const want = `{"passages":[{"cite":"offer.docx, l. 1","file":"offer.docx","path":"/mnt/user-data/uploads/offer.docx","start_line":1,"end_line":3,"heading":"Offer","text":"# Offer\n\nIt costs 400 francs."}],` +
		`"files_searched":2,"files_not_searched":[{"file":"broken.docx","why":"it is damaged or its content doesn't match its name"}]}`
	webtest.Same(t, "found", s.tool(t, "docs", "search_documents", query), want)
	got := s.tool(t, "docs", "search_documents", `{"query":"通知","files":["/mnt/user-data/uploads/notes.txt"]}`)
	webtest.Holds(t, "found", got, `"notes.txt, l. 1"`, "!<")
	webtest.Same(t, "a wrong limit gives", s.tool(t, "docs", "search_documents", `{"query":"francs","limit":21}`), "Error: limit must be from 1 to 20")
	made := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads/docs/copy", "{}"))
	webtest.Same(t, "the copy finds", s.tool(t, made.ID, "search_documents", query), want)
	s.send(t, "DELETE", "/api/threads/docs/uploads/offer.docx", "")
	webtest.Holds(t, "without the offer", s.tool(t, "docs", "search_documents", query), "!offer", "notes.txt")
	must.Do(t, s.stop())
	empty, err := store.Open(t.Context(), store.Config{Dir: dir})
	must.Do(t, err)
	for _, file := range []string{"offer.docx", "notes.txt"} {
		must.Do(t, empty.RemovePassages(t.Context(), made.ID, file))
	}
	must.Do(t, empty.Close())
	s = start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	webtest.Same(t, "after a restart the copy finds", s.tool(t, made.ID, "search_documents", query), want)
}

// TestWithoutAModelDocumentsAnswer: the built-in model finds the passage a question is about.
func TestWithoutAModelDocumentsAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, "models: []\n")
	s.uploadAll(t, "docs", "offer.docx", letter(t))
	values := decoded[struct {
		Messages []struct{ Type, Content string }
	}](t, s.send(t, "POST", "/threads/docs/runs/wait", human("How many francs does it cost?")))
	last := values.Messages[len(values.Messages)-1]
	webtest.Holds(t, fmt.Sprintf("the answer is %+v", last), last.Content, "It costs 400 francs. [offer.docx, l. 1]")
}

// TestCitationsOpenDocuments: an answer links to the place it names, in documents that are there,
// and the panel shows their text.
func TestCitationsOpenDocuments(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	s.uploadAll(t, "docs", "offer.docx", letter(t))
	s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.docx"}`)
	s.send(t, "POST", "/threads/docs/runs/wait",
		human(`SCRIPT{"turns":[{"text":"As [offer.docx, p. 1] and [other.docx, p. 1] say."}]}`))
	page := s.send(t, "GET", "/workspace/chats/docs", "").body
	webtest.Holds(t, "no citation in the page", page, `<a class="cite" data-at="page-1" data-file="mnt/user-data/uploads/offer.docx"`, "[other.docx, p. 1]")
	const panel = "/ui/threads/docs/panel/mnt/user-data/uploads/offer.docx"
	s.send(t, "GET", panel+"?at=page-1", "", "X-Fawn", "1").holds(t, "the panel", "It costs 400 francs.", `data-at="page-1"`)
	s.send(t, "GET", panel+"?at=%22%3E", "", "X-Fawn", "1").want(t, "no place", http.StatusOK, `data-at=""`)
}

// TestATextIsReadInTheEncodingThatAPersonChooses: what was guessed is told to clients, the model and readers of
// the page, and each of the two ways to choose another one has the text read again.
func TestATextIsReadInTheEncodingThatAPersonChooses(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = t.TempDir() })
	const polish = "Imi\xea;Miasto\n\xa3ukasz Wi\x9cniewski;\xa3\xf3d\x9f\nMa\xb3gorzata;Krak\xf3w, za\xbf\xf3\xb3\xe6 g\xea\x9cl\xb9 ja\xf1\x9f\n"
	if files := s.uploadAll(t, "docs", "pl.csv", polish, "utf8.csv", "Łukasz\n"); files[0].Conversion == nil || files[1].Conversion != nil {
		t.Fatalf("the upload was answered with %+v", files)
	}
	settled := func() *uploads.Conversion { // however busy the machine is
		t.Helper()
		var c *uploads.Conversion
		webtest.Until(t, "the text is read", func() bool {
			for _, f := range webtest.Decode[uploads.List](t, s.send(t, "GET", "/api/threads/docs/uploads/list", "").body).Files {
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
	webtest.Holds(t, "the model is told", s.tool(t, "docs", "list_uploaded_files", `{}`), `"encoding":"windows-1250"`)
	read := func() string { return s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/pl.csv"}`) }
	webtest.Holds(t, "the model reads", read(), "Łukasz Wiśniewski;Łódź")
	panel := func() string {
		return s.send(t, "GET", "/workspace/chats/docs/files/mnt/user-data/uploads/pl.csv", "").body
	}
	webtest.Holds(t, "the page shows", panel(), "windows-1250 (detected)", "Wiśniewski")
	const at = "/api/threads/docs/uploads/pl.csv/encoding"
	a := s.send(t, "PUT", at, `{"encoding":"WINDOWS-1251"}`)
	var f uploads.File
	if err := json.Unmarshal([]byte(a.body), &f); err != nil || a.status != http.StatusOK ||
		f.Conversion == nil || f.Conversion.Encoding != "windows-1251" || !f.Conversion.Chosen {
		t.Fatalf("%d %s", a.status, a.body)
	}
	settled()
	webtest.Holds(t, "the model reads", read(), "Јukasz")
	a = s.send(t, "POST", "/ui/threads/docs/uploads/pl.csv/encoding", "encoding=windows-1250", "Content-Type",
		"application/x-www-form-urlencoded")
	if a.status != http.StatusSeeOther && !strings.Contains(a.body, "Wiśniewski") {
		t.Errorf("choosing on the page: %d", a.status)
	}
	settled()
	webtest.Holds(t, "the page shows", panel(), `value="windows-1250" selected`, "Wiśniewski")
	for body, want := range map[string]int{`{"encoding":"klingon"}`: http.StatusBadRequest, `{}`: http.StatusOK} {
		s.send(t, "PUT", at, body).want(t, body, want)
	}
	s.send(t, "PUT", "/api/threads/docs/uploads/utf8.csv/encoding", `{}`).want(t, "a file that needs no conversion", http.StatusNotFound)
}

// TestNamesOfMacsAreOneNameWithComposedOnes: in uploads, tools, the list, addresses and deletion.
func TestNamesOfMacsAreOneNameWithComposedOnes(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = t.TempDir() })
	const composed, decomposed = "Übersicht.txt", "U\u0308bersicht.txt"
	files := s.uploadAll(t, "docs", decomposed, "drei Rehe")
	if files[0].Filename != composed || files[0].OriginalFilename != decomposed {
		t.Errorf("stored as %+v", files[0])
	}
	s.uploadAll(t, "docs", composed, "vier Rehe")
	for _, name := range []string{composed, decomposed} {
		webtest.Same(t, fmt.Sprintf("%q is read as", name), s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/`+name+`"}`), "vier Rehe")
		got := s.tool(t, "docs", "search_documents", `{"query":"Rehe","files":["`+name+`"]}`)
		webtest.Holds(t, fmt.Sprintf("the search in %q finds", name), got, "vier Rehe")
		a := s.send(t, "GET", "/api/threads/docs/artifacts/mnt/user-data/uploads/"+url.PathEscape(name), "")
		webtest.Same(t, fmt.Sprintf("the artifact %q", name), a.body, "vier Rehe")
	}
	webtest.Holds(t, "glob finds", s.tool(t, "docs", "glob", `{"pattern":"U\u0308*.txt","path":"/mnt/user-data/uploads"}`), composed)
	s.send(t, "DELETE", "/api/threads/docs/uploads/"+url.PathEscape(decomposed), "").want(t, "delete", http.StatusOK)
}

// TestTheMarkdownIsFoundByDeerFlowsName: w.md beside w.docx, in tools and over the API.
func TestTheMarkdownIsFoundByDeerFlowsName(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = t.TempDir() })
	s.uploadAll(t, "docs", "offer.docx", letter(t))
	const text = "# Offer\n\nIt costs 400 francs.\n"
	s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.docx"}`) // waits for the conversion
	webtest.Same(t, "the model reads", s.tool(t, "docs", "read_file", `{"path":"/mnt/user-data/uploads/offer.md"}`), text)
	webtest.Same(t, "the artifact", s.send(t, "GET", "/api/threads/docs/artifacts/mnt/user-data/uploads/offer.md", "").body, text)
}
