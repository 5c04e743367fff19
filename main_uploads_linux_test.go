package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fawn/web/e2e/gate"
)

// zeros is a file of so many bytes in a form, made while it is read.
func zeros(size int64) (body io.Reader, total int64) {
	const head = "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"large.bin\"\r\n\r\n"
	const tail = "\r\n--b--\r\n"
	return io.MultiReader(strings.NewReader(head), io.LimitReader(nothing{}, size), strings.NewReader(tail)),
		int64(len(head)+len(tail)) + size
}

type nothing struct{}

func (nothing) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMemory is the most memory that a process has had since it was last forgotten.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := peak.FindSubmatch(status)
	if m == nil {
		t.Fatalf("no peak in %s", status)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// TestAFileOfTwoGigabytes: is refused, with its length announced or not, and leaves nothing; or
// is stored, where the owner allows that. It is never in memory.
func TestAFileOfTwoGigabytes(t *testing.T) {
	const size = 2 << 30
	type attempt struct {
		name, conf string
		announced  bool
		status     int
	}
	all := []attempt{
		{"announced", "uploads: {max_file_size: 8MiB, max_total_size: 16MiB}\n", true, http.StatusRequestEntityTooLarge},
		{"not announced", "uploads: {max_file_size: 8MiB, max_total_size: 16MiB}\n", false, http.StatusRequestEntityTooLarge},
	}
	if gate.Soaking() {
		all = append(all,
			attempt{"allowed",
				"uploads: {max_file_size: 3GiB, max_total_size: 3GiB}\nsandbox: {limits: {disk: 4GiB}}\n", true,
				http.StatusOK})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			conf := filepath.Join(dir, "config.yaml")
			if err := os.WriteFile(conf, []byte(c.conf), 0o600); err != nil {
				t.Fatal(err)
			}
			s := serve(t, nil, "--data", filepath.Join(dir, "data"), "--config", conf)
			send := func(body io.Reader, total int64) (int, []byte) {
				t.Helper()
				req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/threads/large/uploads", body)
				if err != nil {
					t.Fatal(err)
				}
				req.ContentLength = total
				req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
				res, err := s.client.Do(req)
				if err != nil && c.status != http.StatusOK { // the server has hung up before it was sent
					return c.status, nil
				}
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				said, err := io.ReadAll(res.Body)
				if err != nil && c.status == http.StatusOK { // else it may hang up before all is read
					t.Fatal(err)
				}
				return res.StatusCode, said
			}
			// what the first upload takes is no growth
			if status, said := send(zeros(1 << 20)); status != http.StatusOK {
				t.Fatalf("%d %s", status, said)
			}
			pid := s.cmd.Process.Pid
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
				t.Skip("peaks of memory cannot be forgotten here:", err)
			}
			before := peakMemory(t, pid)
			body, total := zeros(size)
			if !c.announced {
				total = -1
			}
			status, said := send(body, total)
			if status != c.status || status >= 300 && len(said) > 0 && !bytes.Contains(said, []byte("too large")) {
				t.Errorf("%d %s", status, said)
			}
			grown := peakMemory(t, pid) - before
			t.Logf("grown by %d KiB", grown>>10)
			if grown > 32<<20 && gate.Soaking() { // other limits hold for a program that looks for races
				t.Errorf("the server has grown by %d MiB", grown>>20)
			}
			var list struct {
				Files []struct {
					Filename string
					Size     int64
				}
			}
			res, err := s.client.Get(s.url + "/api/threads/large/uploads/list")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
				t.Fatal(err)
			}
			want := int64(1 << 20)
			if c.status == http.StatusOK {
				want = size
			}
			if len(list.Files) != 1 || list.Files[0].Size != want {
				t.Errorf("there is %+v", list.Files)
			}
			staged, err := filepath.Glob(filepath.Join(dir, "data", "threads", "large", "user-data", "uploads",
				".upload-*"))
			if err != nil || len(staged) > 0 {
				t.Errorf("left behind: %v %v", staged, err)
			}
		})
	}
}
