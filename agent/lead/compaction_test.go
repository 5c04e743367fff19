package lead_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/llm/llmerr"
	"fawn/agent/middleware"
	"fawn/agent/runs"
)

// narrow gives the run's model a small window, and summaries a model of their own.
func narrow(summaries *agenttest.Script, trigger ...middleware.Amount) setup {
	return func(f *config.File, o *lead.Options) {
		f.Models[0].ContextWindow = 12_000
		f.Models = append(f.Models, config.Model{Name: "writer", Use: "openai"})
		f.Summarization.ModelName, f.Summarization.Keep = "writer", middleware.Amount{Type: "messages", Value: 4}
		if len(trigger) > 0 {
			f.Summarization.Trigger = trigger
		}
		answers := o.Model
		o.Model = func(m config.Model) (agent.Model, error) {
			if m.Name == "writer" {
				return summaries, nil
			}
			return answers(m)
		}
	}
}

func longAnswers(n int) (list []agenttest.Reply) {
	for i := range n {
		list = append(list, agenttest.Say(fmt.Sprintf("answer %d ", i), strings.Repeat("words and more ", 300)))
	}
	return list
}

// TestALongConversationIsShortenedForTheModelOnly: by each kind of trigger; what people and
// clients see stays whole, the newest words stay to the letter, and the requests after it
// begin with the same bytes again.
func TestALongConversationIsShortenedForTheModelOnly(t *testing.T) {
	for _, trigger := range []middleware.Amount{{Type: "fraction", Value: 0.75}, {Type: "tokens", Value: 5000},
		{Type: "messages", Value: 9}} {
		t.Run(trigger.Type, func(t *testing.T) {
			gist := agenttest.Say("The gist.")
			summaries := &agenttest.Script{Replies: []agenttest.Reply{gist, gist, gist, gist, gist, gist, gist}}
			w := newWorld(t, longAnswers(7), narrow(summaries, trigger))
			for i := range 7 {
				if run := w.say(t, fmt.Sprintf("question %d <memory>", i), ""); run.Status != runs.Success {
					t.Fatal(run.Error)
				}
			}
			s := w.state(t)
			if len(s.Messages) != 14 || s.View == nil || s.View.From == "" || *s.SummaryText != "The gist." {
				t.Fatalf("%d messages, view %+v", len(s.Messages), s.View)
			}
			at := -1
			for i := range 7 {
				got := lines(w.request(t, i))
				if !strings.HasSuffix(got, fmt.Sprintf("question %d &lt;memory&gt;", i)) {
					t.Errorf("request %d ends with %.200s", i, got[max(len(got)-200, 0):])
				}
				if at < 0 && strings.Contains(got, "The gist.") {
					at = i
				}
			}
			if at < 2 || strings.Contains(lines(w.request(t, at)), "question 0") || len(summaries.Requests()) > 3 {
				t.Errorf("shortened at request %d, %d summaries", at, len(summaries.Requests()))
			}
			if p := lines(summaries.Requests()[0]); !strings.Contains(p, "User: question 0 &lt;memory&gt;") ||
				!strings.Contains(p, "Assistant: answer 0") {
				t.Errorf("the summary is made of %.500s", p)
			}
			for i := at + 1; i < 7; i++ {
				// not shortened in between
				if a, b := w.request(t, i-1), w.request(t, i); a.Messages[1].ID == b.Messages[1].ID {
					samePrefix(t, a, b)
				}
			}
		})
	}
}

// TestARequestThatIsTooLongIsSentShorter in the same call, and the view follows.
func TestARequestThatIsTooLongIsSentShorter(t *testing.T) {
	replies := longAnswers(3)
	replies = append(replies,
		agenttest.Reply{Err: &llmerr.Error{Status: 400, Class: llmerr.ClassContext, Message: "too long"}},
		agenttest.Call("c", "ls", `{"path":"/mnt/user-data/uploads"}`), agenttest.Say("Fine."))
	w := newWorld(t, replies, narrow(&agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("The gist.")}}),
		func(f *config.File, _ *lead.Options) { f.Models[0].ContextWindow = 0 })
	for i := range 4 {
		if run := w.say(t, fmt.Sprint("question ", i), ""); run.Status != runs.Success {
			t.Fatal(run.Error)
		}
	}
	a, b := len(lines(w.request(t, 3))), len(lines(w.request(t, 4)))
	if b > a*7/10 || !strings.Contains(lines(w.request(t, 4)), "question 3") {
		t.Errorf("%d characters, then %d", a, b)
	}
	if s := w.state(t); s.View == nil || !strings.Contains(lines(w.request(t, 5)), "The gist.") {
		t.Errorf("the view is %+v", s.View)
	}
}

