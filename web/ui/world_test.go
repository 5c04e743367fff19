package ui_test

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/agent/middleware"
	"fawn/agent/profile"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/agent/skills"
	"fawn/agent/tools"
	"fawn/memory"
	"fawn/sandbox/changes"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
	"fawn/web/ui"
	"fawn/web/ui/page"
	"fawn/web/webtest"
)

// world is the pages over a real store and manager, behind a real HTTP server. Its agent
// has the real file tools and a scripted model.
type world struct {
	extra []*agent.Tool // beside the usual ones
	*testing.T
	ui       *ui.UI
	db       *store.DB
	runs     *runs.Manager
	dirs     files.Dirs
	config   *config.Store
	schedule *schedule.Scheduler
	agents   *profile.Library
	skills   *skills.Library
	memory   *memory.Service
	model    agent.Model
	aside    *adviser
	url      string
	handler  http.Handler // behind url
	draining context.Context
	drain    context.CancelFunc
	chain    []agent.Middleware  // in front of the usual one
	helpers  chan map[string]any // what a helper tells that waits
	client   *http.Client
}

func open(t *testing.T, model agent.Model, conf ...*config.Snapshot) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	w := &world{T: t, dirs: files.Dirs{Root: dir}, model: model, aside: &adviser{}}
	w.draining, w.drain = context.WithCancel(context.Background())
	t.Cleanup(w.drain)
	var err error
	if w.db, err = store.Open(t.Context(), store.Config{Dir: dir, Log: log}); err != nil {
		t.Fatal(err)
	}
	kit := append(tools.Builtin(w.dirs.Open, tools.DefaultLimits(), uploads.NoDocuments{}), agenttest.Echo("echo"),
		tools.Todos(), w.sendsHelpers())
	w.runs = runs.New(runs.Config{DB: w.db, Log: log, Watch: changes.New(w.dirs), Remove: w.dirs.Remove,
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
			return &agent.Agent{Model: w.model, Tools: append(slices.Clone(kit), w.extra...),
				Chain: append(slices.Clone(w.chain), w.prepare(), name(), middleware.Clarification())}, nil
		}})
	if err := w.runs.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.config, err = config.Open(config.Options{DataDir: dir}, log)
	if err != nil {
		t.Fatal(err)
	}
	if len(conf) > 0 {
		w.config = config.Fixed(conf[0])
	}
	if w.agents, err = profile.Open(dir, store.DefaultOwner); err != nil {
		t.Fatal(err)
	}
	w.skills, err = skills.Open(skills.Options{Path: func() string { return skills.DefaultPath(dir) },
		Shown: skills.ShownPath(dir), Log: log,
		State: func() string { return filepath.Join(dir, "extensions_config.json") }})
	if err != nil {
		t.Fatal(err)
	}
	w.memory = memory.New(memory.Config{DB: w.db, Rules: func() memory.Rules {
		return memory.Rules{Enabled: true, MaxFacts: 4}
	},
		Escape: agent.Escape, Log: log})
	w.schedule = schedule.New(schedule.Config{DB: w.db, Runs: w.runs, Log: log})
	tasks := route.NewTasks(route.TaskParts{DB: w.db, Scheduler: w.schedule, Config: w.config.Current, Agents: w.agents})
	w.ui, err = ui.New(ui.Deps{Site: &page.Site{DB: w.db, Runs: w.runs, Dirs: w.dirs, Config: w.config, Log: log,
		Addr: "127.0.0.1:0"},
		Uploads: func() uploads.Config {
			return uploads.Config{MaxFiles: 3, MaxFileSize: 1 << 16, MaxTotalSize: 1 << 17}
		},
		Version: "test", Tasks: tasks, Agents: w.agents, Skills: w.skills, Memory: w.memory, Aside: w.aside,
		Draining: w.draining})
	if err != nil {
		t.Fatal(err)
	}
	w.ui.SetTick(time.Millisecond)
	w.ui.SetDiscover(func(context.Context) []llm.Found { return nil })
	e := echo.New()
	e.Use(principal.Middleware(principal.Single))
	e.HTTPErrorHandler = w.ui.ErrorHandler(httpx.ErrorHandler(log))
	w.ui.Routes(e.Group(""))
	w.handler = e
	server := httptest.NewServer(e)
	w.url = server.URL
	w.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		w.runs.Close()
		w.schedule.Close()
		w.agents.Close()
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// prepare makes the folders of a thread, name gives it a title with the first answer.
func (w *world) prepare() agent.Middleware {
	return agent.Middleware{Name: "folders", BeforeAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
		return agent.State{}, w.dirs.Create(t.ThreadID)
	}}
}

