package chain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/sandbox"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestCallsOnOneFileKeepTheOrderOfTheAnswer, while calls on other files run beside them.
func TestCallsOnOneFileKeepTheOrderOfTheAnswer(t *testing.T) {
	w := open(t, func(f *config.File, _ *lead.Options) { f.ReadBeforeWrite.Enabled = false })
	const n = 10
	var turn scriptmodel.Turn
	add := func(name, args string) {
		turn.ToolCalls = append(turn.ToolCalls, scriptmodel.Call{Name: name, Args: json.RawMessage(args)})
	}
	var want strings.Builder
	for i := range n {
		add("write_file", fmt.Sprintf(`{"path":"notes.txt","content":"line %d\n","append":true}`, i))
		add("write_file", fmt.Sprintf(`{"path":"other-%d.txt","content":"x"}`, i))
		fmt.Fprintf(&want, "line %d\n", i)
	}
	add("str_replace", `{"path":"/mnt/user-data/workspace/notes.txt","old_str":"line 9","new_str":"line nine"}`)
	add("str_replace", `{"path":"./notes.txt","old_str":"line nine","new_str":"the last line"}`)
	add("read_file", `{"path":"notes.txt"}`)
	w.when("write it", turn, say("Done."))
	w.run(t, "write it", "")
	got := w.request(t, 1)
	holds(t, "the last result", got.lines(), strings.Replace(want.String(), "line 9", "the last line", 1), "!rror")
}

// chatty is a provider whose commands write more than a result holds.
type chatty struct{ echoes }

func (chatty) Acquire(context.Context, sandbox.ThreadRef, sandbox.Policy) (sandbox.Sandbox, error) {
	return chattyBox{}, nil
}

type chattyBox struct{ sandbox.Sandbox }

func (chattyBox) Exec(_ context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error) {
	long := strings.Repeat("a line of output\n", 20_000) + "the middle line\n" +
		strings.Repeat("a line of output\n", 20_000)
	if _, err := io.WriteString(req.All, long); err != nil {
		return sandbox.ExecResult{}, err
	}
	return sandbox.ExecResult{Output: []byte(long[:9000] + "\n... [middle truncated] ...\n" + long[len(long)-9000:]),
		Truncated: true}, nil
}

// TestTheFileOfALongOutputHasAllOfIt, as the result says, so that its middle can be found.
func TestTheFileOfALongOutputHasAllOfIt(t *testing.T) {
	w := open(t, func(_ *config.File, o *lead.Options) { o.Sandbox = chatty{} })
	w.when("make noise", call("bash", `{"command":"make noise"}`), say("Done."))
	w.run(t, "make noise", "")
	result := w.request(t, 1)
	holds(t, "the result", result.lines(), "too long to show: 680016 bytes",
		"[All 680016 bytes of the output are in /mnt/user-data/outputs/.tool-results/bash-", "in 40001 lines")
	webtest.Same(t, "the note is there … times", strings.Count(result.lines(), "[All "), 1)
	_, at, _ := strings.Cut(result.lines(), "of the output are in /")
	at, _, _ = strings.Cut(at, "]")
	file := w.send(t, "GET", "/api/threads/t1/artifacts/"+at, "")
	if len(file) != 680016 || !strings.Contains(file, "\nthe middle line\n") {
		t.Errorf("the file has %d bytes", len(file))
	}
}
