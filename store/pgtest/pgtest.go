// Package pgtest starts a PostgreSQL for tests.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"fawn/web/e2e/gate"
)

// URL returns the address of an empty database for the test, on a shared server or the one named by FAWN_TEST_PG. `make
// test` skips the test, as does any gate without PostgreSQL unless FAWN_CI=1, which fails it.
func URL(tb testing.TB) string {
	tb.Helper()
	nightly(tb)
	return Storage(tb)
}

// Storage is URL for the tests of the store itself, which also run in `make test`.
func Storage(tb testing.TB) string {
	tb.Helper()
	if url := os.Getenv("FAWN_TEST_PG"); url != "" {
		return url
	}
	return database(tb, installed(tb))
}

// nightly skips tests that `make test` leaves to `make nightly-cluster`. Benchmarks are requested by name.
func nightly(tb testing.TB) {
	tb.Helper()
	if _, test := tb.(*testing.T); test {
		gate.In(tb, gate.Cluster, "it needs PostgreSQL, with which make test runs the store alone")
	}
}

// installed returns the folder of PostgreSQL's programs. Without one the test is skipped, and fails with FAWN_CI=1.
func installed(tb testing.TB) string {
	tb.Helper()
	bin, err := programs()
	if err != nil && os.Getenv("FAWN_CI") == "1" {
		tb.Fatal(err)
	}
	if err != nil {
		tb.Skip(err)
	}
	return bin
}

// Schema returns a schema name derived from a test's folder.
func Schema(dir string) string {
	h := fnv.New64a()
	h.Write([]byte(dir))
	return fmt.Sprintf("test_%x", h.Sum64())
}

// programs returns the folder of the newest server that is installed.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // Debian's are not in the path
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", errors.New("PostgreSQL is not installed")
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // others count as old
	return n
}

// Server is a server for a single test, which may stop it early.
type Server struct {
	URL       string
	bin, dir  string
	data, log string
	port      string
	fsync     string
	kept      bool // until the process ends
	cmd       *exec.Cmd
}

// Start starts a server, for tests that stop it or change settings of all its databases. It skips like URL.
func Start(tb testing.TB) *Server {
	tb.Helper()
	nightly(tb)
	return StartAlways(tb)
}

// StartAlways is Start for tests that also run in `make test`.
func StartAlways(tb testing.TB) *Server {
	tb.Helper()
	return startWith(tb, installed(tb), "off")
}

// StartDurable starts a server with synchronous commits, as in production, for measurements.
func StartDurable(tb testing.TB) *Server {
	tb.Helper()
	bin, err := programs()
	if err != nil {
		tb.Skip(err)
	}
	return startWith(tb, bin, "on")
}

func startWith(tb testing.TB, bin, fsync string) *Server {
	tb.Helper()
	s := create(tb, bin, fsync)
	tb.Cleanup(func() { os.RemoveAll(s.dir) })
	s.Run(tb)
	s.endWith(tb)
	return s
}

// create creates a server's folder under a new user.
func create(tb testing.TB, bin, fsync string) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{bin: bin, dir: dir, data: filepath.Join(dir, "data"), log: filepath.Join(dir, "log"),
		port: freePort(tb, host()), fsync: fsync}
	s.URL = s.address("postgres")
	err = errors.Join(os.Mkdir(s.data, 0o700), os.Chmod(dir, 0o711), handOver(s.data))
	if err == nil {
		init := command(filepath.Join(bin, "initdb"), "-D", s.data, "-U", "fawn", "-A", "trust", "-E", "UTF8",
			"--locale=C", "--no-sync", "--no-instructions")
		init.Dir = dir
		var out []byte
		if out, err = init.CombinedOutput(); err != nil {
			err = fmt.Errorf("initdb: %w: %s", err, out)
		}
	}
	if err != nil {
		os.RemoveAll(dir)
		tb.Fatal(err)
	}
	return s
}

func (s *Server) address(database string) string {
	return "postgres://fawn@" + host() + ":" + s.port + "/" + database + "?sslmode=disable"
}

func (s *Server) endWith(tb testing.TB) {
	tb.Cleanup(func() {
		s.cmd.Process.Signal(os.Interrupt) // it closes all connections
		s.cmd.Wait()
	})
}

// Run starts a server that has ended, and waits until it answers.
func (s *Server) Run(tb testing.TB) {
	tb.Helper()
	logs, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer logs.Close()
	s.cmd = command(filepath.Join(s.bin, "postgres"), "-D", s.data, "-p", s.port, "-c", "listen_addresses="+host(),
		"-c", "unix_socket_directories=", "-c", "fsync="+s.fsync, "-c", "max_connections=500",
		"-c", "shared_buffers=32MB")
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, logs, logs
	if s.kept {
		outlive(s.cmd)
	}
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgconn.Connect(context.Background(), s.URL)
		if err == nil {
			conn.Close(context.Background())
			return
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(s.log) // the log helps, if it exists
			tb.Fatalf("PostgreSQL does not start: %v\n%s", err, out)
		}
	}
}

// Crash kills the server, like a failing machine.
func (s *Server) Crash(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		s.cmd.Wait() // the exit code reports how it ended
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return
		case <-time.After(time.Second):
			// It kills processes that don't end within five seconds, but only checks when woken, otherwise after a
			// minute.
			_ = s.cmd.Process.Signal(syscall.SIGQUIT) // it may have ended
		}
	}
}

// Deadlocks returns the number of deadlocks resolved by the server at an address.
func Deadlocks(tb testing.TB, address string) int {
	tb.Helper()
	return counted(tb, address, "deadlocks")
}

// Transactions returns the number of transactions in the database at an address. Connections report theirs at most
// every ten seconds.
func Transactions(tb testing.TB, address string) int {
	tb.Helper()
	return counted(tb, address, "xact_commit + xact_rollback")
}

func counted(tb testing.TB, address, what string) (n int) {
	tb.Helper()
	conn, err := pgconn.Connect(context.Background(), address)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.Background())
	got := conn.ExecParams(context.Background(), `SELECT `+what+` FROM pg_stat_database
		WHERE datname = current_database()`, nil, nil, nil, nil).Read()
	if got.Err == nil {
		n, got.Err = strconv.Atoi(string(got.Rows[0][0]))
	}
	if got.Err != nil {
		tb.Fatal(got.Err)
	}
	return n
}

// host returns where no other process takes the port of a server before it starts, or while it is down.
func host() string {
	if runtime.GOOS == "linux" {
		pid := os.Getpid()
		return fmt.Sprintf("127.%d.%d.%d", 128+pid>>16&63, pid>>8&255, pid&255)
	}
	return "127.0.0.1"
}

// given are the ports used by servers of this process, including stopped ones.
var given sync.Map

func freePort(tb testing.TB, host string) string {
	tb.Helper()
	for {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			tb.Fatal(err)
		}
		port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		l.Close()
		if _, taken := given.LoadOrStore(port, true); !taken {
			return port
		}
	}
}
