package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/web/api"
	"fawn/web/webtest"
)

// TestANewThreadIsShownAsStored, without a query.
func TestANewThreadIsShownAsStored(t *testing.T) {
	w := open(t, sayAgent("hi"))
	before := w.db.Work().Queries
	made := w.send(t, "POST", "/threads", `{"thread_id":"t1","metadata":{ "b": 1.0, "a": "ü\u0000" },"ttl":5}`).want(t, "made", 200)
	if n := w.db.Work().Queries - before; n != 0 {
		t.Errorf("%d queries", n)
	}
	if read := w.send(t, "GET", "/threads/t1", "").want(t, "read", 200); read.body != made.body {
		t.Errorf("made %s, read %s", made.body, read.body)
	}
}

func TestCreateThread(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for _, c := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"no body", "/threads", "", 200, `"status":"idle"`},
		{"null everywhere", "/threads", `{"thread_id":null,"metadata":null,"if_exists":null,"supersteps":null}`, 200, `"metadata":{}`},
		{"with id", "/threads", `{"thread_id":"a_B-1","metadata":{"user_id":"u","owner_id":"o"}}`, 200, `"metadata":{"user_id":"u","owner_id":"o"}`},
		{"empty values", "/threads", `{"thread_id":"empty"}`, 200, `"values":{"messages":[],"title":null,"artifacts":[],"uploaded_files":[]}`},
		{"again", "/threads", `{"thread_id":"a_B-1"}`, 409, `{"detail":"Thread already exists"}`},
		{"again raise", "/api/langgraph/threads", `{"thread_id":"a_B-1","if_exists":"raise"}`, 409, `{"detail":"Thread already exists"}`},
		{"again do_nothing", "/threads", `{"thread_id":"a_B-1","if_exists":"do_nothing","metadata":{"x":1}}`, 200, `"metadata":{"user_id":"u","owner_id":"o"}`},
		{"again native", "/api/threads", `{"thread_id":"a_B-1"}`, 200, `"thread_id":"a_B-1"`},
		{"again native raise", "/api/threads", `{"thread_id":"a_B-1","if_exists":"raise"}`, 409, `already exists`},
		{"bad if_exists", "/threads", `{"if_exists":"x"}`, 422, `"loc":["body","if_exists"]`},
		{"climbing id", "/threads", `{"thread_id":"../x"}`, 422, `"loc":["body","thread_id"]`},
		{"long id", "/threads", `{"thread_id":"` + strings.Repeat("x", 65) + `"}`, 422, `"loc":["body","thread_id"]`},
		{"id of a wrong type", "/threads", `{"thread_id":5}`, 422, `"loc":["body","thread_id"]`},
		{"metadata no object", "/threads", `{"metadata":[1]}`, 422, `"loc":["body","metadata"]`},
		{"large metadata", "/threads", `{"metadata":{"x":"` + strings.Repeat("x", 65<<10) + `"}}`, 413, `server.max_metadata_bytes`},
		{"no JSON", "/threads", `{"metadata"`, 422, `not valid JSON`},
		{"17 MB", "/threads", `{"metadata":{"x":"` + strings.Repeat("x", 17<<20) + `"}}`, 413, `server.max_body_bytes`},
		{"supersteps", "/threads", `{"thread_id":"s","supersteps":[{"updates":[{"values":{"messages":[{"role":"user","content":"hi"}]},"as_node":"__start__"}]},{"updates":[{"values":{"title":"T"},"as_node":"model"}]}]}`, 200, `"title":"T"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.send(t, "POST", c.path, c.body).want(t, "want "+c.want, c.status, c.want)
		})
	}
	webtest.Same(t, "supersteps made … checkpoints", len(decode[[]map[string]any](t, w.send(t, "GET", "/threads/s/history", "").body)), 2)
}

func TestATemporaryThreadIsInNoList(t *testing.T) {
	w := open(t, sayAgent("hi"))
	a := w.send(t, "POST", "/threads", `{"thread_id":"secret","temporary":true,"metadata":{"x":1}}`)
	a.must(t, "the answer", 200, `"fawn_temporary":true`, `"x":1`)
	w.send(t, "POST", "/threads", `{"thread_id":"usual","metadata":{"x":1}}`)
	listed := func(want bool) {
		t.Helper()
		for _, a := range []answer{w.send(t, "POST", "/threads/search", `{}`), w.send(t, "GET", "/threads", ""),
			w.send(t, "POST", "/threads/search", `{"ids":["secret","usual"]}`),
			w.send(t, "POST", "/threads/search", `{"metadata":{"x":1}}`)} {
			if strings.Contains(a.body, `"secret"`) != want || !strings.Contains(a.body, `"usual"`) {
				t.Errorf("%.400s", a.body)
			}
		}
		count := "1"
		if want {
			count = "2"
		}
		if a := w.send(t, "POST", "/threads/count", `{}`); strings.TrimSpace(a.body) != count {
			t.Errorf("there are %s", a.body)
		}
	}
	listed(false)
	w.send(t, "PATCH", "/threads/secret", `{"metadata":{"fawn_temporary":false}}`)
	listed(true)
}

func TestStrangeThreadIDsAreRefusedEverywhere(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for _, id := range []string{"..%2F..%2Fetc", "a.b", "%00", "a%20b", strings.Repeat("x", 65), "%E2%80%A8"} {
		for _, p := range []string{"", "/state", "/history", "/runs", "/uploads/list",
			"/artifacts/mnt/user-data/outputs/x"} {
			w.send(t, "GET", "/threads/"+id+p, "").want(t, fmt.Sprintf("%s%s", id, p), 422)
		}
		w.send(t, "POST", "/threads/"+id+"/runs", `{"input":{"messages":"x"}}`).want(t, "run on "+id, 422)
	}
	w.send(t, "POST", "/runs", `{"input":{"messages":"x"},"config":{"configurable":{"thread_id":"../x"}}}`).want(t, "stateless", 422)
}

func TestSearchThreads(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for i := range 5 {
		w.ok(t, "POST", "/threads",
			fmt.Sprintf(`{"thread_id":"t%d","metadata":{"n":%d,"even":%v,"deep":{"a":1,"b":%d}}}`, i, i, i%2 == 0, i))
	}
	w.ok(t, "POST", "/threads/t3/state", `{"values":{"title":"A title"}}`)
	for _, c := range []struct{ name, method, path, body, ids, total, next string }{
		{"first page", "POST", "/threads/search", `{"limit":2,"sort_by":"thread_id","sort_order":"asc"}`, "t0 t1", "5", "2"},
		{"last page", "POST", "/threads/search", `{"limit":2,"offset":4,"sort_by":"thread_id","sort_order":"asc"}`, "t4", "5", ""},
		{"beyond", "POST", "/threads/search", `{"limit":2,"offset":9}`, "", "5", ""},
		{"metadata", "POST", "/threads/search", `{"metadata":{"even":true},"sort_by":"thread_id","sort_order":"asc"}`, "t0 t2 t4", "3", ""},
		{"deep metadata", "POST", "/threads/search", `{"metadata":{"deep":{"b":3}}}`, "t3", "1", ""},
		{"ids", "POST", "/threads/search", `{"ids":["t1","nope"]}`, "t1", "1", ""},
		{"status", "POST", "/threads/search", `{"status":"busy"}`, "", "0", ""},
		{"values", "POST", "/threads/search", `{"values":{"title":"A title"}}`, "t3", "1", ""},
		{"nulls", "POST", "/threads/search", `{"metadata":null,"values":null,"limit":null,"status":null,"select":null,"ids":["t1"]}`, "t1", "1", ""},
		{"list", "GET", "/threads?limit=2&offset=1&sort_by=thread_id&sort_order=asc", "", "t1 t2", "5", "3"},
		{"list metadata", "GET", "/threads?metadata=%7B%22n%22%3A2%7D", "", "t2", "1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.send(t, c.method, c.path, c.body)
			var ids []string
			for _, th := range decode[[]map[string]any](t, a.body) {
				ids = append(ids, th["thread_id"].(string))
			}
			if got := strings.Join(ids, " "); got != c.ids || a.header.Get("X-Pagination-Total") != c.total ||
				a.header.Get("X-Pagination-Next") != c.next {
				t.Errorf("%s, total %s, next %q", got, a.header.Get("X-Pagination-Total"),
					a.header.Get("X-Pagination-Next"))
			}
		})
	}
	var last string
	for _, th := range decode[[]map[string]any](t, w.send(t, "POST", "/threads/search", "").body) {
		if at := th["updated_at"].(string); last != "" && at > last {
			t.Errorf("%s after %s: the newest comes first", at, last)
		} else {
			last = at
		}
	}
	for body, field := range map[string]string{`{"limit":0}`: "limit", `{"limit":1001}`: "limit",
		`{"limit":"x"}`: "limit", `{"status":"x"}`: "status", `{"sort_by":"x"}`: "sort_by",
		`{"sort_order":"x"}`: "sort_order", `{"metadata":5}`: "metadata"} {
		w.send(t, "POST", "/threads/search", body).want(t, body, 422, `"`+field+`"`)
	}
	webtest.Same(t, "count", w.send(t, "POST", "/threads/count", `{"metadata":{"even":true}}`).body, "3")
	w.send(t, "POST", "/api/threads/search", `{"ids":["t3"]}`).holds(t, "DeerFlow's search shows titles", `"values":{"title":"A title"}`)
	w.send(t, "POST", "/threads/search", `{"ids":["t3"]}`).holds(t, "LangGraph's search shows values",
		`"values":{"messages":[],"title":"A title","artifacts":[],"uploaded_files":[]}`)
	webtest.Same(t, "selected", w.send(t, "POST", "/threads/search", `{"ids":["t3"],"select":["thread_id","values"]}`).body, `[{"thread_id":"t3","values":{"messages":[],"title":"A title","artifacts":[],"uploaded_files":[]}}]`)
}

func TestPatchThread(t *testing.T) {
	w := open(t, sayAgent("hi"))
	before := w.ok(t, "POST", "/threads", `{"thread_id":"t1","metadata":{"a":1,"b":{"c":1}}}`)
	pinned := w.ok(t, "PATCH", "/threads/t1", `{"metadata":{"deerflow_pinned":true}}`)
	if pinned["updated_at"] != before["updated_at"] {
		t.Error("pinning moved the thread")
	}
	after := w.ok(t, "PATCH", "/threads/t1", `{"metadata":{"b":{"d":2},"e":null}}`)
	webtest.Same(t, "metadata", fmt.Sprint(after["metadata"]), "map[a:1 b:map[d:2] deerflow_pinned:true e:<nil>]")
	if a := w.send(t, "PATCH", "/threads/t1", `{"metadata":{"x":1}}`, "Prefer", "return=minimal"); a.status != 204 ||
		a.body != "" {
		t.Errorf("minimal: %d %s", a.status, a.body)
	}
	w.send(t, "PATCH", "/threads/none", `{"metadata":{"x":1}}`).want(t, "unknown", 404)
	w.send(t, "PATCH", "/threads/t1", `{"metadata":{"y":"`+strings.Repeat("y", 65500)+`"}}`).want(t, "merged metadata over the limit", 413)
}

func TestDeleteThread(t *testing.T) {
	w := open(t, hangAgent())
	w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"hi"}}`)
	must.Do(t, w.dirs.Create("t1"))
	w.send(t, "DELETE", "/api/threads/t1", "").want(t, "native delete of a busy thread", 409)
	if a := w.send(t, "DELETE", "/threads/t1", ""); a.status != 204 || a.body != "" {
		t.Errorf("delete cancels: %d %s", a.status, a.body)
	}
	if _, err := os.Stat(filepath.Join(w.dirs.Root, "threads", "t1")); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
	for path, want := range map[string]int{"/threads/t1": 404, "/api/langgraph/threads/t1": 404,
		"/api/threads/t1": 200} {
		w.send(t, "DELETE", path, "").want(t, path, want)
	}
	w.send(t, "GET", "/threads/t1/state", "").want(t, "state", 404)
}

