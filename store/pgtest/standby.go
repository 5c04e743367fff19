package pgtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Standby starts a server with a copy of this one's current data that receives no later changes.
func (s *Server) Standby(tb testing.TB) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	b := &Server{bin: s.bin, dir: dir, data: filepath.Join(dir, "data"), log: filepath.Join(dir, "log"),
		port: freePort(tb, host()), fsync: s.fsync}
	b.URL = "postgres://fawn@" + host() + ":" + b.port + "/postgres?sslmode=disable"
	if err := errors.Join(os.Mkdir(b.data, 0o700), os.Chmod(dir, 0o711), handOver(b.data)); err != nil {
		tb.Fatal(err)
	}
	// Its configuration doesn't contain the first server's address, so it connects to nothing else.
	program := filepath.Join(s.bin, "pg_basebackup")
	if _, err := os.Stat(program); err != nil { // clients may be in another folder
		program = "pg_basebackup"
	}
	take := command(program, "-D", b.data, "-d", s.URL, "-c", "fast", "-X", "stream",
		"--no-sync", "--no-manifest")
	take.Dir = dir
	if out, err := take.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	mark := filepath.Join(b.data, "standby.signal")
	if err := errors.Join(os.WriteFile(mark, nil, 0o600), handOver(mark)); err != nil {
		tb.Fatal(err)
	}
	b.Run(tb)
	b.endWith(tb)
	return b
}

// Promote makes a standby take over.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	conn, err := pgconn.Connect(context.Background(), s.URL)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), `SELECT pg_promote()`).ReadAll(); err != nil {
		tb.Fatal(err)
	}
}
