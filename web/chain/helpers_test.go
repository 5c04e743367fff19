package chain_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// helping lets runs send helpers.
func helping(_ *config.File, o *lead.Options) { o.Spawn = (*runs.Manager)(nil).Child }

const ultra = `{"subagent_enabled":true}`

// sends is a turn that sends a helper for each prompt.
func sends(prompts ...string) scriptmodel.Turn {
	var parts []string
	for _, p := range prompts {
		args, _ := json.Marshal(map[string]string{"description": "Do " + p, "prompt": p,
			"subagent_type": "general-purpose"})
		parts = append(parts, "task", string(args))
	}
	return call(parts...)
}

// told are the events of helpers in a stream, by type and number of the call, in order.
func told(t *testing.T, stream string) (list []map[string]any) {
	t.Helper()
	for frame := range strings.SplitSeq(stream, "\n\n") {
		if !strings.Contains(frame, "event: custom\n") {
			continue
		}
		_, data, _ := strings.Cut(frame, "data: ")
		data, _, _ = strings.Cut(data, "\n")
		ev := webtest.Decode[map[string]any](t, data)
		if name, _ := ev["type"].(string); strings.HasPrefix(name, "task_") {
			list = append(list, ev)
		}
	}
	return list
}

// kids are the rows of the helpers of the newest run.
func (w *world) kids(t *testing.T) (list []store.Run) {
	t.Helper()
	all, err := w.db.Runs(t.Context(), "t1", "", 1, 0)
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	ids, err := w.db.ChildRuns(t.Context(), all[0].ID)
	must.Do(t, err)
	for _, id := range ids {
		run, err := w.db.Run(t.Context(), id)
		must.Do(t, err)
		list = append(list, run)
	}
	return list
}

func (w *world) tools(t *testing.T) (list []struct {
	Type    string         `json:"type"`
	Content string         `json:"content"`
	Status  string         `json:"status"`
	Kwargs  map[string]any `json:"additional_kwargs"`
}) {
	t.Helper()
	must.Do(t, json.Unmarshal(w.values(t)["messages"], &list))
	kept := list[:0]
	for _, m := range list {
		if m.Type == "tool" {
			kept = append(kept, m)
		}
	}
	return kept
}

// asked are the requests whose conversation begins with a prompt.
func (w *world) asked(t *testing.T, prompt string) (list []request) {
	t.Helper()
	for i := range w.model.Requests() {
		if r := w.request(t, i); strings.Contains(strings.SplitN(r.lines(), "assistant:", 2)[0], prompt) {
			list = append(list, r)
		}
	}
	return list
}

