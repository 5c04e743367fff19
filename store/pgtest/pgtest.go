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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// URL is the address of a database for the test and what it calls. It belongs to a server that is started in a
// temporary folder and ends with the test, or is the one that FAWN_TEST_PG names. Where there is no
// PostgreSQL the test is skipped, and fails with FAWN_CI=1.
func URL(tb testing.TB) string {
	tb.Helper()
	if url := os.Getenv("FAWN_TEST_PG"); url != "" {
		return url
	}
	bin, err := programs()
	if err != nil {
		if os.Getenv("FAWN_CI") == "1" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	return start(tb, bin)
}

// Schema is a name for what a test keeps in a folder, the same for the same folder.
func Schema(dir string) string {
	h := fnv.New64a()
	h.Write([]byte(dir))
	return fmt.Sprintf("test_%x", h.Sum64())
}

// programs is the folder of the newest server that is installed.
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

func start(tb testing.TB, bin string) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Chmod(dir, 0o711), handOver(data)); err != nil {
		tb.Fatal(err)
	}
	init := command(filepath.Join(bin, "initdb"), "-D", data, "-U", "fawn", "-A", "trust", "-E", "UTF8", "--locale=C",
		"--no-sync", "--no-instructions")
	init.Dir = dir
	if out, err := init.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v: %s", err, out)
	}
	port := freePort(tb)
	logs, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer logs.Close()
	server := command(filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200", "-c", "shared_buffers=32MB")
	server.Dir, server.Stdout, server.Stderr = dir, logs, logs
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		server.Process.Signal(os.Interrupt) // which ends connections
		server.Wait()
	})
	url := "postgres://fawn@127.0.0.1:" + port + "/postgres?sslmode=disable"
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgconn.Connect(context.Background(), url)
		if err == nil {
			conn.Close(context.Background())
			return url
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(logs.Name()) // helps, if it is there
			tb.Fatalf("PostgreSQL does not start: %v\n%s", err, out)
		}
	}
}

func freePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
