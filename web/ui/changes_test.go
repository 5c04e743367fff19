package ui_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

// TestAnAnswerEndsWithWhatItsRunMade: files that were not handed over have cards too, behind those
// that were, and what changed in them is one click away.
func TestAnAnswerEndsWithWhatItsRunMade(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "write_file", `{"path":"/mnt/user-data/workspace/draft.txt","content":"<b>one</b>\n"}`,
			"c2", "write_file", `{"path":"/mnt/user-data/outputs/quiet.md","content":"# Quiet\n"}`,
			"c3", "write_file", `{"path":"/mnt/user-data/outputs/shown.md","content":"# Shown\n"}`),
		agenttest.Call("c4", "present_files", `{"filepaths":["/mnt/user-data/outputs/shown.md"]}`),
		agenttest.Say("Done."),
		agenttest.Say("Only words."),
	}})
	w.begin("t1", "Make files")
	w.settle("t1")
	page := w.page("/workspace/chats/t1")
	at := -1
	for _, name := range []string{"shown.md", "quiet.md", "draft.txt", "3 files changed"} {
		next := strings.LastIndex(page, name)
		if next < at || next < 0 {
			t.Errorf("%s is not in its place", name)
		}
		at = next
	}
	_, rest, ok := strings.Cut(page, `data-panel="/ui/threads/t1/changes/`)
	run, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatal("no way to what changed")
	}
	for _, a := range []answer{w.get("/ui/threads/t1/changes/"+run, script()...),
		w.get("/workspace/chats/t1/changes/" + run)} {
		for _, want := range []string{"What changed", "workspace/draft.txt", "<ins>+ &lt;b&gt;one&lt;/b&gt;</ins>",
			"outputs/quiet.md", "created"} {
			a.want(t, fmt.Sprintf("without %q", want), http.StatusOK, want)
		}
	}
	list := w.get("/ui/threads/t1/panel", script()...).body
	webtest.Holds(t, "the list of files has only those handed over", list, "quiet.md", "draft.txt")
	w.begin("t2", "Just talk")
	w.settle("t2")
	if page := w.page("/workspace/chats/t2"); strings.Contains(page, "changed") && strings.Contains(page, "/changes/") {
		t.Error("a run that changed nothing says that it did")
	}
	for _, path := range []string{"/ui/threads/t2/changes/" + run, "/ui/threads/t1/changes/none",
		"/ui/threads/none/changes/" + run} {
		w.get(path, script()...).want(t, path, http.StatusNotFound)
	}
}
