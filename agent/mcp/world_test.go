package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/mcp"
	"fawn/sandbox/netguard"
)

// patience is how long something may take on a busy machine.
const patience = time.Minute

// world is a pool with threads in a folder.
type world struct {
	*mcp.Pool
	t    *testing.T
	dir  string
	logs *buffer
}

type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newWorld(t *testing.T, servers ...mcp.Server) *world { return worldIn(t, t.TempDir(), servers...) }

func worldIn(t *testing.T, dir string, servers ...mcp.Server) *world {
	t.Helper()
	w := &world{t: t, dir: dir, logs: &buffer{}}
	w.Pool = poolIn(dir, slog.New(slog.NewTextHandler(w.logs, nil)))
	t.Cleanup(func() { must.Report(t, w.Close()) })
	w.Set(servers)
	return w
}

func poolIn(dir string, log *slog.Logger) *mcp.Pool { return mcp.New(optionsIn(dir, log)) }

func optionsIn(dir string, log *slog.Logger) mcp.Options {
	folder := func(thread string) (string, error) {
		base := filepath.Join(dir, "threads", thread, "user-data")
		for _, name := range []string{"workspace", "uploads", "outputs"} {
			if err := os.MkdirAll(filepath.Join(base, name), 0o700); err != nil {
				return "", err
			}
		}
		return base, nil
	}
	return mcp.Options{Dir: filepath.Join(dir, "mcp"), Log: log, Guard: &netguard.Guard{}, MaxMessage: 2 << 20,
		Folder: folder, Patience: func(_ context.Context, thread string) time.Duration {
			switch thread {
			case "nobody":
				return 0
			case "hurry":
				return 20 * time.Millisecond
			}
			return patience
		},
		Save: func(_ context.Context, thread, name string, data []byte) (string, error) {
			base, err := folder(thread)
			if err != nil {
				return "", err
			}
			at := filepath.Join(base, "outputs", name)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return "", err
			}
			return "/mnt/user-data/outputs/" + name, os.WriteFile(at, data, 0o600)
		}}
}

// stdio is a server that the test binary is.
func stdio(name, kind string, args ...string) mcp.Server {
	return mcp.Server{Name: name, Type: mcp.Stdio, Command: os.Args[0],
		Args: append([]string{serverArg, kind}, args...), StartTimeout: patience,
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}}
}

// until waits for something to become true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not happen", what)
		}
	}
}

func (w *world) names() []string {
	var out []string
	list, _ := w.Tools()
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

// has waits for a tool.
func (w *world) has(name string) *agent.Tool {
	w.t.Helper()
	var found *agent.Tool
	until(w.t, "the tool "+name, func() bool {
		list, _ := w.Tools()
		i := slices.IndexFunc(list, func(t *agent.Tool) bool { return t.Name == name })
		if i >= 0 {
			found = list[i]
		}
		return i >= 0
	})
	return found
}

func (w *world) status(name string) mcp.Status {
	w.t.Helper()
	for _, s := range w.Status() {
		if s.Name == name {
			return s
		}
	}
	w.t.Fatalf("no server %s", name)
	return mcp.Status{}
}

func (w *world) state(name, state string) mcp.Status {
	w.t.Helper()
	var s mcp.Status
	until(w.t, name+" being "+state, func() bool { s = w.status(name); return s.State == state })
	return s
}

// sink keeps what a call shows.
type sink struct {
	mu     sync.Mutex
	events []agent.Event
	seen   chan struct{}
}

func (s *sink) Emit(e agent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events = append(s.events, e); len(s.events) == 1 && s.seen != nil {
		close(s.seen)
	}
}

func (s *sink) Record(context.Context, agent.Event) error { return nil }
func (s *sink) Step(context.Context, agent.Step) error    { return nil }

func (w *world) callIn(ctx context.Context, thread, name string, args any, to *sink) (agent.Result, error) {
	w.t.Helper()
	tool := w.has(name)
	raw := must.Get(json.Marshal(args))(w.t)
	turn := &agent.Turn{ThreadID: thread, RunID: "r", Sink: to, Log: slog.New(slog.DiscardHandler),
		Options: agent.Options{Vision: true}}
	return tool.Run(ctx, turn, agent.ToolCall{ID: "c", Name: name, Args: raw})
}

func (w *world) call(thread, name, arg string) agent.Result {
	w.t.Helper()
	r, err := w.callIn(w.t.Context(), thread, name, map[string]string{"text": arg}, &sink{})
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return r
}

// says is the text of a call that works.
func (w *world) says(thread, name, arg string) string {
	w.t.Helper()
	r := w.call(thread, name, arg)
	if r.IsError {
		w.t.Fatalf("%s: %s", name, r.Content.Text)
	}
	return r.Content.Text
}

// host is another process with a pool, which is killed.
func host(addr string) {
	dir, err := os.MkdirTemp("", "mcp-host-*")
	if err != nil {
		panic(err)
	}
	p := poolIn(dir, slog.New(slog.NewTextHandler(io.Discard, nil)))
	p.Set([]mcp.Server{stdio("s", "stubborn", addr)})
	for {
		if list, _ := p.Tools(); len(list) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println(dir)
	select {}
}