func TestAllMountsAnswerAlike(t *testing.T) {
	w := open(t, toolAgent())
	a := w.send(t, "POST", "/api/langgraph/threads/t1/runs/stream", toolBody)
	if loc := a.header.Get("Location"); !strings.HasPrefix(loc, "/threads/t1/runs/") {
		t.Errorf("Location = %s", loc)
	}
	for _, p := range []string{"/threads/t1", "/threads/t1/state", "/threads/t1/history", "/threads/t1/runs",
		"/assistants/lead_agent", "/threads", "/info"} {
		root := w.send(t, "GET", p, "")
		for _, mount := range []string{"/api/langgraph", "/api"} {
			if mount == "/api" && p == "/threads" { // has light rows
				continue
			}
			if other := w.send(t, "GET", mount+p, ""); other.body != root.body || other.status != http.StatusOK {
				t.Errorf("%s%s differs:\n%s\n%s", mount, p, other.body, root.body)
			}
		}
	}
}

func TestRequestsNameTheirWrongField(t *testing.T) {
	w := open(t, &agent.Agent{Model: &agenttest.Script{}}, withConfig(func(s *config.Snapshot) {
		s.File.Models = []config.Model{{Name: "good"}, {Name: "off", Disabled: "KEY is not set"}}
	}))
	for _, c := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"unknown mode", "/threads/t/runs", `{"stream_mode":["values","nope"]}`, 422, `"stream_mode"`},
		{"mode of a wrong type", "/threads/t/runs", `{"stream_mode":5}`, 422, `"stream_mode"`},
		{"multitask", "/threads/t/runs", `{"multitask_strategy":"x"}`, 422, `"multitask_strategy"`},
		{"on_disconnect", "/threads/t/runs/stream", `{"on_disconnect":"x"}`, 422, `"on_disconnect"`},
		{"if_not_exists", "/threads/t/runs/wait", `{"if_not_exists":"x"}`, 422, `"if_not_exists"`},
		{"config", "/threads/t/runs", `{"config":"x"}`, 422, `"config"`},
		{"context", "/threads/t/runs", `{"context":[1]}`, 422, `"context"`},
		{"command", "/threads/t/runs", `{"command":"x"}`, 422, `"command"`},
		{"command update", "/threads/t/runs", `{"command":{"update":5}}`, 422, `"command.update"`},
		{"metadata", "/threads/t/runs", `{"metadata":"x"}`, 422, `"metadata"`},
		{"subgraphs", "/threads/t/runs", `{"stream_subgraphs":"x"}`, 422, `"stream_subgraphs"`},
		{"assistant", "/threads/t/runs", `{"assistant_id":"nope"}`, 404, `No assistant found`},
		{"message", "/threads/t/runs", `{"input":{"messages":[{"content":"x"}]}}`, 400, `{"detail":"Invalid message at input.messages[0]: neither type nor role is given"}`},
		{"second message", "/threads/t/runs/stream", `{"input":{"messages":[{"role":"user","content":"x"},{"role":"wizard"}]}}`, 400, `Invalid message at input.messages[1]: unknown type`},
		{"title", "/threads/t/runs", `{"input":{"title":5}}`, 400, `title`},
		{"missing thread", "/threads/t/runs", `{"input":{"messages":"x"},"if_not_exists":"reject"}`, 404, `Thread with ID t not found`},
		{"foreign checkpoint", "/threads/t/runs", `{"input":{"messages":"x"},"checkpoint":{"thread_id":"u","checkpoint_id":"c"}}`, 400, `another thread`},
		{"unknown checkpoint", "/threads/t/runs", `{"input":{"messages":"x"},"checkpoint_id":"c"}`, 404, `Checkpoint c not found`},
		{"5 MB message", "/threads/t/runs", `{"input":{"messages":[{"role":"user","content":"` + strings.Repeat("x", 5<<20) + `"}]}}`, 413, `server.max_message_bytes`},
		{"unknown field natively", "/api/threads/t/runs", `{"input":{"messages":"x","b":1,"a":2}}`, 422, `{"detail":"Unknown thread-state field(s): a, b"}`},
		{"unknown model natively", "/api/threads/t/runs", `{"input":{"messages":"x"},"context":{"model_name":"bad"}}`, 400, `Model 'bad' is not in the configured model allowlist`},
		{"disabled model natively", "/api/threads/t/runs", `{"input":{"messages":"x"},"config":{"configurable":{"model_name":"off"}}}`, 400, `Model 'off' is not`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.send(t, "POST", c.path, c.body).want(t, "want "+c.want, c.status, c.want)
		})
	}
	w.send(t, "GET", "/threads/t", "").want(t, "a refused run made a thread", 404)
	a := w.send(t, "POST", "/threads/t2/runs",
		`{"input":{"messages":"x","own":1},"context":{"model_name":"bad","mode":"flash"},"config":{"configurable":{"model_name":"good"}}}`, "X-Model", "worse")
	run := decode[map[string]any](t, a.body)
	if a.status != 200 || !strings.Contains(fmt.Sprint(run["metadata"]), "model worse is not configured") {
		t.Errorf("%d %s", a.status, a.body)
	}
	kw := run["kwargs"].(map[string]any)
	got := fmt.Sprint(kw["context"], kw["config"], kw["header_model"])
	webtest.Same(t, "kwargs", got, "map[mode:flash] map[configurable:map[model_name:good]] <nil>")
}

