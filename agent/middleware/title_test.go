package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/middleware"
	"fawn/sandbox/files"
)

func title(files.Dirs) agent.Middleware { return middleware.Title(middleware.TitleRules{}) }

func TestTitleIsTheFirstWords(t *testing.T) {
	for _, c := range []struct{ name, message, want string }{
		{"short", "Plan a trip", "Plan a trip"},
		{"one line", "  Plan\n\n a   trip\t", "Plan a trip"},
		{"exactly 50", strings.Repeat("x", 50), strings.Repeat("x", 50)},
		{"51", strings.Repeat("x", 51), strings.Repeat("x", 50) + "..."},
		{"cut at a space", strings.Repeat("x", 49) + " yy", strings.Repeat("x", 49) + "..."},
		{"characters, not bytes", strings.Repeat("漢", 51), strings.Repeat("漢", 50) + "..."},
		{"empty", "", "New conversation"},
		{"blank", " \n ", "New conversation"},
	} {
		d := newDesk(t, title)
		d.ask(c.message)
		if got := d.turn.State.Title; got == nil || *got != c.want || !utf8.ValidString(*got) {
			t.Errorf("%s: %q, want %q", c.name, *got, c.want)
		}
	}
}

func TestTitleIsWrittenOnceAndOnlyForPeople(t *testing.T) {
	d := newDesk(t, title)
	must.Do(t, d.turn.State.Apply(agent.State{Messages: []*agent.Message{
		{ID: "s", Type: agent.TypeHuman, Name: "summary", Content: agent.Text("earlier")},
		{ID: "n", Type: agent.TypeHuman, Kwargs: map[string]any{"hide_from_ui": true}, Content: agent.Text("hidden")}}}))
	d.goOn()
	if d.turn.State.Title != nil {
		t.Errorf("title = %q though nobody wrote anything", *d.turn.State.Title)
	}
	d.ask("first")
	d.ask("second")
	mine := "My own"
	if *d.turn.State.Title != "first" {
		t.Errorf("title = %q", *d.turn.State.Title)
	}
	must.Do(t, d.turn.State.Apply(agent.State{Title: &mine}))
	d.ask("third")
	if *d.turn.State.Title != mine {
		t.Errorf("title = %q", *d.turn.State.Title)
	}
}

// TestATitleOfALaterNameWinsAndAnEarlierOneDoesNot: a chat that begins anew, as its first message was changed, is named
// anew, unless a person names it meanwhile.
func TestATitleOfALaterNameWinsAndAnEarlierOneDoesNot(t *testing.T) {
	for listed, want := range map[string]string{"old": "anew", "": "old"} {
		d := newDesk(t, func(files.Dirs) agent.Middleware {
			return middleware.Title(middleware.TitleRules{Shown: func(context.Context) string { return "old" }})
		})
		d.turn.Listed = listed
		d.ask("anew")
		if got := *d.turn.State.Title; got != want {
			t.Errorf("the list had %q before: %q, want %q", listed, got, want)
		}
	}
}

// stopSink stops the run with the first word.
type stopSink struct {
	*agenttest.Sink
	stop context.CancelFunc
}

func (s stopSink) Emit(ev agent.Event) {
	s.Sink.Emit(ev)
	s.stop()
}

// TestTitleSurvivesCancel: a thread whose first answer is cut off, or never comes, has its
// name.
func TestTitleSurvivesCancel(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply agenttest.Reply
		early bool // cancelled before the model is called
	}{
		{"in the answer", agenttest.Reply{Chunks: []agent.Chunk{{Text: "half"}}, Hang: true}, false},
		{"before it", agenttest.Reply{Hang: true}, true},
		{"the model fails", agenttest.Reply{Err: errors.New("gone")}, false},
	} {
		d := newDesk(t, title)
		d.model.Replies = []agenttest.Reply{c.reply}
		must.Do(t, d.turn.State.Apply(agent.State{
			Messages: []*agent.Message{{ID: "h", Type: agent.TypeHuman, Content: agent.Text("name me")}},
		}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d.turn.Sink = stopSink{d.sink, cancel}
		d.chain = append(d.chain, agent.Middleware{WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if c.early {
					cancel()
				}
				return next(ctx, t, req)
			}
		}})
		if _, err := (&agent.Agent{Model: d.model, Chain: d.chain}).Run(ctx, d.turn); err == nil {
			t.Errorf("%s: the run did not fail", c.name)
		}
		steps := d.sink.Steps()
		if len(steps) != 1 || steps[0].Patch.Title == nil || *steps[0].Patch.Title != "name me" {
			t.Errorf("%s: %+v", c.name, steps)
		}
	}
}

// TestTitleOfAModel: what it says is cleaned, joins the end when it is there by then, and
// is asked for at 500 characters, not before.
func TestTitleOfAModel(t *testing.T) {
	for _, c := range []struct{ name, says, want string }{
		{"quoted", `"Red and blue."`, "Red and blue"},
		{"thinking", "<think>short\n</think> Red\nand blue", "Red and blue"},
		{"thinking without end", "<think>short", "paint it"},
		{"markup", "# **Red** & <b>", "Red** & <b>"},
		{"too many characters", strings.Repeat("x", 100), strings.Repeat("x", 80)},
		{"too many words", strings.Repeat("x ", 30), strings.TrimSpace(strings.Repeat("x ", 16))},
		{"blank", " \n", "paint it"},
	} {
		asked := 0
		rules := middleware.TitleRules{TitleOptions: middleware.DefaultTitle(), Go: func(f func(context.Context)) {
			f(t.Context())
		},
			Ask:  func(context.Context, string) (string, error) { asked++; return c.says, nil },
			Late: func(context.Context, string, string, string) { t.Errorf("%s: it came late", c.name) }}
		d := newDesk(t, func(files.Dirs) agent.Middleware { return middleware.Title(rules) })
		d.model.Replies = []agenttest.Reply{agenttest.Say(strings.Repeat("a", 499), "a")}
		d.turn.Sink = hearing{d.sink, func() {
			if n := len(d.sink.Events()); n == 1 && asked != 0 || n == 2 && asked != 1 {
				t.Errorf("%s: asked %d times after %d chunks", c.name, asked, n)
			}
		}}
		d.ask("paint it")
		if *d.turn.State.Title != c.want || asked != 1 {
			t.Errorf("%s: %q, asked %d times", c.name, *d.turn.State.Title, asked)
		}
	}
}

type hearing struct {
	*agenttest.Sink
	heard func()
}

func (h hearing) Emit(ev agent.Event) {
	h.Sink.Emit(ev)
	h.heard()
}
