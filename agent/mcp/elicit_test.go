package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/mcp/ask"
)

// asked begins a call that asks and gives the question.
func (w *world) asked(ctx context.Context, thread string) (*ask.Question, <-chan agent.Result) {
	w.t.Helper()
	done := make(chan agent.Result, 1)
	w.has("s_asks")
	go func() {
		r, err := w.callIn(ctx, thread, "s_asks", map[string]string{"text": ""}, &sink{})
		if err != nil {
			r = agent.ErrorResult(err.Error())
		}
		done <- r
	}()
	var q *ask.Question
	until(w.t, "a question", func() bool {
		if open := w.questions(thread); len(open) > 0 {
			q = open[0]
		}
		return q != nil
	})
	return q, done
}

// questions are the open ones of a thread.
func (w *world) questions(thread string) []*ask.Question {
	w.t.Helper()
	open := must.Get(w.Questions(w.t.Context(), thread))(w.t)
	return open
}

// TestServerAsksThePerson: the call waits for the answer, which must fit, and goes on with it.
func TestServerAsksThePerson(t *testing.T) {
	s := stdio("s", "good")
	s.Env["API_TOKEN"] = canary
	s.Secrets = []string{canary}
	s.CallTimeout = 20 * time.Second // which does not run meanwhile
	w := newWorld(t, s)
	q, done := w.asked(t.Context(), "t")
	if q.Server != "s" || q.Message != "Which size, ****?" || len(q.Fields) != 3 || q.Fields[0].Name != "size" ||
		!q.Fields[0].Required || q.Fields[0].Options[1] != (ask.Option{Value: "m", Title: "Medium"}) ||
		q.Fields[1].Default != "2" || q.Fields[2].Kind != "boolean" || q.Fields[2].Description != "wrap it" {
		t.Errorf("the question is %+v", q)
	}
	for _, bad := range []ask.Reply{{Action: ask.Accept}, {Action: "maybe"},
		{Action: ask.Accept, Content: map[string]any{"size": "xl"}},
		{Action: ask.Accept, Content: map[string]any{"size": "s", "count": 0.0}}} {
		if err := w.Answer(t.Context(), "t", q.ID, bad); !errors.Is(err, ask.ErrContent) {
			t.Errorf("%+v is taken: %v", bad, err)
		}
	}
	if err := w.Answer(t.Context(), "other", q.ID, ask.Reply{Action: ask.Accept}); err != ask.ErrNoQuestion {
		t.Errorf("another thread answers: %v", err)
	}
	good := ask.Reply{Action: ask.Accept, Content: map[string]any{"size": "m", "gift": true}}
	must.Do(t, w.Answer(t.Context(), "t", q.ID, good))
	if r := <-done; r.Content.Text != "accept m 2 true" {
		t.Errorf("the call ends with %q", r.Content.Text)
	}
	if err := w.Answer(t.Context(), "t", q.ID, ask.Reply{Action: ask.Cancel}); err != ask.ErrAnswered {
		t.Errorf("answered twice: %v", err)
	}
	for _, no := range []string{ask.Decline, ask.Cancel} {
		q, done := w.asked(t.Context(), "t")
		refused := ask.Reply{Action: no, Content: map[string]any{"size": "m"}}
		must.Do(t, w.Answer(t.Context(), "t", q.ID, refused))
		if r := <-done; !strings.HasPrefix(r.Content.Text, no+" <nil>") {
			t.Errorf("%s: the call ends with %q", no, r.Content.Text)
		}
	}
	w.noCanary()
}

// TestQuestionsEnd: with their time, with the call, and at once where nobody is there.
func TestQuestionsEnd(t *testing.T) {
	w := newWorld(t, stdio("s", "good"))
	for _, thread := range []string{"nobody", "hurry"} {
		if got := w.says(thread, "s_asks", ""); !strings.HasPrefix(got, "cancel") {
			t.Errorf("in %s the call ends with %q", thread, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, done := w.asked(ctx, "t")
	cancel()
	<-done
	if open := w.questions("t"); len(open) > 0 { // none is shown behind the end of its run
		t.Errorf("after the call %d questions are open", len(open))
	}
}
