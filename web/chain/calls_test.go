package chain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web/e2e/scriptmodel"
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