// TestAHelperWorksAndReports: with its own conversation and tools, told of by events, counted in
// its run.
func TestAHelperWorksAndReports(t *testing.T) {
	w := open(t, helping)
	w.when("Compare", sends("job one"), say("They agree."))
	w.when("job one", call("ls", `{"description":"look","path":"/mnt/user-data/workspace"}`), say("One is cheaper."))
	stream := w.run(t, "Compare them", ultra)
	lead, helper := w.asked(t, "Compare"), w.asked(t, "job one")
	if len(lead) != 2 || len(helper) != 2 {
		t.Fatalf("%d and %d requests", len(lead), len(helper))
	}
	holds(t, "the lead's prompt", lead[0].system(), "<subagent_system>", "At most 3 calls of one answer",
		"6 in one run", "- `general-purpose`: ", "- `bash`: ", "!# Your part")
	holds(t, "the helper's prompt", helper[0].system(), "# Your part", "!<subagent_system>", "!# Questions")
	holds(t, "the helper's conversation", helper[0].lines(), "job one", "<current_date>", "!Compare")
	for tool, want := range map[string]bool{"ls": true, "bash": true, "str_replace": true, "task": false,
		"ask_clarification": false, "present_files": false, "list_uploaded_files": false} {
		if helper[0].offers(tool) != want {
			t.Errorf("a helper is offered %s: %v", tool, !want)
		}
	}
	holds(t, "the result", lead[1].lines(), "tool: Task Succeeded. Result: One is cheaper.")
	var names []string
	for i, ev := range told(t, stream) {
		names = append(names, ev["type"].(string))
		if ev["model_name"] != "main" || ev["task_id"] == "" {
			t.Errorf("event %v", ev)
		}
		if ev["type"] == "task_running" && (ev["message_index"] != float64(i) || ev["total_messages"] != float64(i) ||
			ev["message"].(map[string]any)["id"] == "") {
			t.Errorf("event %v", ev)
		}
	}
	webtest.Same(t, "events", strings.Join(names, " "), "task_started task_running task_running task_running task_completed")
	evs := told(t, stream)
	usage := evs[len(evs)-1]["usage"].(map[string]any)
	if evs[len(evs)-1]["result"] != "One is cheaper." || evs[0]["description"] != "Do job one" ||
		evs[2]["message"].(map[string]any)["type"] != "tool" {
		t.Errorf("events %v", evs)
	}
	result := w.tools(t)[0]
	if result.Kwargs["subagent_status"] != "completed" || result.Kwargs["subagent_model_name"] != "main" ||
		result.Kwargs["subagent_result_brief"] != "One is cheaper." ||
		len(result.Kwargs["subagent_result_sha256"].(string)) != 64 ||
		result.Kwargs["subagent_token_usage"].(map[string]any)["total_tokens"] != usage["total_tokens"] {
		t.Errorf("%v", result.Kwargs)
	}
	holds(t, "the ledger", string(w.values(t)["delegations"]), `"status":"completed"`,
		`"result_brief":"One is cheaper."`, `"subagent_type":"general-purpose"`, `"description":"Do job one"`)
	var run struct {
		Total    int `json:"total_tokens"`
		Lead     int `json:"lead_agent_tokens"`
		Subagent int `json:"subagent_tokens"`
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(w.send(t, "GET", "/api/threads/t1/runs", "")), &list); err != nil ||
		len(list) != 1 {
		t.Fatal(err, len(list))
	}
	err := json.Unmarshal(list[0], &run)
	if err != nil || run.Subagent == 0 || float64(run.Subagent) != usage["total_tokens"] || run.Lead == 0 ||
		run.Total != run.Lead+run.Subagent {
		t.Errorf("%+v, usage %v, %v", run, usage, err)
	}
	var thread struct {
		Total    int            `json:"total_tokens"`
		ByCaller map[string]int `json:"by_caller"`
	}
	if err := json.Unmarshal([]byte(w.send(t, "GET", "/api/threads/t1/token-usage", "")), &thread); err != nil ||
		thread.Total != run.Total || thread.ByCaller["subagent"] != run.Subagent {
		t.Errorf("%+v, %v", thread, err)
	}
}

// TestTheExcessOfHelpersIsDropped: of an answer, with a message, and of a run, which then ends.
func TestTheExcessOfHelpersIsDropped(t *testing.T) {
	w := open(t, helping)
	jobs := func(from, to int) (list []string) {
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprintf("job %d.", i))
		}
		return list
	}
	w.when("Divide", sends(jobs(0, 6)...), sends(jobs(3, 6)...), sends("job 9."), say("All is done."))
	for i := range 6 {
		w.when(fmt.Sprintf("job %d.", i), say(fmt.Sprintf("report %d", i)))
	}
	stream := w.run(t, "Divide it", ultra)
	lead := w.asked(t, "Divide")
	if len(lead) != 4 {
		t.Fatalf("%d requests", len(lead))
	}
	holds(t, "behind six calls", lead[1].lines(), "report 0", "report 1", "report 2", "!report 3",
		"3 of your task calls were dropped", "at most 3 of one answer", "can send 3 more")
	holds(t, "behind three more", lead[2].lines(), "report 5", "!were dropped")
	holds(t, "behind one too many", lead[3].lines(), "This run has sent all the helpers it may")
	if len(lead[3].Tools) != 0 {
		t.Error("the last turn has tools")
	}
	if r := w.last(t); r.Status != runs.Success || r.StopReason != "subagent_limit_capped" {
		t.Errorf("%+v", r)
	}
	if started := strings.Count(fmt.Sprint(told(t, stream)), "task_started"); started != 6 || len(w.kids(t)) != 6 {
		t.Errorf("%d helpers were started, %d are stored", started, len(w.kids(t)))
	}
}

