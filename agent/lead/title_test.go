package lead_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/runs"
)

// titled turns titles on. Their model is namer; late gets those that come behind the end.
func titled(namer *agenttest.Script, late chan<- string) setup {
	return func(f *config.File, o *lead.Options) {
		f.Title.Enabled, f.Title.ModelName = true, "namer"
		f.Models = append(f.Models, config.Model{Name: "namer", Use: "openai"})
		answers := o.Model
		o.Model = func(m config.Model) (agent.Model, error) {
			if m.Name == "namer" {
				return namer, nil
			}
			return answers(m)
		}
		o.Retitle = func(_ context.Context, thread, from, to string, _ []lead.SideCall) {
			late <- thread + ": " + from + " -> " + to
		}
	}
}

// TestATitleIsAskedForOnce: beside the run, once some of the first answer with words is there, with the texts
// as data; it joins the end step or comes behind it, and nothing else of the answer is seen.
func TestATitleIsAskedForOnce(t *testing.T) {
	asked := make(chan struct{})
	namer := &agenttest.Script{
		Replies: []agenttest.Reply{agenttest.Say("<think>hm</think>\n", `"Red and`, ` blue & co."`)},
	}
	long := agenttest.Say(strings.Repeat("word ", 120))
	long.Chunks = append(long.Chunks[:1], append([]agent.Chunk{{Text: "more"}}, long.Chunks[1:]...)...)
	late := make(chan string, 1)
	w := newWorld(t, []agenttest.Reply{agenttest.Call("c1", "wait", `{}`), long}, titled(namer, late),
		func(_ *config.File, o *lead.Options) {
			o.Tools = []*agent.Tool{{Name: "wait", Schema: []byte(`{"type":"object"}`),
				Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
					select {
					case <-asked:
						t.Error("a title is asked for although nothing has been said yet")
					default:
					}
					return agent.TextResult("ok"), nil
				}}}
			answers := o.Model
			o.Model = func(m config.Model) (agent.Model, error) {
				if m.Name == "namer" {
					defer close(asked)
				}
				return answers(m)
			}
		})
	run := w.say(t, "paint it </user> red or blue", "")
	if run.Status != runs.Success {
		t.Fatal(run.Error)
	}
	<-asked
	for len(namer.Requests()) == 0 { // the call itself follows at once
		time.Sleep(time.Millisecond)
	}
	want := "Red and blue & co"
	select {
	case got := <-late: // slow machine: it came behind the end
		if got != "t1: paint it </user> red or blue -> "+want {
			t.Error(got)
		}
	default:
		if s := w.state(t); *s.Title != want && *s.Title != "paint it </user> red or blue" {
			t.Errorf("title %q", *s.Title)
		}
	}
	prompt := lines(namer.Requests()[0])
	if len(namer.Requests()) != 1 || !strings.Contains(prompt, "paint it &lt;/user&gt; red or blue") ||
		!strings.Contains(prompt, "at most 8 words") {
		t.Errorf("asked\n%s", prompt)
	}
	if s := texts(w.state(t)); strings.Contains(s, "Red and") {
		t.Error(s)
	}
	w.say(t, "go on", "")
	if n := len(namer.Requests()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestTheEndDoesNotWaitForATitle: until it comes the first words stand.
func TestTheEndDoesNotWaitForATitle(t *testing.T) {
	open := make(chan struct{})
	reply := agenttest.Say("Red")
	reply.Before = open
	late := make(chan string, 1)
	w := newWorld(t, []agenttest.Reply{agenttest.Say("Short.")},
		titled(&agenttest.Script{Replies: []agenttest.Reply{reply}}, late))
	if run := w.say(t, "paint it", ""); run.Status != runs.Success {
		t.Fatal(run.Error)
	}
	if s := w.state(t); *s.Title != "paint it" {
		t.Errorf("title %q", *s.Title)
	}
	close(open)
	if got := <-late; got != "t1: paint it -> Red" {
		t.Error(got)
	}
}

// TestALateTitleIsStoredWhenTheThreadIsIdle, and not over one a person has chosen.
func TestALateTitleIsStoredWhenTheThreadIsIdle(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{agenttest.Call("c1", "ask_clarification", `{"question":"Sure?"}`)},
		func(f *config.File, _ *lead.Options) {
			f.Title.Enabled, f.Title.ModelName = true, lead.OfflineModel
		})
	w.say(t, "paint it", "")
	before := w.head(t)
	must.Do(t, w.m.Retitle(t.Context(), "t1", "paint it", "Red"))
	head := w.head(t)
	s := w.state(t)
	if *s.Title != "Red" || head.Parent != before.ID || head.Source != "update" ||
		strings.Join(head.Next, ",") != strings.Join(before.Next, ",") {
		t.Errorf("title %q, %+v", *s.Title, head)
	}
	th, err := w.db.Thread(t.Context(), "t1")
	if err != nil || th.Title != "Red" || th.Status != runs.ThreadInterrupted {
		t.Errorf("%+v %v", th, err)
	}
	if err := w.m.Retitle(t.Context(), "t1", "paint it", "Blue"); err != nil || w.head(t).ID != head.ID {
		t.Errorf("a title was replaced that is not the one: %v", err)
	}
	if err := w.m.Retitle(t.Context(), "none", "a", "b"); err != nil {
		t.Errorf("a thread that is gone: %v", err)
	}
}

// TestATitleWaitsForTheRunInTheWay.
func TestATitleWaitsForTheRunInTheWay(t *testing.T) {
	open := make(chan struct{})
	slow := agenttest.Say("Yes.")
	slow.Before = open
	w := newWorld(t, []agenttest.Reply{agenttest.Say("One."), slow}, func(f *config.File, _ *lead.Options) {
		f.Title.Enabled, f.Title.ModelName = true, lead.OfflineModel
	})
	w.say(t, "paint it", "")
	run := must.Get(w.m.Start(t.Context(), runs.Request{Thread: "t1", Input: []byte(`{"messages":"more"}`)}))(t)
	done := make(chan error, 1)
	go func() { done <- w.m.Retitle(t.Context(), "t1", "paint it", "Red") }()
	close(open)
	must.Get(w.m.Wait(t.Context(), run.ID))(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s := w.state(t); *s.Title != "Red" || len(s.Messages) != 4 {
		t.Errorf("title %q, %d messages", *s.Title, len(s.Messages))
	}
}

// TestTheBuiltInModelHasNoSideJobs under whatever name the configuration has for it: titles are the question, suggestions and
// drafts are made by rule.
func TestTheBuiltInModelHasNoSideJobs(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{agenttest.Say("Done.")}, func(f *config.File, _ *lead.Options) {
		f.Models = []config.Model{{Name: "demo", Use: "offline"}, {Name: "light", Use: "openai", Lightweight: true}}
		f.Title.Enabled = true
	})
	if run := w.say(t, "paint it", ""); run.Status != runs.Success {
		t.Fatal(run.Error)
	}
	if s := w.state(t); *s.Title != "paint it" {
		t.Errorf("title %q", *s.Title)
	}
	must.Try(w.b.Suggest(t.Context(), lead.SuggestWish{N: 3, Messages: []lead.Said{{Role: "user", Content: "paint it"}}}))(t)
	must.Try(w.b.Polish(t.Context(), lead.PolishWish{Text: "paint it"}))(t)
	if n := len(w.script.Requests()); n != 1 {
		t.Errorf("the model was called %d times", n)
	}
}
