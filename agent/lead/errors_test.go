package lead_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/llm/llmerr"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// quick makes waits between calls short.
func quick(f *config.File, _ *lead.Options) {
	f.LLMCall.Base, f.LLMCall.Cap, f.LLMCall.BurstBase = time.Millisecond, 2*time.Millisecond, time.Millisecond
}

func failing(class string, status int) agenttest.Reply {
	return agenttest.Reply{Err: &llmerr.Error{Status: status, Class: class, Message: "that is how it is"}}
}

// TestEachKindOfFailureEndsInTheRightWay: what may pass is tried again, what will not is
// not, what was seen is kept, and every end has words for people.
func TestEachKindOfFailureEndsInTheRightWay(t *testing.T) {
	half := agenttest.Reply{Chunks: []agent.Chunk{{Text: "half an "}},
		Err: &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrCut}}
	call := agenttest.Reply{Chunks: []agent.Chunk{{Calls: []agent.CallDelta{{ID: "c", Name: "ls", Args: `{"pa`}}}},
		Err: &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrCut}}
	early := agenttest.Reply{Chunks: []agent.Chunk{{Model: "m"}, {Usage: &agent.Usage{Input: 1}}},
		Err: &llmerr.Error{Class: llmerr.ClassBusy, Status: 503}}
	bursting := agenttest.Reply{Err: &llmerr.Error{Status: 429, Class: llmerr.ClassBurst, Code: "limit_burst_rate",
		Message: "that is how it is"}}
	idle := agenttest.Reply{Err: &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrIdle}}
	for _, c := range []struct {
		name         string
		reply        agenttest.Reply
		calls        int // until the run gives up
		error, words string
	}{
		{"out of credit", failing(llmerr.ClassQuota, 429), 1, "ModelQuota", "no credit left"},
		{"wrong key", failing(llmerr.ClassAuth, 401), 1, "ModelAuth", "does not accept the key"},
		{"refused", failing(llmerr.ClassInvalid, 400), 1, "ModelError", "refuses the request"},
		{"generic", failing(llmerr.ClassGeneric, 0), 1, "ModelError", "failed"},
		{"too many calls", failing(llmerr.ClassBurst, 429), 3, "ModelBusy", "too many requests"},
		{"calls that come too fast", bursting, 2, "ModelBusy", "too many requests"},
		{"silent", idle, 2, "ModelUnreachable", "stopped responding"},
		{"overloaded", failing(llmerr.ClassBusy, 529), 3, "ModelBusy", "overloaded"},
		{"unreachable", failing(llmerr.ClassNetwork, 0), 3, "ModelUnreachable", "cannot be reached"},
		{"nothing seen yet", early, 3, "ModelBusy", "overloaded"},
		{"cut after some words", half, 1, "ModelUnreachable", "cut off"},
		{"cut inside a call", call, 1, "ModelUnreachable", "cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, []agenttest.Reply{c.reply, c.reply, c.reply, c.reply}, quick)
			run := w.say(t, "go", "")
			if run.Status != runs.Failed || !strings.Contains(run.Error, c.words) ||
				len(w.script.Requests()) != c.calls {
				t.Fatalf("%s after %d calls: %s", run.Status, len(w.script.Requests()), run.Error)
			}
			if c.reply.Err.(*llmerr.Error).Message != "" && !strings.Contains(run.Error, "that is how it is") {
				t.Errorf("the provider's own words are missing: %s", run.Error)
			}
			var retries int
			for _, e := range w.events(t, run.ID) {
				var data struct {
					Type, Reason, Message string
					Attempt               int
					Of                    int `json:"max_attempts"`
					Wait                  int `json:"wait_ms"`
				}
				if err := json.Unmarshal([]byte(e), &data); err == nil && data.Type == "llm_retry" {
					retries++
					if data.Attempt != retries || data.Of != c.calls || data.Reason == "" ||
						!strings.Contains(data.Message, c.words) {
						t.Errorf("event %s", e)
					}
				}
			}
			if retries != c.calls-1 {
				t.Errorf("%d events about %d more calls", retries, c.calls-1)
			}
			failure := w.failure(t, run.ID)
			if failure.Name != c.error {
				t.Errorf("error %+v", failure)
			}
			s := w.state(t)
			last := s.Messages[len(s.Messages)-1]
			switch {
			case c.name == "cut after some words":
				if last.Content.Text != "half an " || last.Flag(agent.ErrorFallback) {
					t.Errorf("last %+v", last)
				}
			case c.name == "cut inside a call":
				if last.Type != agent.TypeHuman {
					t.Errorf("last %+v", last)
				}
			case !last.Flag(agent.ErrorFallback) || last.Kwargs["error_reason"] == "" ||
				!strings.Contains(last.Content.Text, c.words):
				t.Errorf("last %+v", last)
			}
			before := len(w.script.Requests())
			w.script.Replies = nil
			if run := w.say(t, "again", ""); run.Status != runs.Success ||
				strings.Contains(lines(w.request(t, before)), c.words) {
				t.Errorf("%s; the model read\n%s", run.Status, lines(w.request(t, before)))
			}
		})
	}
}

