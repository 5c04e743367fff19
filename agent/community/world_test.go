package community_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/community"
	"fawn/sandbox/netguard"
	"fawn/uploads/convert"
)

// canary stands for a key that must not be told to anybody but its service.
const canary = "sk-canary-0123456789"

// world is a Service with a person's settings, a clock and a log.
type world struct {
	t    *testing.T
	s    *community.Service
	set  community.Settings
	env  map[string]string
	now  time.Time
	turn *agent.Turn

	mu  sync.Mutex
	log strings.Builder
}

// Write takes log lines.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func newWorld(t *testing.T, change func(*community.Config)) *world {
	w := &world{t: t, env: map[string]string{}, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		turn: agenttest.Turn("hello", &agenttest.Sink{})}
	w.set = community.Settings{Fallback: true, Env: func(n string) (string, bool) { v, ok := w.env[n]; return v, ok }}
	c := community.Config{
		Settings: func() community.Settings { return w.set },
		Now:      func() time.Time { return w.now },
		Log:      slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Convert:  inProcess,
	}
	if change != nil {
		change(&c)
	}
	w.s = community.New(c)
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if strings.Contains(w.log.String(), canary) {
			t.Errorf("the log has a key: %s", w.log.String())
		}
	})
	return w
}

// inProcess converts like the program does in a process of its own.
func inProcess(_ context.Context, name string, data []byte) (string, string, error) {
	res, err := convert.Convert(name, data, nil)
	var why convert.Reason
	if errors.As(err, &why) {
		return "", string(why), nil
	}
	return res.Markdown, string(res.Partial), err
}

// local opens this machine's loopback to web_fetch; names in own lead to their address.
func local(own map[string]string) func(*community.Config) {
	return func(c *community.Config) {
		c.Guard = func(private []netip.Prefix) *netguard.Guard {
			return &netguard.Guard{AllowPrivate: private, Local: func() ([]netip.Addr, error) { return nil, nil },
				Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
					if a, ok := own[host]; ok {
						return []netip.Addr{netip.MustParseAddr(a)}, nil
					}
					return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
				}}
		}
	}
}

// open lets web_fetch reach a test server.
func (w *world) open(s *httptest.Server) {
	w.set.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	w.set.Ports = append(w.set.Ports, s.Listener.Addr().(*net.TCPAddr).Port)
}

// call runs a tool; whatever it says and shows must not have the canary in it.
func (w *world) call(tool, args string) agent.Result {
	w.t.Helper()
	list := w.s.Tools()
	i := slices.IndexFunc(list, func(t *agent.Tool) bool { return t.Name == tool })
	r, err := list[i].Run(w.t.Context(), w.turn, callOf(tool, args))
	if err != nil {
		w.t.Fatalf("%s(%s): %v", tool, args, err)
	}
	if all := r.Content.String() + string(r.Artifact); strings.Contains(all, canary) {
		w.t.Errorf("%s tells a key: %s", tool, all)
	}
	return r
}

func callOf(tool, args string) agent.ToolCall {
	return agent.ToolCall{ID: "c", Name: tool, Args: json.RawMessage(args)}
}

// remember stores a result in the thread, as a run does.
func (w *world) remember(tool string, r agent.Result) {
	m := r.Message("m"+w.now.String(), agent.ToolCall{ID: "c", Name: tool})
	w.turn.State.Messages = append(w.turn.State.Messages, m)
}

// found are the results of a search as "n title url content", one a line.
func found(t *testing.T, r agent.Result) string {
	t.Helper()
	var out struct {
		Results []struct {
			N                   int
			Title, URL, Content string
			Image               string `json:"image_url"`
			Thumbnail           string `json:"thumbnail_url"`
		}
	}
	if err := json.Unmarshal([]byte(r.Content.String()), &out); err != nil {
		t.Fatalf("%v in %s", err, r.Content)
	}
	var lines []string
	for _, h := range out.Results {
		if h.Image != "" {
			lines = append(lines, strings.Join([]string{h.Title, h.Image, h.Thumbnail}, " "))
			continue
		}
		lines = append(lines, strings.Join([]string{string(rune('0' + h.N)), h.Title, h.URL, h.Content}, " "))
	}
	return strings.Join(lines, "\n")
}

// server answers and remembers what it was asked.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func serve(t *testing.T, h func(w http.ResponseWriter, r *http.Request, body string)) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI()+" "+string(b))
		s.mu.Unlock()
		h(w, r, string(b))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}
