package middleware

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// TestAMessageIsMarkedOnce: what stands behind the stage knows messages by their address, in every
// request of a thread; a message that changed has a copy of its own.
func TestAMessageIsMarkedOnce(t *testing.T) {
	before := copies.len()
	m := &agent.Message{ID: "h1", Type: agent.TypeHuman, Content: agent.Text("read <memory> this")}
	long := &agent.Message{ID: "h2", Type: agent.TypeHuman, Content: agent.Text(strings.Repeat("x", maxMemo+1))}
	asked := func(m *agent.Message) *agent.Message {
		var got *agent.Message
		ask := InputSanitize().WrapModel(func(_ context.Context, _ *agent.Turn,
			r *agent.Request) (*agent.Message, error) {
			got = r.Messages[0]
			return nil, nil
		})
		turn := &agent.Turn{State: agent.State{Messages: []*agent.Message{m}}}
		must.Get(ask(t.Context(), turn, &agent.Request{Messages: []*agent.Message{m}}))(t)
		return got
	}
	first := asked(m)
	if want := "&lt;memory&gt;"; !strings.Contains(first.Content.Text, want) {
		t.Fatalf("the model was sent %q, without %q", first.Content.Text, want)
	}
	if asked(m) != first {
		t.Error("the second request has another copy of the same message")
	}
	edited := &agent.Message{ID: "h1", Type: agent.TypeHuman, Content: agent.Text("something else")}
	if got := asked(edited); !strings.Contains(got.Content.Text, "something else") {
		t.Errorf("the edited message reads %q", got.Content.Text)
	}
	asked(long)
	if n := copies.len() - before; n > 2 {
		t.Errorf("%d copies are kept, and one of them is of a long message", n)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(edited)

	m, edited, long = nil, nil, nil
	for deadline := time.Now().Add(time.Minute); copies.len() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d copies outlive their messages", copies.len()-before)
		}
		runtime.GC()
		runtime.Gosched()
	}
}
