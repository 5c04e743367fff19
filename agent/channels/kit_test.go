package channels_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"mime/multipart"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
)

// hangs counts the answers that stopped in their middle, with their words said.
var hangs atomic.Int64

// modelOf is a model whose calls are made by a function.
type modelOf func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool)

func (f modelOf) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) { f(ctx, req, yield) }
}

// parrot repeats the human messages since its last answer. What they begin with makes it do other things.
func parrot(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	var asked []string
	called := false
	for _, m := range req.Messages {
		switch m.Type {
		case agent.TypeHuman:
			asked = append(asked, m.Content.String())
		case agent.TypeTool:
			called = true
		case agent.TypeAI:
			if len(m.ToolCalls) == 0 {
				asked, called = nil, false
			}
		}
	}
	text := strings.Join(asked, " + ")
	call := func(name, args string) {
		yield(agent.Chunk{Calls: []agent.CallDelta{{ID: "c" + agentID(), Name: name, Args: args}}}, nil)
		yield(agent.Chunk{Finish: "tool_calls"}, nil)
	}
	switch {
	case strings.HasPrefix(text, "file") && !called:
		call("make", `{}`)
		return
	case strings.HasPrefix(text, "slow"):
		select {
		case <-ctx.Done():
			yield(agent.Chunk{}, ctx.Err())
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, word := range strings.SplitAfter("re: "+text, " ") {
		if !yield(agent.Chunk{Text: word}, nil) {
			return
		}
	}
	switch {
	case strings.HasPrefix(text, "hang"):
		hangs.Add(1)
		<-ctx.Done()
		yield(agent.Chunk{}, ctx.Err())
	case strings.HasPrefix(text, "fail"):
		yield(agent.Chunk{}, errors.New("the provider is gone"))
	default:
		yield(agent.Chunk{Finish: "stop"}, nil)
	}
}

func agentID() string { return strings.ReplaceAll(time.Now().Format("150405.000000000"), ".", "") }

// world is a server with one bot, without a web.
type world struct {
	provider string
	db       *store.DB
	runs     *runs.Manager
	hub      *channels.Hub
	dirs     files.Dirs
	tasks    *schedule.Scheduler
	stop     context.CancelFunc // of tasks
	done     chan struct{}
}

type setup struct {
	provider string // telegram unless said
	dir      string
	bot      chat.Channel
	settings func(*channels.Settings)
	observer channels.Observer
	model    agent.Model
	tasks    bool // scheduled tasks start
	listen   func(ctx context.Context, name string, audio io.Reader) (string, error)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func loud() *slog.Logger {
	if os.Getenv("FAWN_TEST_LOUD") == "" {
		return quiet()
	}
	return slog.Default()
}

// open starts a server; its parts are closed in order by close.
func open(ctx context.Context, s setup) (*world, error) {
	db, err := store.Open(ctx, store.Config{Dir: s.dir, Log: quiet()})
	if err != nil {
		return nil, err
	}
	if s.provider == "" {
		s.provider = "telegram"
	}
	w := &world{provider: s.provider, db: db, dirs: files.Dirs{Root: s.dir}}
	if s.model == nil {
		s.model = modelOf(parrot)
	}
	tool := &agent.Tool{Name: "make", Run: w.make}
	w.runs = runs.New(runs.Config{DB: db, Log: quiet(), Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		return &agent.Agent{Model: s.model, Tools: []*agent.Tool{tool}}, nil
	}})
	if err := w.runs.Recover(ctx); err != nil {
		return nil, err
	}
	w.begin(s)
	w.schedule(s.tasks)
	return w, nil
}

// begin starts the hub.
func (w *world) begin(s setup) {
	w.hub = channels.New(channels.Config{DB: w.db, Runs: w.runs, Log: loud(), Save: w.save, Open: w.openFile,
		Models: func(context.Context, string) []string { return []string{"small", "large"} }, Observer: s.observer, Listen: s.listen})
	set := channels.Settings{Bots: []channels.Bot{{Provider: w.provider, Name: w.provider, Allowed: []string{"*"},
		Stamp: "1", Open: func() (chat.Channel, error) { return s.bot, nil }}}}
	if s.settings != nil {
		s.settings(&set)
	}
	w.hub.Apply(set)
}

// schedule makes the scheduler; on starts what is due.
func (w *world) schedule(on bool) {
	w.tasks = schedule.New(schedule.Config{DB: w.db, Runs: w.runs, Log: loud(), Poll: 10 * time.Millisecond,
		Plan: func(ctx context.Context, c store.Cron, thread, failed string) (store.Outbound, error) {
			d, _ := channels.ParseDestination(c.Deliver)
			return w.hub.Plan(ctx, d, channels.Result{Owner: c.Owner, Thread: thread, Task: c.Title, Failed: failed})
		}, Deliver: w.hub.Deliver})
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.done = stop, make(chan struct{})
	go func() {
		defer close(w.done)
		if on {
			w.tasks.Run(ctx)
		}
	}()
}

func start(t testing.TB, s setup) *world {
	t.Helper()
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	w := must.Get(open(t.Context(), s))(t)
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	if w.db == nil {
		return
	}
	w.stop()
	<-w.done
	w.tasks.Close()
	w.hub.Close()
	w.runs.Close()
	_ = w.db.Close()
	w.db = nil
}

// make writes a file and presents it.
func (w *world) make(ctx context.Context, t *agent.Turn, _ agent.ToolCall) (agent.Result, error) {
	if err := w.dirs.Create(t.ThreadID); err != nil {
		return agent.Result{}, err
	}
	tree, err := w.dirs.Open(t.ThreadID)
	if err != nil {
		return agent.Result{}, err
	}
	defer tree.Close()
	if err := tree.WriteFile(ctx, files.Outputs+"/a.txt", []byte("made"), false); err != nil {
		return agent.Result{}, err
	}
	r := agent.TextResult("done")
	r.Patch.Artifacts = []string{files.Outputs + "/a.txt"}
	return r, nil
}

func (w *world) save(ctx context.Context, thread string, form *multipart.Reader) (uploads.Result, error) {
	if err := w.dirs.Create(thread); err != nil {
		return uploads.Result{}, err
	}
	tree, err := w.dirs.Open(thread)
	if err != nil {
		return uploads.Result{}, err
	}
	defer tree.Close()
	return uploads.Save(ctx, tree, thread, form, uploads.Default())
}

func (w *world) openFile(thread, path string) (io.ReadCloser, int64, error) {
	tree, err := w.dirs.Open(thread)
	if err != nil {
		return nil, 0, err
	}
	defer tree.Close()
	f, info, err := tree.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// texts are the messages of the thread of a chat, as "type:text".
func (w *world) texts(t *testing.T, chatID, topic string) (out []string) {
	t.Helper()
	c := must.Get(w.db.ChannelChat(t.Context(), "telegram", chatID, topic))(t)
	snap := must.Get(w.db.Snapshot(t.Context(), c.Thread, ""))(t)
	st := must.Get(runs.State(snap))(t)
	for _, m := range st.Messages {
		out = append(out, m.Type+":"+m.Content.String())
	}
	return out
}

// settled waits until nothing is open any more.
func (w *world) settled(t testing.TB) {
	t.Helper()
	until(t, func() string {
		open := must.Get(w.open(t.Context()))(t)
		if n := w.hub.Loads()[w.provider].Open; open == "" && n > 0 { // its rows are settled a moment before its end
			return fmt.Sprint(n, " deliveries are not over")
		}
		return open
	})
}

// open names what is not done with, if anything.
func (w *world) open(ctx context.Context) (string, error) {
	lines, err := w.db.OpenLines(ctx, w.provider)
	if err != nil {
		return "", err
	}
	answers, err := w.db.OpenAnswers(ctx, w.provider)
	if err != nil || len(lines)+len(answers) == 0 {
		return "", err
	}
	out, err := json.Marshal([]any{lines, answers})
	return "still open: " + string(out), err
}
