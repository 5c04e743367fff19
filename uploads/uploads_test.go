package uploads_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
	"fawn/uploads"
)

const thread = "t-1"

// folder gives a thread's real files and the host folder of its uploads.
func folder(t testing.TB) (*files.Files, string) {
	t.Helper()
	dirs := files.Dirs{Root: t.TempDir()}
	must.Do(t, dirs.Create(thread))
	f := must.Get(dirs.Open(thread))(t)
	t.Cleanup(func() { f.Close() })
	return f, filepath.Join(dirs.Root, "threads", thread, "user-data", "uploads")
}

const boundary = "b0undary"

// part writes one file part with its name exactly as given.
func part(name, content string) string {
	return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + name + "\"\r\n\r\n" +
		content + "\r\n"
}

func field(name, content string) string {
	return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + content + "\r\n"
}

func form(parts ...string) *multipart.Reader {
	return multipart.NewReader(strings.NewReader(strings.Join(parts, "")+"--"+boundary+"--\r\n"), boundary)
}

func save(t testing.TB, dir uploads.Dir, parts ...string) uploads.Result {
	t.Helper()
	r := must.Get(uploads.Save(t.Context(), dir, thread, form(parts...), uploads.Default()))(t)
	return r
}

func onDisk(t testing.TB, host string) map[string]string {
	t.Helper()
	entries := must.Get(os.ReadDir(host))(t)
	all := map[string]string{}
	for _, e := range entries {
		b, _ := os.ReadFile(filepath.Join(host, e.Name()))
		all[e.Name()] = string(b)
	}
	return all
}