// TestAHelperWhoseTimeIsOverLeavesWhatItHad. Its time begins with its work.
func TestAHelperWhoseTimeIsOverLeavesWhatItHad(t *testing.T) {
	over := make(chan func(), 1)
	w := open(t, helping, func(f *config.File, o *lead.Options) {
		f.Subagents.Timeout = 90 * time.Second
		o.After = func(d time.Duration, f func()) func() bool {
			webtest.Same(t, "the limit", d, 90*time.Second)
			over <- f
			return func() bool { return true }
		}
	})
	w.when("Search", sends("long job"), say("Half of it."))
	looks := call("ls", `{"description":"look","path":"/mnt/user-data/workspace"}`)
	looks.Text = "Two of four are read."
	w.when("long job", looks, scriptmodel.Turn{Hang: true})
	go func() {
		late := <-over
		webtest.Until(t, "the second turn of the helper", func() bool { return len(w.model.Requests()) == 3 })
		late()
	}()
	stream := w.run(t, "Search all", ultra)
	evs := told(t, stream)
	if end := evs[len(evs)-1]; end["type"] != "task_timed_out" || !strings.Contains(end["error"].(string), "1m30s") {
		t.Errorf("%v", end)
	}
	holds(t, "the result", w.asked(t, "Search")[1].lines(), "Task timed out. Error: ", "Two of four are read.")
	r := w.tools(t)[0]
	if r.Kwargs["subagent_status"] != "timed_out" || r.Status != "error" || w.kids(t)[0].Status != runs.Timeout ||
		w.last(t).Status != runs.Success {
		t.Errorf("%+v, %+v", r, w.kids(t)[0])
	}
}

// TestAHelperWhoseModelFails is a failed call, and its run goes on.
func TestAHelperWhoseModelFails(t *testing.T) {
	w := open(t, helping)
	w.when("Look", sends("doomed job"), say("It failed."))
	w.when("doomed job",
		scriptmodel.Turn{Error: &scriptmodel.Failure{Status: http.StatusUnauthorized, Message: "no key"}})
	evs := told(t, w.run(t, "Look at it", ultra))
	if end := evs[len(evs)-1]; end["type"] != "task_failed" || !strings.Contains(end["error"].(string), "key") {
		t.Errorf("%v", evs)
	}
	holds(t, "the result", w.asked(t, "Look")[1].lines(), "Task failed. Error: ")
	if r := w.tools(t)[0]; r.Kwargs["subagent_status"] != "failed" || w.kids(t)[0].Status != runs.Failed ||
		w.last(t).Status != runs.Success {
		t.Errorf("%+v, %+v", r, w.kids(t)[0])
	}
}

// TestACancelEndsAllHelpers, and each has an end that is stored.
func TestACancelEndsAllHelpers(t *testing.T) {
	w := open(t, helping)
	w.when("Send", sends("still a", "still b"), say("never"))
	w.when("still a", scriptmodel.Turn{Hang: true})
	w.when("still b", scriptmodel.Turn{Text: "I begin. ", Hang: true})
	done := make(chan string)
	go func() { done <- w.run(t, "Send two", ultra) }()
	webtest.Until(t, "the work of both", func() bool { return len(w.model.Requests()) == 3 })
	list, err := w.db.Runs(t.Context(), "t1", "", 1, 0)
	must.Do(t, err)
	begin := time.Now()
	w.send(t, "POST", "/api/threads/t1/runs/"+list[0].ID+"/cancel?wait=1", "")
	t.Logf("the end of all was stored %s after the cancel", time.Since(begin).Round(time.Millisecond))
	kids := w.kids(t) // as they are when the cancel has been answered
	parent, err := w.db.Run(t.Context(), list[0].ID)
	must.Do(t, err)
	ends := strings.Count(fmt.Sprint(told(t, <-done)), "task_cancelled")
	for _, kid := range kids {
		if kid.Status != runs.Interrupted || kid.UpdatedAt.After(parent.UpdatedAt) {
			t.Errorf("%+v, its parent ended at %s", kid, parent.UpdatedAt)
		}
	}
	for _, r := range w.tools(t) {
		if r.Kwargs["subagent_status"] != "cancelled" || r.Content != "Task cancelled by user." {
			t.Errorf("%+v", r)
		}
	}
	if ends != 2 || len(w.kids(t)) != 2 || len(w.tools(t)) != 2 || w.last(t).Status != runs.Interrupted {
		t.Errorf("%d ends, %d helpers, %+v", ends, len(w.kids(t)), w.last(t))
	}
}

