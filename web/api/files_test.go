package api_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/uploads"
	"fawn/web/webtest"
)

func TestUploadsLiveInTheirThread(t *testing.T) {
	w := open(t, sayAgent("hi"), withUploads(uploads.Config{MaxFiles: 2, MaxFileSize: 1000, MaxTotalSize: 1500}))
	body, kind := webtest.Form(t, "files", "a b.txt", "hello", "../../évil.md", "# x")
	a := w.send(t, "POST", "/api/threads/t1/uploads", body, "Content-Type", kind)
	a.must(t, "the answer", 200,
		`"artifact_url":"/api/threads/t1/artifacts/mnt/user-data/uploads/a%20b.txt"`, `"filename":"évil.md"`,
		`"message":"Successfully uploaded 2 file(s)"`)
	list := w.ok(t, "GET", "/threads/t1/uploads/list", "")
	if list["count"] != 2.0 {
		t.Errorf("list = %v", list)
	}
	for _, f := range list["files"].([]any) {
		w.send(t, "GET", f.(map[string]any)["artifact_url"].(string), "").want(t, f, 200)
	}
	got := w.send(t, "GET", "/api/threads/t1/uploads/limits", "").body
	webtest.Same(t, "limits", got, `{"max_files":2,"max_file_size":1000,"max_total_size":1500}`)
	webtest.Same(t, "empty list", w.send(t, "GET", "/threads/other/uploads/list", "").body, `{"files":[],"count":0}`)
	for _, c := range []struct {
		name   string
		status int
		want   string
	}{
		{"a%20b.txt", 200, `{"message":"Deleted a b.txt","success":true}`},
		{"a%20b.txt", 404, `{"detail":"File not found: a b.txt"}`}, {"..%2F..%2Fx", 400, `{"detail":"Invalid path"}`},
		{"%C3%A9vil.md", 200, `{"message":"Deleted évil.md","success":true}`},
	} {
		if a := w.send(t, "DELETE", "/threads/t1/uploads/"+c.name, ""); a.status != c.status || a.body != c.want {
			t.Errorf("delete %s: %d %s", c.name, a.status, a.body)
		}
	}
	for _, c := range []struct {
		name   string
		parts  []string
		status int
		want   string
	}{
		{"none", nil, 400, "No files provided"},
		{"many", []string{"a", "", "b", "", "c", ""}, 413, "Too many files: maximum is 2"},
		{"large", []string{"a.bin", strings.Repeat("x", 1001)}, 413, "File too large: a.bin"},
		{"total", []string{"a", strings.Repeat("x", 900), "b", strings.Repeat("x", 900)}, 413, "Total upload size too large"},
	} {
		body, kind := webtest.Form(t, "files", c.parts...)
		w.send(t, "POST", "/threads/t1/uploads", body, "Content-Type", kind).want(t, c.name, c.status, c.want)
	}
	if a := w.send(t, "POST", "/threads/t1/uploads", "x", "Content-Type", "text/plain"); a.status != 400 ||
		a.body != `{"detail":"No files provided"}` {
		t.Errorf("no form: %d %s", a.status, a.body)
	}
}

// endless is a multipart body of any size that is never in memory.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return int(n), nil
}

func TestHugeUploadIsRefusedAtOnce(t *testing.T) {
	w := open(t, sayAgent("hi"), withUploads(uploads.Config{MaxFiles: 1, MaxFileSize: 1 << 20, MaxTotalSize: 2 << 20}))
	const head = "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"big.bin\"\r\n\r\n"
	for _, length := range []int64{200<<20 + int64(len(head)), -1} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/threads/t1/uploads",
			io.MultiReader(strings.NewReader(head), &endless{200 << 20}))
		must.Do(t, err)
		req.ContentLength = length
		req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		start := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Logf("length %d: %v", length, err) // a reset beats the answer at times
			continue
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 413 || time.Since(start) > time.Minute {
			t.Errorf("length %d: %d %s after %v", length, res.StatusCode, b, time.Since(start))
		}
	}
	if list := w.ok(t, "GET", "/threads/t1/uploads/list", ""); list["count"] != 0.0 {
		t.Errorf("left behind: %v", list)
	}
}