func TestSaveAnswersInTheShapeClientsKnow(t *testing.T) {
	dir, host := folder(t)
	r := save(t, dir, part("reports/年度 1%.PDF", "abc"), field("note", "ignored"), part("b.txt", ""))
	got := must.Get(json.Marshal(r))(t)
	want := `{"success":true,"files":[{"filename":"年度 1%.PDF","size":3,"path":"/mnt/user-data/uploads/年度 1%.PDF",` +
		`"virtual_path":"/mnt/user-data/uploads/年度 1%.PDF",` +
		`"artifact_url":"/api/threads/t-1/artifacts/mnt/user-data/uploads/%E5%B9%B4%E5%BA%A6%201%25.PDF",` +
		`"extension":".pdf","original_filename":"reports/年度 1%.PDF"},` +
		`{"filename":"b.txt","size":0,"path":"/mnt/user-data/uploads/b.txt","virtual_path":"/mnt/user-data/uploads/b.txt",` +
		`"artifact_url":"/api/threads/t-1/artifacts/mnt/user-data/uploads/b.txt","extension":".txt"}],` +
		`"message":"Successfully uploaded 2 file(s)","skipped_files":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d := onDisk(t, host); len(d) != 2 || d["年度 1%.PDF"] != "abc" {
		t.Errorf("on disk: %q", d)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 251) + ".txt"
	for _, c := range []struct {
		name, sent, stored string
	}{
		{"plain", "a.txt", "a.txt"},
		{"folder stripped", "../../etc/x.txt", "x.txt"},
		{"absolute stripped", "/etc/passwd", "passwd"},
		{"hidden file", ".env", ".env"},
		{"other scripts", "报告.md", "报告.md"},
		{"right-to-left mark is kept", "a\u202etxt.exe", "a\u202etxt.exe"},
		{"255 bytes", long, long},
		{"percent is not decoded", "a%2Fb.txt", "a%2Fb.txt"},
		{"semicolon", "a; filename=b.txt", "a; filename=b.txt"},
		{"folder", "docs/", ""},
		{"dot", ".", ""},
		{"dots", "..", ""},
		{"dots after a folder", "a/..", ""},
		{"backslash", `C:\docs\a.txt`, ""},
		{"256 bytes", "x" + long, ""},
		{"staging name", ".upload-x.part", ""},
		{"not UTF-8", "a\xff.txt", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, host := folder(t)
			r := save(t, dir, part(c.sent, "x"))
			if c.stored == "" {
				if r.Success || len(r.Files) != 0 || !slices.Equal(r.SkippedFiles, []string{c.sent}) ||
					len(onDisk(t, host)) != 0 ||
					r.Message != "Successfully uploaded 0 file(s); skipped 1 unsafe file(s)" {
					t.Errorf("%+v, on disk %q", r, onDisk(t, host))
				}
				return
			}
			if !r.Success || len(r.Files) != 1 || r.Files[0].Filename != c.stored || onDisk(t, host)[c.stored] != "x" {
				t.Fatalf("%+v, on disk %q", r, onDisk(t, host))
			}
			if o := r.Files[0].OriginalFilename; (o != "") != (c.sent != c.stored) || o != "" && o != c.sent {
				t.Errorf("original is %q", o)
			}
		})
	}
}

func TestExtendedFilenameHeaderIsRead(t *testing.T) {
	dir, _ := folder(t)
	head := "--" + boundary + "\r\nContent-Disposition: form-data; name=files; filename*=UTF-8''%E5%B9%B4%2F..%2Fx.md\r\n\r\nx\r\n"
	control := "--" + boundary + "\r\nContent-Disposition: form-data; name=files; filename*=UTF-8''a%0D%0Ab%00.md\r\n\r\nx\r\n"
	broken := "--" + boundary + "\r\nContent-Disposition: form-data; filename=a; filename=b\r\n\r\nx\r\n"
	r := save(t, dir, head, control, broken)
	if !slices.Equal(r.SkippedFiles, []string{"a\r\nb\x00.md"}) || len(r.Files) != 1 || r.Files[0].Filename != "x.md" ||
		r.Files[0].OriginalFilename != "年/../x.md" {
		t.Errorf("%+v", r)
	}
}

func TestSameNamesInOneRequestAreNumbered(t *testing.T) {
	dir, host := folder(t)
	save(t, dir, part("a.txt", "old"), part("a_2.txt", "precious"))
	long := strings.Repeat("é", 126) + ".t"
	r := save(t, dir, part("a.txt", "1"), part("x/a.txt", "2"), part("a.txt", "3"), part(".env", "4"),
		part(".env", "5"), part(long, "6"), part(long, "7"))
	want := map[string]string{
		"a.txt": "1", "a_1.txt": "2", "a_2.txt": "precious", "a_3.txt": "3", ".env": "4", ".env_1": "5",
		long: "6", strings.Repeat("é", 125) + "_1.t": "7",
	}
	got := onDisk(t, host)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	if o := r.Files[2].OriginalFilename; o != "a.txt" {
		t.Errorf("original of the third is %q", o)
	}
}

func TestOlderFileIsReplacedButNothingElse(t *testing.T) {
	dir, host := folder(t)
	save(t, dir, part("a.txt", "old"))
	must.Do(t, os.Mkdir(filepath.Join(host, "folder"), 0o755))
	want := []string{"folder"}
	if err := os.Symlink("a.txt", filepath.Join(host, "link")); err == nil {
		want = append(want, "link")
	}
	r := save(t, dir, part("a.txt", "new"), part("folder", "x"), part("link", "y"))
	if !slices.Equal(r.SkippedFiles, want) || r.Success || len(r.Files)+len(want) != 3 {
		t.Errorf("%+v", r)
	}
	if d := onDisk(t, host); d["a.txt"] != "new" || len(d) != 3 {
		t.Errorf("on disk: %q", d)
	}
}

func TestLimitsLeaveNothingBehind(t *testing.T) {
	cfg := uploads.Config{MaxFiles: 2, MaxFileSize: 100, MaxTotalSize: 150}
	s := func(n int) string { return strings.Repeat("x", n) }
	var (
		many  *uploads.TooManyError
		large *uploads.FileTooLargeError
		total *uploads.TotalTooLargeError
	)
	for _, c := range []struct {
		name  string
		parts []string
		want  any
		text  string
	}{
		{"too many", []string{part("a", "1"), part("b", "2"), part("c", "3")}, &many, "Too many files: maximum is 2"},
		{"skipped ones count", []string{part("..", "1"), part("b", "2"), part("c", "3")}, &many, "Too many files: maximum is 2"},
		{"too large", []string{part("a", "1"), part("d/b.bin", s(101))}, &large, "File too large: b.bin"},
		{"too large though skipped", []string{part("..", s(101))}, &large, "File too large: .."},
		{"together", []string{part("a", s(100)), part("b", s(51))}, &total, "Total upload size too large"},
		{"together with fields", []string{part("a", s(100)), field("f", s(51))}, &total, "Total upload size too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, host := folder(t)
			save(t, dir, part("a", "old"))
			_, err := uploads.Save(t.Context(), dir, thread, form(c.parts...), cfg)
			if !errors.As(err, c.want) || !errors.Is(err, uploads.ErrTooLarge) || err.Error() != c.text {
				t.Errorf("got %v", err)
			}
			if d := onDisk(t, host); len(d) != 1 || d["a"] != "old" {
				t.Errorf("on disk: %q", d)
			}
		})
	}
	dir, host := folder(t)
	r, err := uploads.Save(t.Context(), dir, thread, form(part("a", s(100)), part("b", s(50))), cfg)
	if err != nil || len(r.Files) != 2 || len(onDisk(t, host)) != 2 {
		t.Errorf("exactly at the limits: %+v %v", r, err)
	}
}

func TestBadFormsAreTheClientsMistake(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       error
	}{
		{"empty form", "--" + boundary + "--\r\n", uploads.ErrNoFiles},
		{"only fields", field("a", "b") + "--" + boundary + "--\r\n", uploads.ErrNoFiles},
		{"file input left empty", part("", "") + "--" + boundary + "--\r\n", uploads.ErrNoFiles},
		{"cut off in a header", part("a", "1") + part("b", "2")[:60], io.ErrUnexpectedEOF},
		{"cut off between files", part("a", "1"), uploads.ErrForm},
		{"cut off in a file", part("a", "1") + strings.TrimSuffix(part("b", "222"), "\r\n"), uploads.ErrForm},
		{"other boundary", "hello", uploads.ErrForm},
		{"too many fields", strings.Repeat(field("f", ""), 200) + "--" + boundary + "--\r\n", uploads.ErrForm},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, host := folder(t)
			body := io.Reader(strings.NewReader(c.body))
			if c.want == io.ErrUnexpectedEOF {
				// What net/http says when a body ends before its length.
				body = io.MultiReader(body, iotest.ErrReader(c.want))
			}
			_, err := uploads.Save(t.Context(), dir, thread, multipart.NewReader(body, boundary), uploads.Default())
			if !errors.Is(err, c.want) || len(onDisk(t, host)) != 0 {
				t.Errorf("%v, on disk %q", err, onDisk(t, host))
			}
		})
	}
}

// endless is a body of n bytes that nobody holds in memory.
func endless(n int64) (io.Reader, func() int64) {
	c := &counter{r: io.MultiReader(strings.NewReader(strings.TrimSuffix(part("big.bin", ""), "\r\n")),
		io.LimitReader(zeros{}, n))}
	return c, func() int64 { return c.n }
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func TestHugeFileIsNeitherStoredNorBuffered(t *testing.T) {
	dir, host := folder(t)
	body, read := endless(200 << 20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := uploads.Save(t.Context(), dir, thread, multipart.NewReader(body, boundary), uploads.Default())
	runtime.ReadMemStats(&after)
	if large := new(uploads.FileTooLargeError); !errors.As(err, &large) || large.Limit != 50<<20 {
		t.Fatalf("got %v", err)
	}
	if n := read(); n > 51<<20 {
		t.Errorf("read %d bytes after the limit was passed", n)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("allocated %d bytes", n)
	}
	if d := onDisk(t, host); len(d) != 0 {
		t.Errorf("%d files stay", len(d))
	}
}

func TestCancelLeavesNothingBehind(t *testing.T) {
	dir, host := folder(t)
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	go func() {
		_, _ = io.WriteString(pw, part("a", "1")+strings.TrimSuffix(part("b", strings.Repeat("x", 200_000)), "\r\n"))
		cancel()
		_, _ = io.Copy(pw, io.LimitReader(zeros{}, 1<<20))
		pw.Close()
	}()
	_, err := uploads.Save(ctx, dir, thread, multipart.NewReader(pr, boundary), uploads.Default())
	pr.Close()
	if !errors.Is(err, context.Canceled) || len(onDisk(t, host)) != 0 {
		t.Errorf("%v, on disk %d", err, len(onDisk(t, host)))
	}
}

func FuzzSaveStoresOnlyPlainNames(f *testing.F) {
	dir, host := folder(f)
	for _, s := range []string{"a.txt", "../x", `a"; filename="b`, "a/b/", "%22", "\u202e", ".upload-.part"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var body bytes.Buffer
		body.WriteString(part(name, "x") + part("ok.txt", "ok") + "--" + boundary + "--\r\n")
		r, err := uploads.Save(t.Context(), dir, thread, multipart.NewReader(&body, boundary), uploads.Default())
		if err != nil && !errors.Is(err, uploads.ErrForm) {
			t.Fatalf("%q: %v", name, err)
		}
		for n := range onDisk(t, host) {
			if n == "." || n == ".." || strings.ContainsAny(n, "/\\\n\x00") ||
				strings.HasPrefix(n, ".upload-") && strings.HasSuffix(n, ".part") {
				t.Fatalf("%q stored %q", name, n)
			}
			os.Remove(filepath.Join(host, n))
		}
		if up, _ := os.ReadDir(filepath.Dir(host)); len(up) != 3 {
			t.Fatalf("%q wrote elsewhere: %v", name, up)
		}
		for _, file := range r.Files {
			if !strings.HasPrefix(file.Path, uploads.Folder+"/") {
				t.Fatalf("%q: %+v", name, file)
			}
		}
	})
}
