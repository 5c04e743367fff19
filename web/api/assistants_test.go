package api_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// row is one request of a table and what its answer must have.
type row struct {
	name, method, path, body string
	status                   int
	want                     string
}

// table sends the rows in order.
func (w *world) table(t *testing.T, rows []row, headers ...string) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			w.send(t, r.method, r.path, r.body, headers...).want(t, fmt.Sprintf("%s %s = \nwant %s", r.method, r.path, r.want), r.status, r.want)
		})
	}
}

const leadID = "bee7d354-5df5-5f26-a978-10ea053f620d"

func TestAssistantsAreCreatedChangedAndDeleted(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.table(t, []row{
		{"create", "POST", "/assistants",
			`{"assistant_id":"a1","graph_id":"lead_agent","name":"Mine","description":"d","config":{"configurable":{"model_name":"x"}},"context":{"c":1},"metadata":{"k":"v","deep":{"a":1}}}`, 200,
			`{"assistant_id":"a1","graph_id":"lead_agent","name":"Mine","version":1,"config":{"configurable":{"model_name":"x"}},"context":{"c":1},"metadata":{"k":"v","deep":{"a":1}},"description":"d",`},
		{"create with nulls", "POST", "/assistants", `{"assistant_id":null,"graph_id":null,"config":null,"context":null,"metadata":null,"if_exists":null,"name":null,"description":null}`, 200, `"name":"Untitled","version":1,"config":{},"context":{},"metadata":{},"description":null`},
		{"again", "POST", "/assistants", `{"assistant_id":"a1","graph_id":"lead_agent"}`, 409, `{"detail":"Assistant already exists"}`},
		{"again do_nothing", "POST", "/assistants", `{"assistant_id":"a1","graph_id":"lead_agent","if_exists":"do_nothing","name":"other"}`, 200, `"name":"Mine"`},
		{"the built-in one", "POST", "/assistants", `{"assistant_id":"` + leadID + `","graph_id":"lead_agent"}`, 409, `exists`},
		{"unknown graph", "POST", "/assistants", `{"graph_id":"nope"}`, 404, `nope`},
		{"bad id", "POST", "/assistants", `{"assistant_id":"../x"}`, 422, `"assistant_id"`},
		{"bad if_exists", "POST", "/assistants", `{"if_exists":"x"}`, 422, `"if_exists"`},
		{"config no object", "POST", "/assistants", `{"config":[]}`, 422, `"config"`},
		{"context no object", "POST", "/assistants", `{"context":"x"}`, 422, `"context"`},
		{"metadata no object", "POST", "/assistants", `{"metadata":1}`, 422, `"metadata"`},
		{"long name", "POST", "/assistants", `{"name":"` + strings.Repeat("x", 257) + `"}`, 422, `"name"`},
		{"read", "GET", "/api/langgraph/assistants/a1", "", 200, `"assistant_id":"a1"`},
		{"graph", "GET", "/assistants/a1/graph", "", 200, `"nodes"`},
		{"schemas", "GET", "/assistants/a1/schemas", "", 200, `"input_schema"`},
		{"subgraphs", "GET", "/assistants/a1/subgraphs", "", 200, `{}`},
		{"patch", "PATCH", "/assistants/a1", `{"name":"New","metadata":{"k2":2},"config":{"recursion_limit":7}}`, 200,
			`"name":"New","version":2,"config":{"recursion_limit":7},"context":{"c":1},"metadata":{"deep":{"a":1},"k":"v","k2":2},"description":"d"`},
		{"patch nothing is a version too", "PATCH", "/assistants/a1", `{}`, 200, `"version":3`},
		{"patch unknown", "PATCH", "/assistants/none", `{}`, 404, `No assistant found`},
		{"patch the built-in one", "PATCH", "/assistants/lead_agent", `{"name":"x"}`, 409, `built in`},
		{"patch with large metadata", "PATCH", "/assistants/a1", `{"metadata":{"x":"` + strings.Repeat("x", 65500) + `"}}`, 413, `server.max_metadata_bytes`},
		{"versions", "POST", "/assistants/a1/versions", `{"limit":2}`, 200, `"version":2`},
		{"versions by metadata", "POST", "/assistants/a1/versions", `{"metadata":{"k2":2},"offset":1}`, 200, `[{"assistant_id":"a1","graph_id":"lead_agent","name":"New","version":2`},
		{"versions of the built-in one", "POST", "/assistants/lead_agent/versions", `{}`, 200, `"version":1`},
		{"versions unknown", "POST", "/assistants/none/versions", `{}`, 404, `No assistant found`},
		{"latest", "POST", "/assistants/a1/latest", `{"version":1}`, 200, `"name":"Mine","version":1,"config":{"configurable":{"model_name":"x"}}`},
		{"latest unknown version", "POST", "/assistants/a1/latest", `{"version":9}`, 404, `no version 9`},
		{"latest unknown assistant", "POST", "/assistants/none/latest", `{"version":1}`, 404, `No assistant found`},
		{"latest without a version", "POST", "/assistants/a1/latest", `{}`, 422, `"version"`},
		{"a change after going back is the newest", "PATCH", "/assistants/a1", `{"name":"Third"}`, 200, `"version":4`},
		{"count", "POST", "/assistants/count", `{"metadata":{"k":"v"}}`, 200, `1`},
		{"count all", "POST", "/assistants/count", `{}`, 200, `3`},
		{"delete the built-in one", "DELETE", "/assistants/lead_agent", "", 409, `built in`},
		{"delete", "DELETE", "/assistants/a1", "", 204, ``},
		{"delete again", "DELETE", "/assistants/a1", "", 404, `No assistant found`},
		{"gone", "GET", "/assistants/a1", "", 404, `No assistant found`},
	})
}