// TestOneHelperIsStoppedAlone: by the id of its call, or of its run. The others and the run go on.
func TestOneHelperIsStoppedAlone(t *testing.T) {
	w := open(t, helping)
	w.when("Send", sends("still a", "still b", "quick c"), say("One is left."))
	w.when("still a", scriptmodel.Turn{Hang: true})
	w.when("still b", scriptmodel.Turn{Hang: true})
	w.when("quick c", say("c is done"))
	done := make(chan string)
	go func() { done <- w.run(t, "Send three", ultra) }()
	webtest.Until(t, "the work of all", func() bool { return len(w.model.Requests()) == 4 })
	w.send(t, "POST", "/api/threads/t1/tasks/call_1-0_0/cancel", "")
	for _, kid := range w.kids(t) {
		if strings.Contains(string(kid.Metadata), "still b") {
			w.send(t, "POST", "/threads/t1/runs/"+kid.ID+"/cancel", "")
		}
	}
	stream := <-done
	results := w.tools(t)
	for i, want := range []string{"cancelled", "cancelled", "completed"} {
		if results[i].Kwargs["subagent_status"] != want {
			t.Errorf("%d: %+v", i, results[i])
		}
	}
	if strings.Count(fmt.Sprint(told(t, stream)), "task_cancelled") != 2 || w.last(t).Status != runs.Success {
		t.Errorf("%v\n%+v", told(t, stream), w.last(t))
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		w.url+"/threads/t1/tasks/call_1-0_0/cancel", nil)
	must.Do(t, err)
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	res.Body.Close()
	webtest.Same(t, "a helper that has ended is cancelled", res.StatusCode, http.StatusNotFound)
}

// TestTwoHelpersCannotOverwriteEachOther: the second one's change of a file that the first has
// changed meanwhile is refused; it reads again, and both changes are there.
func TestTwoHelpersCannotOverwriteEachOther(t *testing.T) {
	w := open(t, helping)
	const file = "/mnt/user-data/workspace/notes.md"
	write := call("write_file", `{"description":"x","path":"`+file+`","content":"red\nblue\n"}`)
	read := call("read_file", `{"description":"x","path":"`+file+`"}`)
	edit := func(gate, from, to string) scriptmodel.Turn {
		turn := call("str_replace", fmt.Sprintf(`{"description":"x","path":%q,"old_str":%q,"new_str":%q}`, file,
			from, to))
		turn.Gate, turn.Text = gate, "Now. "
		return turn
	}
	w.when("Paint", write, sends("paint red", "paint blue"), call("read_file", `{"description":"x","path":"`+file+`"}`),
		say("Painted."))
	w.when("paint red", read, edit("red", "red", "RED"), say("red is done"))
	w.when("paint blue", read, edit("blue", "blue", "BLUE"), read, edit("", "blue", "BLUE"), say("blue is done"))
	done := make(chan string)
	go func() { done <- w.run(t, "Paint it", ultra) }()
	open := func(gate string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, w.model.URL+"/script/gates/"+gate, nil)
		must.Do(t, err)
		res, err := http.DefaultClient.Do(req)
		must.Do(t, err)
		res.Body.Close()
	}
	webtest.Until(t, "both have read", func() bool {
		return len(w.asked(t, "paint red")) == 2 && len(w.asked(t, "paint blue")) == 2
	})
	open("red")
	webtest.Until(t, "the first has written", func() bool { return len(w.asked(t, "paint red")) == 3 })
	open("blue")
	<-done
	blue := w.asked(t, "paint blue")
	if len(blue) != 5 {
		t.Fatalf("%d requests", len(blue))
	}
	holds(t, "the refusal", blue[2].lines(), "str_replace blocked")
	holds(t, "the file", w.asked(t, "Paint")[3].lines(), "RED\nBLUE", "red is done", "blue is done")
}
