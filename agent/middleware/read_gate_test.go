package middleware_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/middleware"
	"fawn/agent/tools"
	"fawn/sandbox/files"
)

func gateBench(t *testing.T) *bench {
	locks := tools.NewLocks()
	return newBench(t, func(open func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.ReadGate(open, locks.Lock)}
	})
}

const (
	unread  = "Error: write_file blocked — /mnt/user-data/workspace/a.txt exists and is not among what you have read"
	changed = "Error: write_file blocked — /mnt/user-data/workspace/a.txt has changed since you read it"
)

func TestAFileIsOnlyChangedAfterItWasRead(t *testing.T) {
	b := gateBench(t)
	b.put("workspace/a.txt", "one\ntwo\n")
	b.wants(unread, "write_file", arg{"path": "a.txt", "content": "x"})
	b.wants(unread, "write_file", arg{"path": "a.txt", "content": "x", "append": true})
	b.wants("Error: str_replace blocked — /mnt/user-data/workspace/a.txt exists", "str_replace",
		arg{"path": "./a.txt", "old_str": "one", "new_str": "1"})
	if got := b.content("workspace/a.txt"); got != "one\ntwo\n" {
		t.Fatalf("a refused call wrote %q", got)
	}
	b.wants("two\n", "read_file", arg{"path": "/mnt/user-data/workspace/a.txt", "start_line": 2, "end_line": 2})
	b.wants("OK", "str_replace", arg{"path": "../workspace/a.txt", "old_str": "one", "new_str": "1"})
	// A write is no look: what another hand does in between would be lost.
	b.wants("Error: str_replace blocked — /mnt/user-data/workspace/a.txt has changed since you read it", "str_replace",
		arg{"path": "a.txt", "old_str": "two", "new_str": "2"})
	b.wants("1\ntwo\n", "read_file", arg{"path": "a.txt"})
	b.put("workspace/a.txt", "other\n")
	b.wants(changed, "write_file", arg{"path": "a.txt", "content": "x"})
	b.put("workspace/a.txt", "1\ntwo\n")
	b.wants("OK", "write_file", arg{"path": "a.txt", "content": "x"})
	if got := b.content("workspace/a.txt"); got != "x" {
		t.Errorf("content %q", got)
	}
}

func TestTheNewestReadCounts(t *testing.T) {
	b := gateBench(t)
	b.put("workspace/a.txt", "old")
	b.call("read_file", arg{"path": "a.txt"})
	b.put("workspace/a.txt", "new")
	b.call("read_file", arg{"path": "a.txt"})
	b.put("workspace/a.txt", "old")
	b.wants(changed, "write_file", arg{"path": "a.txt", "content": "x"})
}

func TestWhatTheGateCannotJudgePasses(t *testing.T) {
	b := gateBench(t)
	b.wants("OK", "write_file", arg{"path": "new/a.txt", "content": "x"})
	b.wants("Error: File not found", "str_replace", arg{"path": "none", "old_str": "a", "new_str": "b"})
	b.wants("Error: only paths under", "write_file", arg{"path": "/etc/passwd", "content": "x"})
	b.wants("Error: Not a regular file", "write_file", arg{"path": "new", "content": "x"})
	b.wants(`Error: argument "path" is missing`, "write_file", `{}`)
	b.wants("Error: the arguments are not", "write_file", `[]`)
	b.wants("Error: File not found", "read_file", arg{"path": "none"})
	if r := b.call("read_file", arg{"path": "none"}); r.Kwargs != nil {
		t.Errorf("a failed read left %v", r.Kwargs)
	}
	b.put("workspace/large.bin", "")
	must.Do(t, os.Truncate(filepath.Join(b.host, "workspace/large.bin"), 64<<20+1))
	b.wants("OK", "write_file", arg{"path": "large.bin", "content": "x"})
	broken := newBench(t, func(func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{
			middleware.ReadGate(func(string) (*files.Files, error) { return nil, errors.New("no disk") },
				tools.NewLocks().Lock),
		}
	})
	broken.put("workspace/a.txt", "x")
	broken.wants("OK", "write_file", arg{"path": "a.txt", "content": "y"})
}