// TestAFailureThatPassesIsNotSeen: the answer comes with the next try, under one id.
func TestAFailureThatPassesIsNotSeen(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{failing(llmerr.ClassBusy, 503), failing(llmerr.ClassNetwork, 0),
		agenttest.Say("Here.")}, quick)
	run := w.say(t, "go", "")
	s := w.state(t)
	if run.Status != runs.Success || len(s.Messages) != 2 || s.Messages[1].Content.Text != "Here." {
		t.Errorf("%s\n%s", run.Status, texts(s))
	}
}

// TestNotesAreNotLostOrDoubledByARetry: what stages add to one request is in each try once.
func TestNotesAreNotLostOrDoubledByARetry(t *testing.T) {
	same := agenttest.Call("c", "ls", `{"path":"/mnt/user-data/uploads"}`)
	w := newWorld(t, []agenttest.Reply{same, same, same, failing(llmerr.ClassBusy, 503), failing(llmerr.ClassBusy, 503),
		agenttest.Say("Here."), agenttest.Say("More.")}, quick)
	w.say(t, "go", "")
	for i := 3; i < 6; i++ {
		if n := strings.Count(lines(w.request(t, i)), "loop_warning"); n != 1 {
			t.Errorf("try %d has %d warnings", i-2, n)
		}
	}
}

// TestAFailingModelIsLeftAlone: after five failures in a row no call is made for a while,
// runs say so at once, and one call tries whether it works again.
func TestAFailingModelIsLeftAlone(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{
		failing(llmerr.ClassBusy, 503), failing(llmerr.ClassBusy, 503), failing(llmerr.ClassBusy, 503),
		failing(llmerr.ClassBusy, 503), failing(llmerr.ClassBusy, 503),
	}, quick, func(f *config.File, _ *lead.Options) { f.CircuitBreaker.Rest = time.Hour })
	w.say(t, "one", "")
	run := w.say(t, "two", "")
	n := len(w.script.Requests())
	if n != 5 || run.Status != runs.Failed || !strings.Contains(run.Error, "left alone") {
		t.Fatalf("%d calls, %s", n, run.Error)
	}
	run = w.say(t, "three", "")
	if n := len(w.script.Requests()); n != 5 || w.failure(t, run.ID).Name != "ModelCircuitOpen" {
		t.Errorf("%d calls, %s", n, run.Error)
	}
}

// TestARefusalIsNoReasonToLeaveAModelAlone: it answers, and not all runs ask the same.
func TestARefusalIsNoReasonToLeaveAModelAlone(t *testing.T) {
	var replies []agenttest.Reply
	for range 12 {
		replies = append(replies, failing(llmerr.ClassInvalid, 400))
	}
	w := newWorld(t, replies, quick)
	for range 12 {
		w.say(t, "go", "")
	}
	if n := len(w.script.Requests()); n != 12 {
		t.Errorf("%d calls", n)
	}
}