func name() agent.Middleware {
	return agent.Middleware{Name: "name", AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
		if t.State.Title == nil {
			title := "About: " + agent.LastGenuine(t.State.Messages).Content.String()
			r.Patch.Title = &title
		}
		return nil
	}}
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body string
}

// want fails the test unless a has this status and its body has the parts; those behind a "!" must not be there.
func (a answer) want(t testing.TB, what any, status int, parts ...string) answer {
	t.Helper()
	webtest.Answered(t, what, a.StatusCode, a.body, status, parts...)
	return a
}

// must is want, and ends the test.
func (a answer) must(t testing.TB, what any, status int, parts ...string) answer {
	t.Helper()
	if !webtest.Answered(t, what, a.StatusCode, a.body, status, parts...) {
		t.FailNow()
	}
	return a
}

// holds is want for any status.
func (a answer) holds(t testing.TB, what any, parts ...string) {
	t.Helper()
	webtest.Answered(t, what, a.StatusCode, a.body, a.StatusCode, parts...)
}

func (w *world) do(method, path string, body io.Reader, header ...string) answer {
	w.Helper()
	headers := append([]string{"Accept", "text/html"}, header...)
	resp, text := webtest.Send(w, w.client, method, w.url+path, body, headers...)
	return answer{resp, text}
}

func (w *world) get(path string, header ...string) answer {
	w.Helper()
	return w.do(http.MethodGet, path, nil, header...)
}

// page gets a page and insists that it is one.
func (w *world) page(path string) string {
	w.Helper()
	a := w.get(path)
	if a.StatusCode != http.StatusOK {
		w.Fatalf("GET %s = %d\n%s", path, a.StatusCode, a.body)
	}
	return a.body
}

func (w *world) post(path string, form url.Values, header ...string) answer {
	w.Helper()
	return w.do(http.MethodPost, path, strings.NewReader(form.Encode()),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

// file posts a form with one file, and more fields if there are any.
func (w *world) file(path, name, content string, fields ...string) answer {
	w.Helper()
	body, kind := webtest.Form(w, "file", append(fields, name, content)...)
	return w.do(http.MethodPost, path, strings.NewReader(body), "Content-Type", kind)
}

// script are the headers of the page's own script.
func script() []string { return []string{"X-Fawn", "1", "Accept", "application/json"} }

// begin starts a thread by its first message.
func (w *world) begin(thread, text string) {
	w.Helper()
	a := w.post("/ui/threads", url.Values{"thread": {thread}, "text": {text}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/chats/"+thread {
		w.Fatalf("POST /ui/threads = %d %s\n%s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
}

// settle waits until no run is in progress.
func (w *world) settle(thread string) {
	w.Helper()
	for run := w.runs.Active(thread); run != ""; run = w.runs.Active(thread) {
		if _, err := w.runs.Wait(w.Context(), run); err != nil {
			w.Fatal(err)
		}
	}
}

// typist is a scripted model that types: each chunk is sent in small pieces with pauses.
type typist struct {
	agenttest.Script
	pause time.Duration
}

// pieces of this many bytes, at a rune.
const pieceBytes = 5

func (m *typist) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	inner := m.Script.Stream(ctx, req)
	return func(yield func(agent.Chunk, error) bool) {
		for k, err := range inner {
			if err != nil {
				yield(k, err)
				return
			}
			for _, p := range pieces(k) {
				if !yield(p, nil) {
					return
				}
				select {
				case <-time.After(m.pause):
				case <-ctx.Done():
				}
			}
		}
	}
}

func pieces(k agent.Chunk) []agent.Chunk {
	cut := func(s string) []string {
		var out []string
		for i, r := range []rune(s) {
			if i%pieceBytes == 0 {
				out = append(out, "")
			}
			out[len(out)-1] += string(r)
		}
		return out
	}
	var out []agent.Chunk
	for _, s := range cut(k.Reasoning) {
		out = append(out, agent.Chunk{Reasoning: s})
	}
	for _, s := range cut(k.Text) {
		out = append(out, agent.Chunk{Text: s})
	}
	for _, c := range k.Calls {
		for i, s := range cut(c.Args) {
			d := agent.CallDelta{Index: c.Index, Args: s}
			if i == 0 {
				d.ID, d.Name = c.ID, c.Name
			}
			out = append(out, agent.Chunk{Calls: []agent.CallDelta{d}})
		}
	}
	rest := k
	rest.Reasoning, rest.Text, rest.Calls = "", "", nil
	if rest.Usage != nil || rest.Finish != "" || rest.Model != "" {
		out = append(out, rest)
	}
	return out
}