func TestSuperstepsAreCheckpoints(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.table(t, []row{
		{"several updates are one checkpoint", "POST", "/threads", `{"thread_id":"s1","supersteps":[
			{"updates":[{"values":{"messages":[{"role":"user","content":"a"}]},"as_node":"__start__"},{"values":{"messages":{"role":"user","content":"b"},"title":"One"},"as_node":"__start__"}]},
			{"updates":[{"values":[["title","Two"],["messages",[{"role":"assistant","content":"c"}]]],"as_node":"model"}]},
			{"updates":[{"command":{"update":{"title":"Three"}},"as_node":"model"}]}]}`, 200, `"title":"Three"`},
		{"an update that fails leaves no thread", "POST", "/threads", `{"thread_id":"s2","supersteps":[{"updates":[{"values":{"title":"x"}}]},{"updates":[{"values":{"messages":[{"role":"wizard"}]}}]}]}`, 400, `Invalid message at values.messages[0]`},
		{"nor one of a wrong type", "POST", "/threads", `{"thread_id":"s2","supersteps":[{"updates":[{"values":5}]}]}`, 422, `"supersteps"`},
		{"it is not there", "GET", "/threads/s2", "", 404, `not found`},
		{"an existing thread is left alone", "POST", "/threads", `{"thread_id":"s1","if_exists":"do_nothing","supersteps":[{"updates":[{"values":{"title":"Four"}}]}]}`, 200, `"title":"Three"`},
	})
	history := decode[[]struct {
		Values struct {
			Title    *string
			Messages []map[string]any
		}
		Metadata struct{ Source string }
	}](t, w.send(t, "GET", "/threads/s1/history", "").body)
	got := ""
	for _, h := range history {
		title := "-"
		if h.Values.Title != nil {
			title = *h.Values.Title
		}
		got += fmt.Sprint(title, len(h.Values.Messages), h.Metadata.Source, " ")
	}
	webtest.Same(t, "got", got, "Three3update Two3update One2update ")
}