func TestAssistantSearchFiltersSortsAndPages(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for i, name := range []string{"Beta", "alpha", "Gamma"} {
		w.ok(t, "POST", "/assistants", fmt.Sprintf(`{"assistant_id":"a%d","name":%q,"metadata":{"n":%d}}`, i, name, i))
	}
	for _, c := range []struct{ name, body, ids, total, next string }{
		{"by id", `{"sort_by":"assistant_id","sort_order":"asc","limit":2}`, "a0 a1", "4", "2"},
		{"by name", `{"sort_by":"name","sort_order":"asc","name":"A","limit":9}`, "a0 a2 a1 " + leadID, "4", ""},
		{"second page", `{"sort_by":"assistant_id","sort_order":"desc","limit":2,"offset":2}`, "a1 a0", "4", ""},
		{"metadata", `{"metadata":{"n":1}}`, "a1", "1", ""},
		{"other graph", `{"graph_id":"x"}`, "", "0", ""},
		{"built-in by name", `{"name":"LEAD"}`, leadID, "1", ""},
		{"no body", ``, "", "4", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.send(t, "POST", "/assistants/search", c.body)
			var ids []string
			for _, one := range decode[[]map[string]any](t, a.body) {
				ids = append(ids, one["assistant_id"].(string))
			}
			if c.ids != "" && strings.Join(ids, " ") != c.ids || a.header.Get("X-Pagination-Total") != c.total ||
				a.header.Get("X-Pagination-Next") != c.next {
				t.Errorf("%v, total %s, next %s", ids, a.header.Get("X-Pagination-Total"),
					a.header.Get("X-Pagination-Next"))
			}
		})
	}
	w.table(t, []row{
		{"select", "POST", "/assistants/search", `{"metadata":{"n":2},"select":["name","config"]}`, 200, `[{"config":{},"name":"Gamma"}]`},
		{"sort_by", "POST", "/assistants/search", `{"sort_by":"x"}`, 422, `"sort_by"`},
		{"sort_order", "POST", "/assistants/search", `{"sort_order":"x"}`, 422, `"sort_order"`},
		{"limit", "POST", "/assistants/search", `{"limit":0}`, 422, `"limit"`},
		{"metadata", "POST", "/assistants/search", `{"metadata":[]}`, 422, `"metadata"`},
	})
}