func TestWhatTheModelNoLongerSeesIsUnread(t *testing.T) {
	for name, view := range map[string]agent.View{
		"before the view": {Summary: "s", From: "atail"},
		"cut":             {Cut: []string{"tc1"}},
	} {
		b := gateBench(t)
		b.put("workspace/a.txt", "x")
		b.call("read_file", arg{"path": "a.txt"})
		must.Do(t, b.turn.State.Apply(agent.State{Messages: []*agent.Message{{ID: "atail", Type: agent.TypeHuman}},
			View: &view}))
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.wants(unread, "write_file", arg{"path": "a.txt", "content": "y"})
		})
	}
	b := gateBench(t)
	b.put("workspace/a.txt", "x")
	b.call("read_file", arg{"path": "a.txt"})
	must.Do(t, b.turn.State.Apply(agent.State{View: &agent.View{From: "gone"}}))
	b.wants("OK", "write_file", arg{"path": "a.txt", "content": "y"})
}

// TestEditsOfOneAnswerAllCount: none of them undoes another. What replaces the whole file would, and another hand's
// change in between is not theirs.
func TestEditsOfOneAnswerAllCount(t *testing.T) {
	b := gateBench(t)
	b.put("workspace/a.txt", "one two three")
	b.call("read_file", arg{"path": "a.txt"})
	run := func(answer, id, tool, args string) string {
		t.Helper()
		c := agent.ToolCall{ID: id, Name: tool, Args: []byte(args)}
		r := must.Get(b.chain[0].WrapTool(b.tools[tool])(t.Context(), b.turn, c))(t)
		return r.Content.Text
	}
	b.turn.State.Messages = append(b.turn.State.Messages, &agent.Message{ID: "answer", Type: agent.TypeAI,
		ToolCalls: []agent.ToolCall{{ID: "e1"}, {ID: "e2"}, {ID: "e3"}, {ID: "e4"}, {ID: "e5"}}})
	for id, args := range map[string]string{"e1": `"one","new_str":"1"`, "e2": `"two","new_str":"2"`} {
		if got := run("answer", id, "str_replace", `{"path":"a.txt","old_str":`+args+`}`); got != "OK" {
			t.Errorf("%s: %s", id, got)
		}
	}
	if got := run("answer", "e3", "write_file", `{"path":"a.txt","content":" four","append":true}`); got != "OK" {
		t.Error(got)
	}
	if got := b.content("workspace/a.txt"); got != "1 2 three four" {
		t.Errorf("content %q", got)
	}
	if got := run("answer", "e4", "write_file", `{"path":"a.txt","content":"x"}`); !strings.HasPrefix(got, changed) {
		t.Errorf("a whole file: %s", got)
	}
	b.put("workspace/a.txt", "three of somebody else")
	const late = "Error: str_replace blocked — /mnt/user-data/workspace/a.txt has changed since you read it"
	if got := run("answer", "e5", "str_replace", `{"path":"a.txt","old_str":"three","new_str":"3"}`); !strings.HasPrefix(got,
		late) {
		t.Errorf("after another hand: %s", got)
	}
}

// TestOnlyOneOfManyChangesPasses: calls of one message run at the same time and all
// have seen the same version.
func TestOnlyOneOfManyChangesPasses(t *testing.T) {
	b := gateBench(t)
	b.put("workspace/a.txt", "start")
	b.call("read_file", arg{"path": "a.txt"})
	var mu sync.Mutex
	var passed []string
	slow := b.tools["write_file"]
	b.tools["write_file"] = func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		mu.Lock()
		passed = append(passed, c.ID)
		mu.Unlock()
		return slow(ctx, t, c)
	}
	var wg sync.WaitGroup
	run := b.chain[0].WrapTool(b.tools["write_file"])
	for i := range 8 {
		wg.Go(func() {
			c := agent.ToolCall{ID: strings.Repeat("c", i+1), Name: "write_file",
				Args: []byte(`{"path":"a.txt","content":"by ` + strings.Repeat("c", i+1) + `"}`)}
			r, err := run(t.Context(), b.turn, c)
			if err != nil || r.IsError == (r.Content.Text == "OK") {
				t.Errorf("%s: %+v %v", c.ID, r, err)
			}
		})
	}
	wg.Wait()
	if len(passed) != 1 || b.content("workspace/a.txt") != "by "+passed[0] {
		t.Errorf("passed %q, content %q", passed, b.content("workspace/a.txt"))
	}
}

func TestTheGateStopsWithTheRun(t *testing.T) {
	b := gateBench(t)
	b.put("workspace/a.txt", "x")
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	for _, name := range []string{"read_file", "write_file"} {
		if _, _, err := b.try(ctx, name, arg{"path": "a.txt", "content": "y"}); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
