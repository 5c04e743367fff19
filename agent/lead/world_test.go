package lead_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/sandbox/files"
	"fawn/store"
)

// world is the real chain, tools, runs and store around a scripted model.
type world struct {
	db     *store.DB
	m      *runs.Manager
	b      *lead.Builder
	script *agenttest.Script
	dirs   files.Dirs
	log    *agenttest.Log
}

// setup changes what a world is made of before it is made.
type setup func(*config.File, *lead.Options)

// world makes a server without HTTP whose model, named "m", gives these answers. Titles
// are off unless a setup turns them on: their call would take one of the answers.
func newWorld(t *testing.T, replies []agenttest.Reply, change ...setup) *world {
	t.Helper()
	w := &world{script: &agenttest.Script{Replies: replies}, log: &agenttest.Log{}}
	dir := t.TempDir()
	log := slog.New(slog.NewTextHandler(w.log, nil))
	file := config.Default()
	file.Models = []config.Model{{Name: "m", Use: "openai", ContextWindow: 100_000}}
	file.Title.Enabled = false
	o := lead.Options{Model: func(config.Model) (agent.Model, error) { return w.script, nil }}
	for _, f := range change {
		f(&file, &o)
	}
	var err error
	if w.db, err = store.Open(t.Context(), store.Config{Dir: dir, Log: log}); err != nil {
		t.Fatal(err)
	}
	w.dirs = files.Dirs{Root: dir}
	w.b = lead.NewWith(config.Fixed(&config.Snapshot{File: file}).Current, w.dirs, log, o)
	w.m = runs.New(runs.Config{DB: w.db, Build: w.b.Build, Log: log})
	must.Do(t, w.m.Recover(t.Context()))
	t.Cleanup(func() {
		w.m.Close()
		w.b.Close()
		must.Report(t, w.db.Close())
		if t.Failed() {
			t.Logf("log:\n%s", w.log)
		}
	})
	return w
}

// say sends a message to thread t1 with options of the run, and waits for the end.
func (w *world) say(t *testing.T, text, options string) store.Run {
	t.Helper()
	in := must.Get(json.Marshal(map[string]any{"messages": []any{map[string]any{"type": "human", "content": text}}}))(t)
	return w.run(t, in, options)
}

// run starts a run of thread t1 with any input, and waits for the end.
func (w *world) run(t *testing.T, input json.RawMessage, options string) store.Run {
	t.Helper()
	if options == "" {
		options = "{}"
	}
	started := must.Get(w.m.Start(t.Context(), runs.Request{Thread: "t1", Input: input, Context: json.RawMessage(options)}))(t)
	ended := must.Get(w.m.Wait(t.Context(), started.ID))(t)
	return ended
}

// state is the thread as it is stored.
func (w *world) state(t *testing.T) agent.State {
	t.Helper()
	snap := must.Get(w.db.Snapshot(t.Context(), "t1", ""))(t)
	s := must.Get(runs.State(snap))(t)
	return s
}

// head is the newest checkpoint of the thread.
func (w *world) head(t *testing.T) store.Checkpoint {
	t.Helper()
	cp := must.Get(w.db.Checkpoint(t.Context(), "t1", "", ""))(t)
	return cp
}

// request is the nth call the model got, the first is 0.
func (w *world) request(t *testing.T, n int) *agent.Request {
	t.Helper()
	all := w.script.Requests()
	if n >= len(all) {
		t.Fatalf("the model got %d calls, not %d", len(all), n+1)
	}
	return all[n]
}

// events are the custom events of a run, in order.
func (w *world) events(t *testing.T, run string) []string {
	t.Helper()
	r := must.Get(w.m.Follow(t.Context(), run))(t)
	var out []string
	for after := int64(0); ; {
		evs := must.Get(r.Next(t.Context(), after))(t)
		if evs == nil {
			return out
		}
		for _, e := range evs {
			if e.Kind == runevent.KindCustom {
				out = append(out, string(e.Data))
			}
		}
		after = evs[len(evs)-1].To
	}
}

// lines are the messages of a request as "type name: text", one each, without the lines around people's words.
func lines(req *agent.Request) string {
	var out []string
	for _, m := range req.Messages {
		head := m.Type
		if m.Name != "" {
			head += " " + m.Name
		}
		out = append(out, head+": "+m.Content.String())
	}
	return strings.NewReplacer("--- BEGIN USER INPUT ---\n", "",
		"\n--- END USER INPUT ---", "").Replace(strings.Join(out, "\n"))
}

func offers(req *agent.Request, tool string) bool {
	return slices.ContainsFunc(req.Tools, func(t *agent.Tool) bool { return t.Name == tool })
}

// tool is a tool of a test.
func tool(name string, run func(c agent.ToolCall) agent.Result) *agent.Tool {
	return &agent.Tool{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, _ *agent.Turn, c agent.ToolCall) (agent.Result, error) { return run(c), nil }}
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
