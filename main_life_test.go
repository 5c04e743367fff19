//go:build unix

package main

import (
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAnEndKeepsWhatWasShown stops a server that speaks, queues and streams, in order and
// without any, and starts another on its folder.
func TestAnEndKeepsWhatWasShown(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal os.Signal
		code   int
		reason string
	}{
		{"SIGTERM", syscall.SIGTERM, exitOK, "shutdown"},
		{"SIGINT", syscall.SIGINT, exitOK, "shutdown"},
		{"SIGKILL", syscall.SIGKILL, -1, "orphan_recovered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conf, dir := configured(t, "runs: {resume: mark}"), t.TempDir()
			s := serve(t, nil, "--data", dir, "--config", conf)
			all := follow(t, s, "t1", speaking, "lorem ", 20)
			call[runRow](t, s, "POST", "/threads/t1/runs", input(`SCRIPT{"turns": [{"text": "after all"}]}`))
			follow(t, s, "t2",
				`SCRIPT{"turns": [{"tool_calls": [{"name": "ls", "args": {"description": "look", "path": "/mnt/user-data"}}]}, {"text": "quiet", "chunk": 9, "hang": true}]}`, "quiet", 1)

			if code, took := s.end(t, c.signal); code != c.code {
				t.Errorf("exit code %d after %v", code, took)
			}
			if strings.Contains(s.stderr, "level=ERROR") || warned(s.stderr) ||
				strings.Count(s.stdout, "\n") != 1 {
				t.Errorf("it says\n%s\n%s", s.stdout, s.stderr)
			}
			shown := "first words, " + strings.Repeat("lorem ", strings.Count(all(), "lorem "))

			s = serve(t, nil, "--data", dir, "--config", conf)
			until(t, func() bool { return status(t, s, "t1") == "idle" })
			list := runsOf(t, s, "t1")
			if len(list) != 2 || list[0].Status != "interrupted" || list[0].StopReason != c.reason ||
				list[1].Status != "success" {
				t.Errorf("runs: %+v", list)
			}
			got := messages(t, s, "t1")
			if strings.Count(shown, "lorem ") < 20 || !strings.HasPrefix(got, "human:"+speaking+"\nai:"+shown) ||
				!strings.HasSuffix(got, "\nai:after all\n") {
				t.Errorf("shown was %q, kept is\n%s", shown, got)
			}
			if got := messages(t, s, "t2"); !strings.HasSuffix(got, "\nai:quiet\n") ||
				status(t, s, "t2") != "interrupted" {
				t.Errorf("the other thread is %s:\n%s", status(t, s, "t2"), got)
			}
			call[any](t, s, "POST", "/threads/t2/runs/wait", input("echo 1 tokens at 0 tok/s"))
			if status(t, s, "t2") != "idle" {
				t.Errorf("after another run the thread is %s", status(t, s, "t2"))
			}
		})
	}
}

// warned says that there is a warning that this machine is no reason for: not all have a sandbox.
func warned(log string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=WARN") && !strings.Contains(line, `msg="sandbox provider unavailable"`) {
			return true
		}
	}
	return false
}

// TestAClientThatNeverFinishesDelaysTheEndOnlyALittle has an upload that stands still.
func TestAClientThatNeverFinishesDelaysTheEndOnlyALittle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		again bool // a second signal, which ends it by itself
		code  int
		from  time.Duration
	}{
		{"one signal", false, exitOK, 4 * time.Second},
		{"a second signal", true, -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, "--data", t.TempDir())
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, err = conn.Write([]byte(
				"POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := conn.Read(make([]byte, 100)); n == 0 { // it says "continue" when it waits for the body
				t.Fatal(err)
			}
			began := time.Now()
			s.signal(t, syscall.SIGTERM)
			until(t, func() bool {
				if c.again {
					s.signal(t, syscall.SIGTERM)
				}
				select {
				case <-s.ended:
					return true
				default:
					return false
				}
			})
			code, took := s.cmd.ProcessState.ExitCode(), time.Since(began)
			if code != c.code || took < c.from {
				t.Errorf("exit code %d after %v", code, took)
			}
		})
	}
}

// TestAKilledServerHoldsNeitherFolderNorPort starts the next one at the same place.
func TestAKilledServerHoldsNeitherFolderNorPort(t *testing.T) {
	t.Parallel()
	dir, free := t.TempDir(), "127.0.0.1:0"
	if runtime.GOOS == "linux" {
		free = "127.83.12.7:0" // where no other test takes the port meanwhile
	}
	s := serve(t, nil, "--data", dir, "--addr", free)
	addr := strings.TrimPrefix(s.url, "http://")
	for range 3 {
		call[any](t, s, "POST", "/threads", "{}")
		s.end(t, os.Kill)
		s = serve(t, nil, "--data", dir, "--addr", addr) // the last --addr counts
		if s.url != "http://"+addr {
			t.Fatalf("it is at %s", s.url)
		}
	}
	if n := len(call[[]any](t, s, "GET", "/threads", "")); n != 3 {
		t.Errorf("%d threads are left", n)
	}
}
