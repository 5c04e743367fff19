package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Pooler starts PgBouncer in front of the server at an address, and returns its own. Each transaction gets one of size
// connections; it ends with the test. If it isn't installed the test is skipped, or fails with FAWN_CI=1.
func Pooler(tb testing.TB, address string, size int) string {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // Debian's is not in everybody's path
		_, err = os.Stat(program)
	}
	switch {
	case err != nil && os.Getenv("FAWN_CI") == "1":
		tb.Fatal("PgBouncer is not installed")
	case err != nil:
		tb.Skip("PgBouncer is not installed")
	}
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pooler")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	port := freePort(tb, host())
	user, password := u.User.Username(), ""
	if p, ok := u.User.Password(); ok {
		password = " password=" + p
	}
	conf, users, logs := filepath.Join(dir, "pgbouncer.ini"), filepath.Join(dir, "users"), filepath.Join(dir, "log")
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s%s\n"+
		"[pgbouncer]\nlisten_addr = %s\nlisten_port = %s\n"+
		"unix_socket_dir =\nauth_type = trust\nauth_file = %s\nadmin_users = %s\npool_mode = transaction\n"+
		"max_client_conn = 500\ndefault_pool_size = %d\n",
		u.Hostname(), u.Port(), user, password, host(), port, users, user, size)
	err = errors.Join(os.WriteFile(conf, []byte(text), 0o644), os.WriteFile(users, []byte(`"`+user+`" ""`), 0o644),
		os.WriteFile(logs, nil, 0o666), os.Chmod(dir, 0o755))
	if err != nil {
		tb.Fatal(err)
	}
	out, err := os.OpenFile(logs, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	var mu sync.Mutex
	var running *exec.Cmd
	over := false
	start := func() (*exec.Cmd, error) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return nil, nil
		}
		cmd := command(program, conf)
		cmd.Dir, cmd.Stderr = dir, out
		running = cmd
		return cmd, cmd.Start()
	}
	cmd, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // restart it like a service manager: version 1.18 exits when a waiting query is canceled
		defer close(ended)
		for cmd != nil && err == nil {
			cmd.Wait()
			time.Sleep(100 * time.Millisecond)
			cmd, err = start()
		}
	}()
	tb.Cleanup(func() {
		mu.Lock()
		over = true
		running.Process.Signal(syscall.SIGQUIT)
		mu.Unlock()
		<-ended
		out.Close()
		if said, err := os.ReadFile(logs); tb.Failed() && err == nil {
			tb.Logf("PgBouncer said at last:\n%s", said[max(0, len(said)-2000):])
		}
	})
	through := *u
	through.Host = host() + ":" + port
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := pgconn.Connect(context.Background(), through.String())
		if err == nil {
			conn.Close(context.Background())
			return through.String()
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(logs) // the log helps, if it exists
			tb.Fatalf("PgBouncer does not start: %v\n%s", err, out)
		}
	}
}