func TestArtifacts(t *testing.T) {
	w := open(t, sayAgent("hi"))
	must.Do(t, w.dirs.Create("t1"))
	root := filepath.Join(w.dirs.Root, "threads/t1/user-data")
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"demo/SKILL.md": "# demo", "demo/page.html": "<script>1</script>"} {
		f, err := z.Create(name)
		must.Do(t, err)
		io.WriteString(f, text)
	}
	must.Do(t, z.Close())
	for name, data := range map[string]string{"outputs/report é.md": "# Report",
		"outputs/page.html": "<html><script>alert(1)</script></html>",
		"outputs/pic.svg":   `<svg xmlns="http://www.w3.org/2000/svg"/>`, "outputs/data.bin": "\x00\x01\x02",
		"outputs/paper.pdf": "%PDF-1.7\n", "outputs/page.txt": "<html><script>alert(1)</script></html>",
		"outputs/x.skill": archive.String(), "outputs/y.skill": "no zip", "outputs/empty": ""} {
		must.Do(t, os.WriteFile(filepath.Join(root, name), []byte(data), 0o600))
	}
	must.Do(t, os.Symlink("/etc/hostname", filepath.Join(root, "outputs/link")))
	base := "/api/threads/t1/artifacts/"
	for _, c := range []struct {
		path   string
		status int
		how    string // Content-Disposition
		want   string // part of the body
	}{
		{"mnt/user-data/outputs/report%20%C3%A9.md", 200, "inline; filename*=UTF-8''report%20%C3%A9.md", "# Report"},
		{"/mnt/user-data/outputs/report%20%C3%A9.md?download=true", 200, "attachment; filename*=UTF-8''report%20%C3%A9.md", "# Report"},
		{"mnt/user-data/outputs/page.html", 200, "attachment", "alert"},
		{"mnt/user-data/outputs/page.txt", 200, "", "alert"},
		{"mnt/user-data/outputs/pic.svg", 200, "attachment", "svg"},
		{"mnt/user-data/outputs/data.bin", 200, "inline", "\x00\x01\x02"},
		{"mnt/user-data/outputs/empty", 200, "inline", ""},
		{"mnt/user-data/outputs/paper.pdf", 200, "inline", "%PDF"},
		{"mnt/user-data/outputs/x.skill/demo/SKILL.md", 200, "inline", "# demo"},
		{"mnt/user-data/outputs/x.skill/SKILL.md", 200, "inline", "# demo"},
		{"mnt/user-data/outputs/x.skill/page.html", 200, "attachment", "script"},
		{"mnt/user-data/outputs/x.skill/none", 404, "", "not found in skill archive"},
		{"mnt/user-data/outputs/y.skill/SKILL.md", 400, "", "Not a skill archive"},
		{"mnt/user-data/outputs/none", 404, "", "Artifact not found: /mnt/user-data/outputs/none"},
		{"mnt/user-data/outputs", 400, "", "not a file"},
		{"mnt/user-data-evil/x", 400, "", "Path must start with /mnt/user-data"},
		{"etc/passwd", 400, "", "Path must start with /mnt/user-data"},
		{"mnt/user-data/..%2F..%2Fetc/passwd", 403, "", "Access denied: path traversal detected"},
		{"mnt/user-data/outputs/link", 403, "", "Access denied: path traversal detected"},
		{"mnt/user-data/outputs/page.html?download=x", 422, "", "download"},
	} {
		t.Run(c.path, func(t *testing.T) {
			a := w.send(t, "GET", base+c.path, "")
			a.must(t, "the answer", c.status, c.want)
			if c.status != 200 {
				return
			}
			if !strings.HasPrefix(a.header.Get("Content-Disposition"), c.how) {
				t.Errorf("disposition = %s", a.header.Get("Content-Disposition"))
			}
			policy := a.header.Get("Content-Security-Policy")
			if a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(policy, "default-src 'none'") ||
				strings.HasPrefix(policy, "sandbox") == strings.HasSuffix(c.path, ".pdf") {
				t.Errorf("headers = %v", a.header)
			}
			kind := a.header.Get("Content-Type")
			if strings.HasPrefix(kind, "text/html") && !strings.HasPrefix(a.header.Get("Content-Disposition"),
				"attachment") {
				t.Errorf("a page would run: %s", kind)
			}
		})
	}
	path := base + "mnt/user-data/outputs/report%20%C3%A9.md"
	a := w.send(t, "GET", path, "", "Range", "bytes=2-4")
	if a.status != 206 || a.body != "Rep" || a.header.Get("Content-Range") != "bytes 2-4/8" {
		t.Errorf("range: %d %q %v", a.status, a.body, a.header)
	}
	w.send(t, "GET", path, "", "Range", "bytes=90-").want(t, "range past the end", 416)
	if a := w.send(t, "HEAD", path, ""); a.status != 200 || a.body != "" || a.header.Get("Content-Length") != "8" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
	w.send(t, "GET", "/threads/none/artifacts/mnt/user-data/outputs/x", "").want(t, "no folder", 404)
	w.send(t, "GET", fmt.Sprintf("/threads/none/artifacts/%s", "mnt/user-data/..%2F..%2Fx"), "").want(t, "escape without a folder", 403)
}
