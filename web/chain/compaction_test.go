package chain_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/web/e2e/scriptmodel"
)

// summaries tells how many summaries the helper model was asked for.
func (w *world) summaries() (n int) {
	for _, r := range w.model.Requests() { // which are long, so nothing is decoded
		if bytes.Contains(r.Body, []byte(`"model":"helper-1"`)) {
			n++
		}
	}
	return n
}

// compacting has the helper write summaries, by these rules.
func compacting(window, keep int, trigger ...middleware.Amount) setup {
	return func(f *config.File, _ *lead.Options) {
		f.Models[0].ContextWindow = window
		f.Summarization.ModelName, f.Summarization.Trigger = "helper", trigger
		f.Summarization.Keep = middleware.Amount{Type: "messages", Value: float64(keep)}
	}
}

// talk has n turns whose answers have about so many tokens, and hands over the newest
// request that the run's model got in each.
func (w *world) talk(t *testing.T, from, n, tokens int, got func(turn int, r request)) {
	t.Helper()
	for i := from; i < from+n; i++ {
		w.model.When(fmt.Sprintf("question %d.", i), scriptmodel.Script{Turns: []scriptmodel.Turn{
			say(fmt.Sprintf("answer %d. ", i) + strings.Repeat("four", tokens)),
		}})
		w.run(t, fmt.Sprintf("question %d.", i), "")
		for k := len(w.model.Requests()) - 1; ; k-- {
			if r := w.request(t, k); r.Model == "main-1" {
				got(i, r)
				break
			}
		}
	}
}

// TestTheSeedsTriggersMakeNoSummaryInVain: each summary that is asked for is used, there are
// few of them, and what keep says stays to the letter.
func TestTheSeedsTriggersMakeNoSummaryInVain(t *testing.T) {
	for _, c := range []struct {
		name           string
		window, tokens int // of the model, of an answer
		turns, most    int // of the conversation, summaries in it
		trigger        middleware.Amount
	}{
		{"messages", 100_000, 100, 60, 4, middleware.Amount{Type: "messages", Value: 50}},
		{"short messages", 100_000, 5, 60, 4, middleware.Amount{Type: "messages", Value: 50}},
		{"tokens", 100_000, 300, 40, 6, middleware.Amount{Type: "tokens", Value: 4000}},
		{"tokens that keep alone has", 100_000, 600, 30, 5, middleware.Amount{Type: "tokens", Value: 4000}},
		{"a small window", 9_000, 400, 30, 6, middleware.Amount{Type: "fraction", Value: 0.8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const keep = 20
			w := open(t, compacting(c.window, keep, c.trigger))
			w.when("Another model goes on", say("The gist is paint."))
			used := 0
			w.talk(t, 0, c.turns, c.tokens, func(i int, r request) {
				if n := w.summaries(); n > used {
					used = n
					holds(t, "the request after a summary", r.lines(), "The gist is paint.", "!question 0.",
						fmt.Sprintf("question %d.", i))
				}
				first := max(0, i-keep/2+1)
				if kept := fmt.Sprintf("question %d.", first); c.window > 9_000 && !strings.Contains(r.lines(), kept) {
					t.Errorf("request %d has no %q, which keep says", i, kept)
				}
			})
			if used == 0 || used > c.most {
				t.Errorf("%d summaries in %d turns, at most %d are needed", used, c.turns, c.most)
			}
		})
	}
}

// TestASummaryThatFailedIsNotTriedInEachRun, as the thread remembers it.
func TestASummaryThatFailedIsNotTriedInEachRun(t *testing.T) {
	w := open(t, compacting(100_000, 4, middleware.Amount{Type: "messages", Value: 8}))
	w.when("Another model goes on",
		scriptmodel.Turn{Error: &scriptmodel.Failure{Status: 400, Message: "no summaries today"}})
	w.talk(t, 0, 12, 50, func(int, request) {})
	if n := w.summaries(); n < 2 || n > 3 {
		t.Errorf("%d summaries were tried in 12 runs", n)
	}
	w.rules()
	w.when("Another model goes on", say("The gist is paint."))
	var last request
	w.talk(t, 12, 6, 50, func(_ int, r request) { last = r })
	holds(t, "the last request", last.lines(), "The gist is paint.", "!question 0.")
}