func TestSearchExtractsValues(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"x","metadata":{"a":{"b":[1,{"c":"deep"}]}},"supersteps":[{"updates":[{"values":{"title":"T","messages":[{"role":"user","content":"first"},{"role":"user","content":"last"}]}}]}]}`)
	w.table(t, []row{
		{"values", "POST", "/threads/search",
			`{"ids":["x"],"select":["thread_id"],"extract":{"last":"values.messages[-1].content","first":"values.messages[0].content","none":"values.messages[9].content","title":"values.title"}}`, 200,
			`[{"extracted":{"first":"first","last":"last","none":null,"title":"T"},"thread_id":"x"}]`},
		{"metadata", "POST", "/threads/search", `{"ids":["x"],"select":["status"],"extract":{"c":"metadata.a.b[1].c","odd":"metadata.a[0]","title":"values.title"}}`, 200, `[{"extracted":{"c":"deep","odd":null,"title":"T"},"status":"interrupted"}]`},
		{"without select values stay short", "POST", "/threads/search", `{"ids":["x"],"extract":{"n":"values.messages[0].type"}}`, 200, `"values":{"title":"T"},"interrupts":{},"error":null,"extracted":{"n":"human"}}]`},
		{"nothing to extract", "POST", "/threads/search", `{"ids":["x"],"select":["thread_id"],"extract":{}}`, 200, `[{"thread_id":"x"}]`},
		{"unknown root", "POST", "/threads/search", `{"extract":{"a":"secrets.x"}}`, 422, `"extract"`},
		{"no path", "POST", "/threads/search", `{"extract":{"a":""}}`, 422, `"extract"`},
		{"open bracket", "POST", "/threads/search", `{"extract":{"a":"values.messages[1"}}`, 422, `"extract"`},
		{"no number", "POST", "/threads/search", `{"extract":{"a":"values.messages[x]"}}`, 422, `"extract"`},
		{"too many", "POST", "/threads/search", `{"extract":{"a":"values","b":"values","c":"values","d":"values","e":"values","f":"values","g":"values","h":"values","i":"values","j":"values","k":"values"}}`, 422, `at most 10`},
		{"wrong type", "POST", "/threads/search", `{"extract":[]}`, 422, `"extract"`},
	})
}

func TestPinnedThreadsComeFirst(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for i := range 4 {
		w.ok(t, "POST", "/threads", fmt.Sprintf(`{"thread_id":"t%d","metadata":{"deerflow_pinned":%v}}`, i, i == 1))
	}
	for _, c := range []struct{ path, body, want string }{
		{"/threads/search", `{}`, "t1"}, {"/api/threads/search", `{"metadata":{"deerflow_pinned":true}}`, "t1"},
		{"/threads/search", `{"sort_by":"thread_id","sort_order":"desc"}`, "t3"},
		{"/threads/search", `{"limit":1,"offset":1,"sort_by":"thread_id","sort_order":"asc"}`, "t1"},
	} {
		list := decode[[]map[string]any](t, w.send(t, "POST", c.path, c.body).body)
		webtest.Same[any](t, fmt.Sprintf("%s: comes first", c.body), list[0]["thread_id"], c.want)
	}
	w.ok(t, "PATCH", "/threads/t1", `{"metadata":{"deerflow_pinned":"yes"}}`) // only true pins
	list := decode[[]map[string]any](t, w.send(t, "POST", "/threads/search", "").body)
	if list[0]["thread_id"] == "t1" && list[0]["updated_at"] == list[3]["updated_at"] {
		t.Errorf("a text pins")
	}
}

func TestPruneThreads(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for _, id := range []string{"t1", "t2", "t3"} {
		w.send(t, "POST", "/threads/"+id+"/runs/wait", `{"input":{"messages":"x"}}`)
	}
	w.table(t, []row{
		{"somebody else", "POST", "/threads/prune", `{"thread_ids":["t1"]}`, 200, `{"pruned_count":0}`},
	}, "X-Owner", "eve")
	w.table(t, []row{
		{"keep latest", "POST", "/threads/prune", `{"thread_ids":["t1","nobody"],"strategy":"keep_latest"}`, 200, `{"pruned_count":1}`},
		{"what it says stays", "GET", "/threads/t1/state", "", 200, `"content":"hi"`},
		{"delete", "POST", "/threads/prune", `{"thread_ids":["t2","t3"]}`, 200, `{"pruned_count":2}`},
		{"gone", "GET", "/threads/t2", "", 404, `not found`},
		{"nothing", "POST", "/threads/prune", `{"thread_ids":[]}`, 200, `{"pruned_count":0}`},
		{"no ids", "POST", "/threads/prune", `{}`, 422, `"thread_ids"`},
		{"strategy", "POST", "/threads/prune", `{"thread_ids":["t1"],"strategy":"burn"}`, 422, `"strategy"`},
	})
}

func TestThreadsHaveATimeToLive(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.table(t, []row{
		{"minutes", "POST", "/threads", `{"thread_id":"a","ttl":90}`, 200, `"thread_id":"a"`},
		{"shown", "GET", "/threads/a?include=[\"ttl\"]", "", 200, `"ttl":{"strategy":"delete","ttl_minutes":90,"expires_at":"`},
		{"object", "PATCH", "/threads/a", `{"metadata":{},"ttl":{"ttl":0.5,"strategy":"keep_latest"}}`, 200, ``},
		{"shown again", "GET", "/threads/a?include=ttl", "", 200, `"ttl":{"strategy":"keep_latest","ttl_minutes":0.5,`},
		{"none", "POST", "/threads", `{"thread_id":"b","ttl":null}`, 200, ``},
		{"none to show", "GET", "/threads/b?include=ttl", "", 200, `"error":null}`},
		{"negative", "POST", "/threads", `{"ttl":-1}`, 422, `"ttl"`},
		{"strategy", "POST", "/threads", `{"ttl":{"ttl":1,"strategy":"burn"}}`, 422, `"ttl"`},
		{"text", "PATCH", "/threads/a", `{"ttl":"x"}`, 422, `"ttl"`},
	})
}

