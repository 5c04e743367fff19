//go:build unix

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handed is "fawn serve" as a service manager starts it, with sockets and its own process id.
func handed(t *testing.T, env []string, sockets ...net.Listener) *exec.Cmd {
	t.Helper()
	cmd := program(t, env, "serve")
	cmd.Args = append([]string{"sh", "-c", `LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	for _, l := range sockets {
		f, err := l.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	return cmd
}

func listening(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestAServiceManagerPassesSocketsAndHearsOfTheServer(t *testing.T) {
	t.Parallel()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"),
		Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	hears := func(want string) {
		t.Helper()
		for b := make([]byte, 4096); ; {
			if err := manager.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			n, err := manager.Read(b)
			if err != nil {
				t.Fatalf("the manager doesn't hear %s: %v", want, err)
			}
			if strings.Contains("\n"+string(b[:n])+"\n", "\n"+want+"\n") {
				return
			}
		}
	}
	first, second := listening(t), listening(t)
	s := started(t, handed(t, []string{"LISTEN_FDS=2", "NOTIFY_SOCKET=" + manager.LocalAddr().String(),
		"WATCHDOG_USEC=200000"}, first, second))
	if want := "http://" + first.Addr().String(); s.url != want {
		t.Errorf("it is at %s, not at %s", s.url, want)
	}
	for _, l := range []net.Listener{first, second} {
		s.url = "http://" + l.Addr().String()
		if ok := call[map[string]any](t, s, "GET", "/ok", ""); ok["ok"] != true {
			t.Errorf("%s: %v", s.url, ok)
		}
	}
	hears("READY=1")
	hears("WATCHDOG=1")
	hears("WATCHDOG=1")
	s.signal(t, syscall.SIGTERM)
	hears("STOPPING=1")
	manager.Close() // else whoever tells it more would wait for it to listen
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestWhatIsNoTCPSocketIsRefused(t *testing.T) {
	t.Parallel()
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "web"))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	for count, want := range map[string]string{"1": "isn't a TCP socket", "many": "not a number of sockets"} {
		r := finished(t, handed(t, []string{"LISTEN_FDS=" + count}, unix))
		if r.code == exitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %d %s", count, r.code, r.stderr)
		}
	}
}

// TestTheUnitLetsSandboxesStart: what would take from a sandbox what it starts with is not set, and all else that
// takes rights away says why. A server that fails is started again, however often.
func TestTheUnitLetsSandboxesStart(t *testing.T) {
	b, err := os.ReadFile("docs/systemd/fawn.service")
	if err != nil {
		t.Fatal(err)
	}
	set, reason := map[string]string{}, false
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case strings.HasPrefix(line, "#"):
			reason = true
			continue
		case !ok:
			reason = false
			continue
		}
		set[name] = value
		takes := strings.HasPrefix(name, "Protect") || strings.HasPrefix(name, "Private") ||
			strings.HasPrefix(name, "Restrict") || strings.HasPrefix(name, "Lock")
		if takes && !reason {
			t.Errorf("%s has no reason above it", name)
		}
	}
	for _, name := range []string{"RestrictNamespaces", "SystemCallFilter", "PrivateUsers", "ProtectHostname",
		"ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "ProcSubset", "ProtectControlGroups",
		"RestrictSUIDSGID", "MemoryDenyWriteExecute"} {
		if _, ok := set[name]; ok {
			t.Errorf("%s keeps sandboxes from starting", name)
		}
	}
	for name, want := range map[string]string{"ProtectSystem": "strict", "CapabilityBoundingSet": "", "NoNewPrivileges": "yes",
		"Delegate": "yes", "Restart": "on-failure", "StartLimitIntervalSec": "0"} { // it is started until its database is back
		if value, ok := set[name]; !ok || value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
	if wait, err := strconv.Atoi(set["RestartSec"]); err != nil || wait < 1 {
		t.Errorf("it is started again at once: RestartSec is %q", set["RestartSec"])
	}
}
