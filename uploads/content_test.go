package uploads_test

import (
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/uploads"
)

func TestContentType(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	for _, c := range []struct {
		test, name, head, want string
		active                 bool
	}{
		{"text", "a.txt", "hello", "text/plain; charset=utf-8", false},
		{"no extension", "README", "hello", "text/plain; charset=utf-8", false},
		{"empty", "x", "", "text/plain; charset=utf-8", false},
		{"empty page", "x.html", "", "text/html; charset=utf-8", true},
		{"markdown", "a.md", "# x\n<script>", "text/markdown; charset=utf-8", false},
		{"markdown that starts like a page", "a.md", "<h1>x</h1><script>alert(1)</script>", "text/markdown; charset=utf-8", false},
		{"csv of one column", "a.csv", "x\n1\n", "text/csv; charset=utf-8", false},
		{"json", "a.json", `{"a":1}`, "application/json", false},
		{"json without a name", "a", `{"a":1}`, "application/json", false},
		{"code", "a.py", "import os\n", "text/plain; charset=utf-8", false},
		{"style", "a.css", "a{}", "text/css; charset=utf-8", false},
		{"latin letters in text", "a.txt", "caf\xe9 latte", "text/plain; charset=", false},
		{"other script cut in half", "a.txt", "报告"[:5], "text/plain; charset=utf-8", false},
		{"page", "a.html", "hello", "text/html; charset=utf-8", true},
		{"page by content", "a", "<!DOCTYPE html><html>", "text/html; charset=utf-8", true},
		{"page with a strange name", "a.dat", "<html><script>", "text/html; charset=utf-8", true},
		{"xhtml", "a.xhtml", "<html>", "application/xhtml+xml", true},
		{"svg", "a.svg", `<svg xmlns="http://www.w3.org/2000/svg">`, "image/svg+xml", true},
		{"svg as png", "a.png", `<svg xmlns="http://www.w3.org/2000/svg"></svg>`, "image/svg+xml", true},
		{"xml", "a.xml", `<?xml version="1.0"?><a/>`, "text/xml; charset=utf-8", true},
		{"script", "a.js", "alert(1)", "text/javascript; charset=utf-8", true},
		{"png", "a.png", png, "image/png", false},
		{"png called page", "a.html", png, "image/png", false},
		{"pdf", "a.pdf", "%PDF-1.7\n", "application/pdf", false},
		{"binary", "a.txt", "a\x00b\x01\x02", "application/octet-stream", false},
		{"odd bytes without NUL", "a", "\x01\x02\x03abc", "text/plain; charset=utf-8", false},
	} {
		t.Run(c.test, func(t *testing.T) {
			got, active := uploads.ContentType(c.name, []byte(c.head))
			if got != c.want && !(strings.HasSuffix(c.want, "=") &&
				strings.HasPrefix(got, strings.TrimSuffix(c.want, "; charset="))) || active != c.active {
				t.Errorf("got %q, %v", got, active)
			}
		})
	}
}

func TestStoredFileIsServedInRanges(t *testing.T) {
	dir, _ := folder(t)
	save(t, dir, part("a.csv", "x,y\n1,2\n"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, info, err := dir.Open(uploads.Folder + "/a.csv")
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		head := make([]byte, uploads.HeadBytes)
		n, _ := file.ReadAt(head, 0)
		kind, _ := uploads.ContentType(info.Name(), head[:n])
		w.Header().Set("Content-Type", kind)
		http.ServeContent(w, r, "", info.ModTime(), file)
	}))
	defer server.Close()
	req := must.Get(http.NewRequestWithContext(t.Context(), "GET", server.URL, nil))(t)
	req.Header.Set("Range", "bytes=4-6")
	res := must.Get(server.Client().Do(req))(t)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || res.StatusCode != 206 || string(body) != "1,2" || kind != "text/csv" {
		t.Errorf("%d %q %s %v", res.StatusCode, body, kind, err)
	}
}

func FuzzPagesAreNeverPassive(f *testing.F) {
	f.Add("a.html", []byte("<html>"))
	f.Add("x", []byte("GIF89a"))
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		kind, active := uploads.ContentType(name, head)
		if kind == "" || strings.ContainsAny(kind, "\r\n") {
			t.Fatalf("%q", kind)
		}
		for _, bad := range []string{"html", "xml", "javascript"} {
			// Office files are XML inside a zip, which a browser does not run.
			if strings.Contains(kind, bad) && !strings.Contains(kind, "openxmlformats") && !active {
				t.Fatalf("%q of %q is passive", kind, name)
			}
		}
	})
}