func TestAssistantsOptionsReachTheRunUnderItsOwn(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/assistants", `{"assistant_id":"mine","config":{"recursion_limit":7,"tags":["t"],"configurable":{"model_name":"a","mode":"pro","thread_id":"stolen","checkpoint_id":"c"}},"context":{"mode":"ultra","agent_name":"lead_agent"}}`)
	for _, c := range []struct{ name, body, config, context string }{
		{"all of them", `{"assistant_id":"mine","input":{"messages":"x"}}`,
			`{"configurable":{"agent_name":"lead_agent","mode":"ultra","model_name":"a"},"recursion_limit":7,"tags":["t"]}`, ``},
		{"the run's context wins", `{"assistant_id":"mine","input":{"messages":"x"},"context":{"mode":"flash"},"config":{"recursion_limit":9}}`,
			`{"configurable":{"agent_name":"lead_agent","model_name":"a"},"recursion_limit":9,"tags":["t"]}`, `{"mode":"flash"}`},
		{"the run's configurable wins over the assistant's context",
			`{"assistant_id":"mine","input":{"messages":"x"},"config":{"configurable":{"mode":"flash","model_name":null}}}`,
			`{"configurable":{"agent_name":"lead_agent","mode":"flash","model_name":"a"},"recursion_limit":7,"tags":["t"]}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := decode[struct {
				Thread    string `json:"thread_id"`
				Assistant string `json:"assistant_id"`
				Kwargs    struct {
					Config, Context any
				} `json:"kwargs"`
			}](t, w.send(t, "POST", "/threads/own/runs", c.body).body)
			if run.Thread != "own" || run.Assistant != "mine" {
				t.Errorf("%+v", run)
			}
			got := fmt.Sprint(run.Kwargs.Config, run.Kwargs.Context)
			webtest.Same(t, "got", got, fmt.Sprint(anyOf(t, c.config), anyOf(t, c.context)))
		})
	}
	w.send(t, "POST", "/threads/own/runs", `{"assistant_id":"nobody","input":{"messages":"x"}}`).want(t, "unknown assistant", 404)
	if th := w.ok(t, "GET", "/threads/own", ""); !strings.Contains(fmt.Sprint(th["metadata"]), "assistant_id:mine") {
		t.Errorf("%v", th["metadata"])
	}
	w.send(t, "DELETE", "/assistants/mine?delete_threads=true", "").want(t, "delete", 204)
	w.send(t, "GET", "/threads/own", "").want(t, "its thread is left", 404)
}

func anyOf(t *testing.T, s string) any {
	t.Helper()
	if s == "" {
		return nil
	}
	return decode[any](t, s)
}

func TestOtherPeoplesThingsAreNotThere(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.ok(t, "POST", "/assistants", `{"assistant_id":"a1"}`)
	run := decode[map[string]any](t,
		w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"x"}}`).body)["run_id"].(string)
	w.table(t, []row{
		{"thread", "GET", "/threads/t1", "", 404, `Thread with ID t1 not found`},
		{"patch thread", "PATCH", "/threads/t1", `{"metadata":{"a":1}}`, 404, `t1 not found`},
		{"delete thread", "DELETE", "/threads/t1", "", 404, `t1 not found`},
		{"create over it", "POST", "/threads", `{"thread_id":"t1","if_exists":"do_nothing"}`, 409, `already exists`},
		{"create over it natively", "POST", "/api/threads", `{"thread_id":"t1"}`, 409, `already exists`},
		{"state", "GET", "/threads/t1/state", "", 404, `t1 not found`},
		{"write state", "POST", "/threads/t1/state", `{"values":{"title":"x"}}`, 404, `t1 not found`},
		{"history", "POST", "/threads/t1/history", "", 404, `t1 not found`},
		{"run on it", "POST", "/threads/t1/runs", `{"input":{"messages":"x"}}`, 404, `t1 not found`},
		{"stateless run on it", "POST", "/runs", `{"input":{"messages":"x"},"config":{"configurable":{"thread_id":"t1"}}}`, 404, `t1 not found`},
		{"runs", "GET", "/threads/t1/runs", "", 404, `t1 not found`},
		{"run", "GET", "/threads/t1/runs/" + run, "", 404, `not found`},
		{"stream of a run", "GET", "/runs/" + run + "/stream", "", 404, `not found`},
		{"uploads", "GET", "/threads/t1/uploads/list", "", 404, `t1 not found`},
		{"artifact", "GET", "/threads/t1/artifacts/mnt/user-data/outputs/x", "", 404, `t1 not found`},
		{"copy", "POST", "/threads/t1/copy", "", 404, `t1 not found`},
		{"branch", "POST", "/api/threads/t1/branches", `{"message_id":"m","message_ids":["m"]}`, 404, `t1 not found`},
		{"command", "POST", "/threads/t1/commands", `{"id":1,"method":"state.get","params":{"namespace":[]}}`, 404, `t1 not found`},
		{"events", "POST", "/threads/t1/stream/events", `{"channels":["values"]}`, 404, `t1 not found`},
		{"stream of the thread", "GET", "/threads/t1/stream", "", 404, `t1 not found`},
		{"audit", "GET", "/api/threads/t1/audit", "", 404, `t1 not found`},
		{"cancel", "POST", "/threads/t1/runs/" + run + "/cancel", "", 404, `not found`},
		{"threads", "POST", "/threads/search", "", 200, `[]`},
		{"count", "POST", "/threads/count", "", 200, `0`},
		{"assistant", "GET", "/assistants/a1", "", 404, `No assistant found`},
		{"patch assistant", "PATCH", "/assistants/a1", `{}`, 404, `No assistant found`},
		{"delete assistant", "DELETE", "/assistants/a1", "", 404, `No assistant found`},
		{"assistant versions", "POST", "/assistants/a1/versions", `{}`, 404, `No assistant found`},
		{"run with assistant", "POST", "/threads/t9/runs", `{"assistant_id":"a1"}`, 404, `No assistant found`},
		{"take the id of an assistant", "POST", "/assistants", `{"assistant_id":"a1","if_exists":"do_nothing"}`, 409, `exists`},
		{"assistants", "POST", "/assistants/count", "", 200, `1`},
	}, "X-Owner", "eve")
	w.send(t, "GET", "/threads/t1", "").want(t, "the owner's own thread", 200)
}