// TestAThreadGoesWhenItsTimeIsOver sweeps as of moments to come.
func TestAThreadGoesWhenItsTimeIsOver(t *testing.T) {
	w := open(t, sayAgent("hi"))
	old := store.Thread{ID: "old", Owner: "default", Status: runs.Idle, CreatedAt: time.Now().Add(-48 * time.Hour),
		UpdatedAt: time.Now().Add(-48 * time.Hour)}
	must.Do(t, w.db.Commit(t.Context(), store.Batch{Thread: &old, NewThread: true}))
	w.ok(t, "POST", "/threads", `{"thread_id":"made","ttl":600}`)
	w.ok(t, "POST", "/threads", `{"thread_id":"stays"}`)
	// one that exists is left alone
	w.ok(t, "POST", "/threads", `{"thread_id":"made","if_exists":"do_nothing","ttl":1}`)
	w.ok(t, "PATCH", "/threads/old", `{"ttl":1200}`) // counts from now on
	w.ok(t, "POST", "/threads/made/runs/wait", `{"input":{"messages":"hi"}}`)
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, "200 200 200"}, {5 * time.Hour, "200 200 200"}, {15 * time.Hour, "404 200 200"},
		{25 * time.Hour, "404 404 200"}, {10000 * time.Hour, "404 404 200"}} {
		w.eventually(t, func() bool { return w.m.Active("made") == "" })
		if _, err := threads.Sweep(t.Context(), w.db, w.m, threads.Policy{}, time.Now().Add(c.after)); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(w.send(t, "GET", "/threads/made", "").status, w.send(t, "GET", "/threads/old", "").status,
			w.send(t, "GET", "/threads/stays", "").status)
		webtest.Same(t, fmt.Sprint("after ", c.after), got, c.want)
	}
}

func FuzzExtractPath(f *testing.F) {
	f.Add("values.messages[-1].content", `{"values":{"messages":[{"content":"x"}]}}`)
	f.Add("metadata.a[0][1]", `{"metadata":{"a":[[1,2]]}}`)
	f.Add("values.a[", `{}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		var v any
		if json.Unmarshal([]byte(body), &v) != nil {
			return
		}
		got, ok := api.ParsePath(path, v)
		if !ok && got != nil {
			t.Errorf("%q is no path and finds %v", path, got)
		}
		if ok && strings.Count(path, "[") != strings.Count(path, "]") {
			t.Errorf("%q is taken for a path", path)
		}
	})
}