// TestWaitsAreWhatTheProviderAsksFor, in a time that does not pass by itself.
func TestWaitsAreWhatTheProviderAsksFor(t *testing.T) {
	for _, c := range []struct {
		name     string
		err      *llmerr.Error
		from, to time.Duration
	}{
		{"it says when", &llmerr.Error{Class: llmerr.ClassBurst, Status: 429, RetryAfter: 7 * time.Second}, 7 * time.Second, 7 * time.Second},
		{"it says too long", &llmerr.Error{Class: llmerr.ClassBusy, Status: 503, RetryAfter: time.Hour}, 2 * time.Minute, 2 * time.Minute},
		{"it does not say", &llmerr.Error{Class: llmerr.ClassBusy, Status: 503}, time.Second, 3 * time.Second},
		{"too many calls", &llmerr.Error{Class: llmerr.ClassBurst, Status: 429}, 5 * time.Second, 8 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stage := llmErrors(t)
				turn := agenttest.Turn("go", &agenttest.Sink{})
				model := &agenttest.Script{Replies: []agenttest.Reply{{Err: c.err}, agenttest.Say("Here.")}}
				a := &agent.Agent{Model: model, Chain: []agent.Middleware{stage}}
				start := time.Now()
				must.Get(a.Run(t.Context(), turn))(t)
				if took := time.Since(start); took < c.from || took > c.to {
					t.Errorf("waited %s, want %s to %s", took, c.from, c.to)
				}
			})
		})
	}
}

// llmErrors is the stage as a run with the default configuration has it.
func llmErrors(t *testing.T) agent.Middleware {
	t.Helper()
	b, _ := builder(t, nil)
	a := must.Get(b.Build(t.Context(), runs.Spec{ThreadID: "t1", RunID: "r1", Options: &agent.Options{}}))(t)
	for _, m := range a.Chain {
		if m.Name == "llm_errors" {
			return m
		}
	}
	t.Fatal("the stage is missing")
	return agent.Middleware{}
}

// failure is what readers of a failed run are told.
func (w *world) failure(t *testing.T, run string) runevent.Failure {
	t.Helper()
	r := must.Get(w.m.Follow(t.Context(), run))(t)
	var f runevent.Failure
	for after := int64(0); ; {
		evs := must.Get(r.Next(t.Context(), after))(t)
		if evs == nil {
			return f
		}
		for _, e := range evs {
			if e.Kind == runevent.KindError {
				must.Do(t, json.Unmarshal(e.Data, &f))
			}
		}
		after = evs[len(evs)-1].To
	}
}

// TestAnUnknownAgentEndsTheRun before any model is asked; the lead agent has several names.
func TestAnUnknownAgentEndsTheRun(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{agenttest.Say("one"), agenttest.Say("two"), agenttest.Say("three")})
	run := w.say(t, "hi", `{"agent_name":"nobody"}`)
	if run.Status != runs.Failed || !strings.Contains(run.Error, `"nobody"`) || len(w.script.Requests()) != 0 {
		t.Errorf("%s %q, %d requests", run.Status, run.Error, len(w.script.Requests()))
	}
	var unknown *lead.UnknownAgentError
	_, err := w.b.Build(t.Context(), runs.Spec{Options: &agent.Options{AgentName: "nobody"}})
	if !errors.As(err, &unknown) || unknown.ErrorName() != "UnknownAgent" {
		t.Errorf("built with %v", err)
	}
	for _, name := range []string{"", "lead_agent", "Lead-Agent", "default"} {
		if err := lead.CheckAgent(nil, "default", agent.Options{AgentName: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if run := w.say(t, "hi", `{"agent_name":"lead-agent"}`); run.Status != runs.Success {
		t.Errorf("%s %s", run.Status, run.Error)
	}
}
