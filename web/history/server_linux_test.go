package history_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store/pgtest"
	"fawn/web"
)

// serverDir names the folder to a child, which is a server.
const serverDir = "FAWN_TEST_HISTORY_SERVER"

func TestMain(m *testing.M) {
	dir := os.Getenv(serverDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := setClock(); err != nil { // where the system forbids it
		fmt.Fprintln(os.Stderr, "the clock can't be set:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := web.Serve(ctx, web.Options{Addr: "127.0.0.1:0", Data: filepath.Join(dir, "data"),
		Config: filepath.Join(dir, "config.yaml"), Log: web.NewLog(os.Stderr), Out: os.Stdout})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// server is one of several, started again whenever it ends, as a service manager does.
type server struct {
	name, dir string
	off       time.Duration // of its clock
	wire      *pgtest.Wire  // to the database, or nil
	log       *os.File

	mu    sync.Mutex
	addr  string // "" while nobody listens
	cmd   *exec.Cmd
	pause time.Duration // before it is started again

	stop context.CancelFunc
	done chan struct{}
}

// newServer starts one whose clock is off, with a configuration, to which its database is added, and MCP servers.
func newServer(t *testing.T, name string, off time.Duration, config, extensions string,
	database *pgtest.Server) *server {
	t.Helper()
	wire := pgtest.NewWire(t, database.URL)
	config += fmt.Sprintf("database: {url: %q, schema: %s}\n", wire.URL, schema)
	return startServer(t, &server{name: name, off: off, dir: t.TempDir(), wire: wire}, config, extensions)
}

// startServer starts one that has a folder, and keeps it running until the test ends.
func startServer(t *testing.T, s *server, config, extensions string) *server {
	t.Helper()
	s.done = make(chan struct{})
	data := s.data()
	err := errors.Join(os.MkdirAll(data, 0o700),
		os.WriteFile(filepath.Join(s.dir, "config.yaml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(data, "extensions_config.json"), []byte(extensions), 0o600))
	must.Do(t, err)
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.keep(ctx)
	t.Cleanup(func() {
		if s.wire != nil {
			s.wire.Thaw()
		}
		s.end()
		s.log.Close()
		if t.Failed() {
			s.show(t)
		}
	})
	return s
}

// data is its data folder.
func (s *server) data() string { return filepath.Join(s.dir, "data") }

// keep has it running until ctx ends.
func (s *server) keep(ctx context.Context) {
	defer close(s.done)
	for ctx.Err() == nil {
		s.run(ctx)
		s.mu.Lock()
		pause := s.pause
		s.mu.Unlock()
		select {
		case <-time.After(max(pause, 50*time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

func (s *server) run(ctx context.Context) {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(s.log, err)
		return
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverDir+"="+s.dir, fmt.Sprintf("%s=%d", clockOff, int(s.off.Seconds())))
	cmd.Stderr = s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(s.log, err)
		return
	}
	s.mu.Lock()
	s.cmd = cmd
	s.mu.Unlock()
	defer context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGTERM) })()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "Fawn is ready at http://"); ok {
			s.at(at)
		}
	}
	io.Copy(io.Discard, out)
	s.at("")
	fmt.Fprintln(s.log, "ended:", cmd.Wait())
}

func (s *server) at(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addr = addr
}

func (s *server) where() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// signal sends one to the process, and says how long after its end it is started again.
func (s *server) signal(sig syscall.Signal, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = pause
	if s.cmd != nil {
		s.cmd.Process.Signal(sig)
	}
}

// end stops it for good.
func (s *server) end() {
	s.stop()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		s.signal(syscall.SIGKILL, 0)
		<-s.done
	}
}

// show tells the end of its log.
func (s *server) show(t *testing.T) {
	b, err := os.ReadFile(s.log.Name())
	if err != nil {
		t.Log(err)
	}
	if dir := os.Getenv("FAWN_TEST_HISTORY_LOGS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, s.name+".log"), b, 0o600); err != nil {
			t.Log(err)
		}
	}
	t.Logf("server %s said at last:\n%s", s.name, b[max(0, len(b)-6000):])
}

// front sends each request to the next of the servers that listen.
type front struct {
	servers []*server
	turn    atomic.Int64
	*httputil.ReverseProxy
}

func newFront(servers []*server) *front {
	f := &front{servers: servers}
	f.ReverseProxy = &httputil.ReverseProxy{FlushInterval: -1, Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", f.next()
			agenttest.ReadAhead(r)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	return f
}

func (f *front) next() string {
	for range f.servers {
		if at := f.servers[int(f.turn.Add(1))%len(f.servers)].where(); at != "" {
			return at
		}
	}
	return "127.0.0.1:1" // nobody is there
}