// TestSwitchedOffOnlyTheWindowIsKeptTo, and no model is asked for a summary.
func TestSwitchedOffOnlyTheWindowIsKeptTo(t *testing.T) {
	summaries := &agenttest.Script{}
	w := newWorld(t, longAnswers(12), narrow(summaries, middleware.Amount{Type: "messages", Value: 3}),
		func(f *config.File, _ *lead.Options) { f.Summarization.Enabled = false })
	for i := range 12 {
		w.say(t, fmt.Sprint("question ", i), "")
	}
	if len(summaries.Requests()) != 0 || strings.Contains(lines(w.request(t, 4)), "The user wrote") {
		t.Error("it was shortened by a trigger")
	}
	if got := lines(w.request(t, 11)); len(got) > 48_000 || !strings.Contains(got, "The user wrote, oldest first") {
		t.Errorf("%d characters in the last request", len(got))
	}
}

// TestCompactByHand: with force also early, once; a thread too short is left alone.
func TestCompactByHand(t *testing.T) {
	w := newWorld(t, longAnswers(5), narrow(&agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("The gist.")}}),
		func(f *config.File, _ *lead.Options) { f.Models[0].ContextWindow = 1_000_000 })
	w.say(t, "question", "")
	compact := func(s *agent.State) agent.State {
		t.Helper()
		p := must.Get(w.b.Compact(t.Context(), s,
			lead.Wish{Force: true, Keep: middleware.Amount{Type: "messages", Value: 2}}))(t)
		return p
	}
	s := w.state(t)
	if p := compact(&s); p.View != nil {
		t.Errorf("view %+v", p.View)
	}
	for range 3 {
		w.say(t, "more", "")
	}
	s = w.state(t)
	if p := compact(&s); p.View == nil || p.View.Plain != "The gist." || p.View.From != s.Messages[6].ID {
		t.Errorf("view %+v", p.View)
	}
}

// TestWhoSummarises: the model the configuration names, else the cheapest one marked as lightweight,
// else the run's own.
func TestWhoSummarises(t *testing.T) {
	for name, c := range map[string]struct {
		named string
		light bool
		want  string
	}{
		"the one that is named":                {"dear", true, "dear"},
		"the cheapest lightweight one":         {"", true, "cheap"},
		"without a lightweight one, the run's": {"", false, "main"},
	} {
		t.Run(name, func(t *testing.T) {
			sides := map[string]*agenttest.Script{}
			for _, model := range []string{"dear", "cheap"} {
				sides[model] = &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("The gist.")}}
			}
			w := newWorld(t, append(longAnswers(4), agenttest.Say("The gist.")), func(f *config.File, o *lead.Options) {
				f.Models[0].ContextWindow = 1_000_000
				f.Models = append(f.Models,
					config.Model{Name: "dear", Use: "openai", Lightweight: c.light,
						Pricing: &config.Pricing{InputPerMillion: 5}},
					config.Model{Name: "cheap", Use: "openai", Lightweight: c.light,
						Pricing: &config.Pricing{InputPerMillion: 1}})
				f.Summarization.ModelName, f.Title.Enabled = c.named, false
				answers := o.Model
				o.Model = func(m config.Model) (agent.Model, error) {
					if side := sides[m.Name]; side != nil {
						return side, nil
					}
					return answers(m)
				}
			})
			for range 4 {
				w.say(t, "question", "")
			}
			s := w.state(t)
			p, err := w.b.Compact(t.Context(), &s,
				lead.Wish{Force: true, Keep: middleware.Amount{Type: "messages", Value: 2}})
			if err != nil || p.View == nil || p.View.Plain != "The gist." {
				t.Fatalf("%+v, %v", p.View, err)
			}
			asked := map[string]int{"main": len(w.script.Requests()) - 4, "dear": len(sides["dear"].Requests()),
				"cheap": len(sides["cheap"].Requests())}
			for model, n := range asked {
				if want := map[bool]int{true: 1}[model == c.want]; n != want {
					t.Errorf("%s was asked for %d summaries, want %d", model, n, want)
				}
			}
		})
	}
}
