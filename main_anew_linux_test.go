package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/store"
	"fawn/store/pgtest"
)

// TestAServerOfAServiceManagerBeginsAnew when it was paused for longer than its lease: on the sockets that it was
// given, without telling the manager that it stops, and again until it can't, which it says with a code of its own.
func TestAServerOfAServiceManagerBeginsAnew(t *testing.T) {
	t.Parallel()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"),
		Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	hears := func() (words string) {
		t.Helper()
		for b := make([]byte, 4096); !strings.Contains(words, "READY=1"); {
			if err := manager.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			n, err := manager.Read(b)
			if err != nil {
				t.Fatalf("the manager hears %q: %v", words, err)
			}
			words += string(b[:n]) + "\n"
		}
		return words
	}
	database := pgtest.Start(t)
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := "database: {url: " + database.URL + "}\ncluster: {lease: 15}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := listening(t), listening(t)
	s := started(t, handed(t, []string{"LISTEN_FDS=2", "NOTIFY_SOCKET=" + manager.LocalAddr().String(),
		"FAWN_CONFIG=" + config}, first, second))
	hears()
	for range 2 {
		s.signal(t, syscall.SIGSTOP)
		for over := false; !over; time.Sleep(20 * time.Millisecond) {
			r, err := store.Inspect(t.Context(), store.Config{URL: database.URL})
			if err != nil {
				t.Fatal(err)
			}
			over = len(r.Nodes) == 1 && r.Nodes[0].Left <= 0
		}
		s.signal(t, syscall.SIGCONT)
		if words := hears(); strings.Contains(words, "STOPPING=1") {
			t.Errorf("it says %q", words)
		}
		for _, l := range []net.Listener{first, second} {
			s.url = "http://" + l.Addr().String()
			if ok := call[map[string]any](t, s, "GET", "/ok", ""); ok["ok"] != true {
				t.Errorf("%s: %v", s.url, ok)
			}
		}
	}
	database.Crash(t)
	defer database.Run(t)
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatal("it goes on without its database")
	}
	if code := s.cmd.ProcessState.ExitCode(); code != exitReplaced || strings.Count(s.stderr, "restarting in place") != 3 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
}
