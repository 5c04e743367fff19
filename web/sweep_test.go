package web_test

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
)

// TestTheSweepBehindAStartLeavesUploadsOfThisServerAlone: it may begin long after the first request.
func TestTheSweepBehindAStartLeavesUploadsOfThisServerAlone(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	folder := filepath.Join(s.app.DataDir(), "threads", "first", "user-data", "uploads")
	from, body := io.Pipe()
	form := multipart.NewWriter(body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/threads/first/uploads", from)
	must.Do(t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	answered := make(chan string, 1)
	go func() {
		resp, err := s.client.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		answered <- resp.Status + " " + string(b) + errorText(err)
	}()
	part, err := form.CreateFormFile("files", "a.txt")
	if err == nil {
		_, err = io.WriteString(part, strings.Repeat("the first half ", 10_000))
	}
	must.Do(t, err)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		list, err := filepath.Glob(filepath.Join(folder, ".upload-*.part"))
		if err != nil || time.Now().After(end) {
			t.Fatalf("the upload is not under way: %q %v", list, err)
		}
		if len(list) == 1 {
			break
		}
	}

	left, hour := filepath.Join(folder, ".upload-left.part"), time.Now().Add(-time.Hour)
	must.Do(t, errors.Join(os.WriteFile(left, []byte("cut off"), 0o600), os.Chtimes(left, hour, hour)))
	s.app.SweepUploads(t.Context())
	if _, err := os.Stat(left); err == nil {
		t.Error("what an earlier server left is still there")
	}
	if _, err = io.WriteString(part, "and the second"); err == nil {
		err = errors.Join(form.Close(), body.Close())
	}
	must.Do(t, err)
	if got := <-answered; !strings.HasPrefix(got, "200") || !strings.Contains(got, `"a.txt"`) {
		t.Errorf("the upload was answered with %s", got)
	}
	b, err := os.ReadFile(filepath.Join(folder, "a.txt"))
	if err != nil || !strings.HasSuffix(string(b), "the first half and the second") {
		t.Errorf("%d bytes are stored: %v", len(b), err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
