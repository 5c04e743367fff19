package systemd

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A manager that reads nothing stops nobody for good.
func TestAManagerThatHangsIsLeftAlone(t *testing.T) {
	at := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := Manager{socket: at}
	full, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	raw, err := full.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	err = raw.Write(func(fd uintptr) bool {
		for refused == nil {
			_, refused = syscall.Write(int(fd), []byte("x"))
		}
		return true
	})
	if err != nil || !errors.Is(refused, syscall.EAGAIN) {
		t.Fatal(err, refused)
	}
	done := make(chan error, 1)
	go func() { done <- m.Ready() }()
	select {
	case err := <-done:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("said to a manager that doesn't read: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it still waits")
	}
}
