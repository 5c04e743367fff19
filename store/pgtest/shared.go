package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// shared is the server for the databases of this process's tests: creating a database takes a tenth of starting a
// server. It ends with the process.
var shared struct {
	sync.Mutex
	server *Server
	alive  *os.File // the keeper reads the other end, which this process closes by ending
	given  int
}

// keeper waits until the process is gone, then ends the server and removes its folder.
const keeper = `trap "" INT TERM HUP; read -r _; kill -QUIT "$1"; while kill -0 "$1"; do sleep 0.1; done; rm -rf "$2"`

// database creates an empty database for a test and drops it afterwards.
func database(tb testing.TB, bin string) string {
	tb.Helper()
	s, name := share(tb, bin)
	s.exec(tb, "CREATE DATABASE "+name+" TEMPLATE template0")
	tb.Cleanup(func() { s.exec(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.address(name)
}

// share starts the server for the first test that needs it, and returns a separate database for each.
func share(tb testing.TB, bin string) (*Server, string) {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s := create(tb, bin, "off")
		s.kept = true
		s.Run(tb)
		theirs, ours, err := os.Pipe()
		if err != nil {
			tb.Fatal(err)
		}
		keep := exec.Command("sh", "-c", keeper, "keeper", strconv.Itoa(s.cmd.Process.Pid), s.dir)
		keep.Stdin = theirs
		if err := keep.Start(); err != nil {
			tb.Fatal(err)
		}
		theirs.Close()
		shared.server, shared.alive = s, ours
	}
	shared.given++
	return shared.server, fmt.Sprint("test", shared.given)
}

func (s *Server) exec(tb testing.TB, sql string) {
	tb.Helper()
	conn, err := pgconn.Connect(context.Background(), s.URL)
	if err != nil {
		tb.Error(err)
		return
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
		tb.Errorf("%s: %v", sql, err)
	}
}
