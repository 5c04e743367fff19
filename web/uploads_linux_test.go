package web_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"fawn/agent/agenttest/must"
	"fawn/uploads"
	"fawn/web/e2e/gate"
	"fawn/web/webtest"
)

// pieces are what names of files are made of: scripts in both directions, signs that mean
// something to a shell, an address, a page or another system, and some that mean nothing good.
func pieces() []string {
	return strings.Split("report|Übersicht|école|e\u0301cole|报告|報告書|보고서|تقرير|דוח|отчёт|รายงาน|📊|👩‍👩‍👧|🇨🇭|a̐éö̲| |  |.|..|...|-|--|_|~|#|%|%2e%2e%2f|%00|%|+|&|&amp;|=|?|;|:|*|<b>|<script>|\"|'|`|$HOME|$(id)|{}|[0]|!|@|^|(1)|,|\u202e|\u200f|\u200b|\ufeff|\u2028|CON|NUL|aux|COM1|LPT1.|desktop.ini|.git|.htaccess|-rf|~root|/|../|C:\\|\\|\x00|\t|\n|\r\n|\x7f|\u0085|\x1b[31m|\xff|\xc3|.upload-|.part|"+
		strings.Repeat("long", 40)+"|"+strings.Repeat("長", 80), "|")
}

// strangeNames are so many different names, the same each time.
func strangeNames(n int) []string {
	r, all := rand.New(rand.NewPCG(13, 5)), pieces()
	ends := []string{"", ".txt", ".PNG", ".tar.gz", ".bin", ".", " ", ".数据"}
	seen := map[string]bool{}
	var names []string
	for len(names) < n {
		name := ""
		for range 1 + r.IntN(5) {
			name += all[r.IntN(len(all))]
		}
		if name += ends[r.IntN(len(ends))]; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// storable says how a name is stored: a folder part is dropped, and what no file should have in
// its name is refused.
func storable(sent string) (string, bool) {
	if !utf8.ValidString(sent) ||
		strings.ContainsFunc(sent, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }) ||
		strings.HasSuffix(sent, "/") {
		return "", false
	}
	name := sent[strings.LastIndex(sent, "/")+1:]
	if name == "" || name == "." || name == ".." || len(name) > 255 ||
		strings.HasPrefix(name, ".upload-") && strings.HasSuffix(name, ".part") {
		return "", false
	}
	return name, true
}

// filesForm is files as a browser sends them.
func filesForm(t *testing.T, names []string, content func(name string) string) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range names {
		h := textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="files"; filename="` +
				strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`},
		}
		part, err := w.CreatePart(h)
		if err == nil {
			_, err = part.Write([]byte(content(name)))
		}
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return b.String(), w.FormDataContentType()
}

// TestFilesOfAnyNameGoRound: uploaded, listed, downloaded and deleted, each under the name that
// it was sent with, or refused with that name.
func TestFilesOfAnyNameGoRound(t *testing.T) {
	t.Parallel()
	n := gate.Pick(50, 100, 1000)
	s := start(t, scripted(t))
	content := func(name string) string { return fmt.Sprintf("this is %q", name) }
	sentAs, refused := map[string]string{}, 0
	for _, sent := range strangeNames(n) {
		if strings.ContainsAny(sent, "\r\n") {
			refused++
			continue // cannot be sent at all
		}
		body, kind := filesForm(t, []string{sent}, content)
		a := s.send(t, "POST", "/api/threads/names/uploads", body, "Content-Type", kind)
		res := webtest.Decode[uploads.Result](t, a.body)
		name, ok := storable(sent)
		switch {
		case !ok:
			if refused++; a.status < 300 && (len(res.Files) > 0 || len(res.SkippedFiles) != 1 || res.Success) ||
				a.status >= 500 {
				t.Errorf("%q, which cannot be stored: %d %s", sent, a.status, a.body)
			}
		case a.status != http.StatusOK || len(res.Files) != 1 || res.Files[0].Filename != name:
			t.Errorf("%q: %d %s", sent, a.status, a.body)
		default:
			sentAs[name] = sent
		}
	}
	if refused < n/20 || len(sentAs) < n/3 {
		t.Fatalf("%d names are refused and %d stored: that says nothing", refused, len(sentAs))
	}
	list := decoded[uploads.List](t, s.send(t, "GET", "/api/threads/names/uploads/list", ""))
	webtest.Same(t, "files are listed", list.Count, len(sentAs))
	for _, f := range list.Files {
		sent, known := sentAs[f.Filename]
		if !known {
			t.Errorf("nobody sent %q", f.Filename)
		}
		if a := s.send(t, "GET", f.ArtifactURL, ""); a.status != http.StatusOK || a.body != content(sent) {
			t.Errorf("%q: %d %q", f.Filename, a.status, a.body)
		}
		s.send(t, "DELETE", "/api/threads/names/uploads/"+url.PathEscape(f.Filename), "").want(t, fmt.Sprintf("%q cannot be deleted", f.Filename), http.StatusOK)
	}
	if left := decoded[uploads.List](t, s.send(t, "GET", "/api/threads/names/uploads/list", "")); left.Count != 0 {
		t.Errorf("%d files are left", left.Count)
	}
}

// TestManyUploadsAtOnce: of ten files each, to one thread and to as many others.
func TestManyUploadsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	content := func(name string) string { return strings.Repeat(name, 20_000) }
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			thread := "shared"
			if i%2 == 1 {
				thread = fmt.Sprint("own-", i)
			}
			var names []string
			for j := range 10 {
				names = append(names, fmt.Sprintf("file-%d-%d.bin", i, j))
			}
			body, kind := filesForm(t, names, content)
			s.send(t, "POST", "/api/threads/"+thread+"/uploads", body, "Content-Type", kind).want(t, fmt.Sprintf("%d", i), http.StatusOK)
		})
	}
	all.Wait()
	for i := range 20 {
		thread, want := fmt.Sprint("own-", i), 10
		if i%2 == 0 {
			thread, want = "shared", 100
		}
		list := decoded[uploads.List](t, s.send(t, "GET", "/api/threads/"+thread+"/uploads/list", ""))
		webtest.Same(t, fmt.Sprintf("%s has … files", thread), list.Count, want)
		for _, f := range list.Files {
			webtest.Same(t, fmt.Sprintf("%s has … bytes", f.Filename), f.Size, int64(len(content(f.Filename))))
		}
	}
}
