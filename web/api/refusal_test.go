package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/api"
	"fawn/web/openapi"
	"fawn/web/webtest"
)

// refusals sends every route what it must refuse, as its description has it.
type refusals struct {
	*world
	ids map[string]string // of things that are there, by the name of the parameter
}

const smallBody = 4096

// newRefusals opens an API with a thread that has everything a path can name.
func newRefusals(t *testing.T) *refusals {
	w := open(t, toolAgent(),
		withSettings(t, fmt.Sprintf("server: {max_body_bytes: %d}\nagents_api: {enabled: true}\n", smallBody)),
		withLibrary(t), withSkills(t, nil), withMCP(t), withAccounts)
	r := &refusals{world: w, ids: map[string]string{"thread_id": "t1", "namespace": "x", "question_id": "none", "call_id": "none",
		"name": "a.txt", "agent_name": "mine", "path": "mnt/user-data/uploads/a.txt"}}
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.ok(t, "POST", "/threads/t1/runs/wait", toolBody)
	r.ids["checkpoint_id"] = w.ids(t, "t1", `{}`)[0]
	r.ids["run_id"] = decode[[]map[string]any](t, w.send(t, "GET", "/threads/t1/runs", "").body)[0]["run_id"].(string)
	body, kind := webtest.Form(t, "files", "a.txt", "text")
	w.send(t, "POST", "/threads/t1/uploads", body, "Content-Type", kind).must(t, "upload", 200)
	r.ids["assistant_id"] = w.ok(t, "POST", "/assistants",
		`{"graph_id":"lead_agent","name":"mine"}`)["assistant_id"].(string)
	r.ids["fact_id"] = w.ok(t, "POST", "/api/memory/facts",
		`{"content":"a fact"}`)["facts"].([]any)[0].(map[string]any)["id"].(string)
	r.ids["feedback_id"] = w.ok(t, "PUT", "/api/threads/t1/runs/"+r.ids["run_id"]+"/feedback",
		`{"rating":1}`)["feedback_id"].(string)
	r.ids["task_id"] = "call_1"
	if _, err := w.db.AddFirstUser(t.Context(), store.User{Email: "ann@x.org", Role: "owner"}); err != nil {
		t.Fatal(err)
	}
	r.ids["user_id"] = store.DefaultOwner
	r.ids["session_id"], r.ids["token_id"] = "none", "none"
	r.ids["span_id"] = "1"
	w.send(t, "POST", "/api/agents", `{"name":"mine"}`).must(t, "make an agent", 201)
	r.ids["cron_id"] = w.ok(t, "POST", "/runs/crons",
		`{"assistant_id":"lead_agent","schedule":"0 0 1 1 *","input":{"messages":"hi"}}`)["cron_id"].(string)
	return r
}

// path fills a path in, with one parameter of one's own choice.
func (r *refusals) path(t *testing.T, mount string, o openapi.Op, name, value string) string {
	t.Helper()
	p := o.Path
	for _, param := range o.Params() {
		v, ok := r.ids[param]
		if !ok {
			t.Fatalf("%s: the parameter %s has no value here", o.ID, param)
		}
		if param == name {
			v = value
		}
		p = strings.ReplaceAll(p, "{"+param+"}", v)
	}
	return mount + p
}

// sample is a small value s allows.
func sample(s openapi.Schema) any {
	s = resolve(s)
	if words := s.Words(); words != nil {
		return words[0]
	}
	if of, ok := s["anyOf"].([]openapi.Schema); ok {
		return sample(of[0])
	}
	types := s.Types()
	switch {
	case len(types) == 0:
		return "x"
	case slices.Contains(types, "string"):
		return "x"
	case slices.Contains(types, "integer"), slices.Contains(types, "number"):
		return 1
	case slices.Contains(types, "boolean"):
		return true
	case slices.Contains(types, "array"):
		items, _ := s["items"].(openapi.Schema)
		return []any{sample(items)}
	}
	out := map[string]any{}
	for _, p := range s.Props() {
		if p.Required {
			out[p.Name] = sample(p.Schema)
		}
	}
	return out
}

// good are values of members that are more than their type.
func good() map[string]any {
	return map[string]any{"schedule": "0 0 1 1 *", "timezone": "UTC", "schedule_type": "cron",
		"schedule_spec": map[string]string{"cron": "0 0 1 1 *"}, "rating": 1}
}

// body is what the route takes, with one member of one's own choice.
func body(t *testing.T, o openapi.Op, name, value string) string {
	t.Helper()
	members := map[string]any{}
	for _, p := range resolve(o.Body).Props() {
		if p.Required {
			members[p.Name] = sample(p.Schema)
			if v, ok := good()[p.Name]; ok {
				members[p.Name] = v
			}
		}
	}
	if name != "" {
		members[name] = json.RawMessage(value)
	}
	b, err := json.Marshal(members)
	must.Do(t, err)
	return string(b)
}

// refuses sends a request that must be refused with one of some statuses, and returns the
// words of the refusal.
func (r *refusals) refuses(t *testing.T, what string, o openapi.Op, path, sent string, want ...int) string {
	t.Helper()
	a := r.try(t, o.Method, path, sent)
	if o.RPC && !slices.Contains(want, http.StatusRequestEntityTooLarge) {
		var failed rpc
		if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &failed) != nil || failed.Error == nil ||
			failed.Error.Code >= 0 || failed.Error.Code == -32603 {
			t.Errorf("%s: %s %s %.200s = %d %.200s, want an error of JSON-RPC", what, o.Method, path, sent,
				a.status, a.body)
			return ""
		}
		return failed.Error.Message
	}
	if !slices.Contains(want, a.status) || !slices.Contains(o.Statuses(), a.status) {
		t.Errorf("%s: %s %s %.200s = %d %.200s, want one of %v of %v", what, o.Method, path, sent, a.status, a.body,
			want, o.Statuses())
		return ""
	}
	if o.Method == http.MethodHead {
		return ""
	}
	var d struct {
		Detail json.RawMessage `json:"detail"`
	}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") ||
		json.Unmarshal([]byte(a.body), &d) != nil || len(d.Detail) < 4 {
		t.Errorf("%s: %s %s: %s %.300s", what, o.Method, path, a.header.Get("Content-Type"), a.body)
	}
	return string(d.Detail)
}

// try sends a request that is answered at once, or else counts as one that is not refused.
func (r *refusals) try(t *testing.T, method, path, sent string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res := r.request(t, ctx, method, path, sent, "Content-Type", "application/json")
	defer res.Body.Close()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // it may have no end
		return answer{res.StatusCode, res.Header, "events"}
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

// mounts are where a route is served.
func mounts(o openapi.Op) []string {
	if o.Native {
		return []string{"/api"}
	}
	return []string{"", "/api/langgraph", "/api"}
}

// TestEveryRouteRefusesBadInput walks the description of the API: broken JSON, wrong types,
// words that are none of those allowed, numbers out of range, ids of nothing, ids that lead
// elsewhere, bodies that are too large. Nothing may be a 5xx, and nothing may be changed.
func TestEveryRouteRefusesBadInput(t *testing.T) {
	r := newRefusals(t)
	before := r.everything(t)
	cases := 0
	for _, o := range api.Operations() {
		for _, mount := range mounts(o) {
			cases += r.badBodies(t, mount, o) + r.badQueries(t, mount, o) + r.badPaths(t, mount, o)
		}
	}
	if after := r.everything(t); !maps.Equal(before, after) {
		t.Errorf("something was changed:\n%v\n%v", before, after)
	}
	t.Logf("%d cases", cases)
	if cases < 1000 {
		t.Errorf("only %d cases", cases)
	}
}

// everything counts what could have been made.
func (r *refusals) everything(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, what := range []string{"/threads/count", "/assistants/count", "/runs/crons/count"} {
		out[what] = r.send(t, "POST", what, "").body
	}
	out["runs"] = fmt.Sprint(len(decode[[]any](t, r.send(t, "GET", "/threads/t1/runs?limit=1000", "").body)))
	out["checkpoints"] = fmt.Sprint(len(r.world.ids(t, "t1", `{"limit":1000}`)))
	out["models"] = r.send(t, "GET", "/api/settings/models", "").body
	out["items"] = r.send(t, "POST", "/store/items/search", `{"namespace_prefix":[]}`).body
	return out
}

func (r *refusals) badBodies(t *testing.T, mount string, o openapi.Op) (cases int) {
	if o.Body == nil {
		return 0
	}
	path := r.path(t, mount, o, "", "")
	other := `[1]`
	if slices.Contains(resolve(o.Body).Types(), "array") {
		other = `{"a":1}`
	}
	for what, sent := range map[string]string{"broken": `{"a":`, "cut off": `{"a":"b`, "a word": `nonsense`,
		"text": `"text"`, "a number": `7`, "other": other} {
		r.refuses(t, what, o, path, sent, 422)
		cases++
	}
	r.refuses(t, "too large", o, path, `{"filler":"`+strings.Repeat("x", smallBody)+`"}`, 413)
	for _, p := range resolve(o.Body).Props() {
		for what, value := range badValues(p.Schema) {
			said := r.refuses(t, p.Name+" "+what, o, path, body(t, o, p.Name, value), 422, 400)
			if said != "" && !strings.Contains(said, p.Name) {
				t.Errorf("%s %s: %s: the refusal does not name the field: %s", o.Method, path, what, said)
			}
			cases++
		}
	}
	return cases + 1
}

// badValues are JSON values a schema does not allow.
func badValues(s openapi.Schema) map[string]string {
	s = resolve(s)
	out := map[string]string{}
	if v, ok := wrong(s); ok {
		out["of a wrong type"] = v
	}
	if s.Words() != nil && !slices.Contains(s.Types(), "object") {
		out["of no such word"] = `"no-such-word"`
	}
	if low, ok := s["minimum"].(int); ok {
		out["too small"] = fmt.Sprint(low - 1)
	}
	if high, ok := s["maximum"].(int); ok {
		out["too large"] = fmt.Sprint(high + 1)
	}
	return out
}

func (r *refusals) badQueries(t *testing.T, mount string, o openapi.Op) (cases int) {
	path := r.path(t, mount, o, "", "")
	sent := ""
	if o.Need && o.Body != nil {
		sent = body(t, o, "", "")
	}
	base := path + "?"
	if o.Need && o.Body == nil {
		for _, p := range o.Query {
			if slices.Equal(p.Schema.Types(), []string{"string"}) {
				base += p.Name + "=x&"
			}
		}
	}
	for _, p := range o.Query {
		types := p.Schema.Types()
		var values []string
		switch {
		case p.Schema.Words() != nil:
			values = []string{"no-such-word"}
		case slices.Contains(types, "integer"):
			values = []string{"x", "1.5", "99999999999999999999"}
			if low, ok := p.Schema["minimum"].(int); ok {
				values = append(values, fmt.Sprint(low-1))
			}
			if high, ok := p.Schema["maximum"].(int); ok {
				values = append(values, fmt.Sprint(high+1))
			}
		case slices.Contains(types, "boolean"):
			values = []string{"maybe"}
		}
		for _, v := range values {
			said := r.refuses(t, p.Name, o, base+p.Name+"="+v, sent, 422)
			if said != "" && !strings.Contains(said, p.Name) {
				t.Errorf("%s %s?%s=%s: the refusal does not name the parameter: %s", o.Method, path, p.Name, v, said)
			}
			cases++
		}
	}
	return cases
}

func (r *refusals) badPaths(t *testing.T, mount string, o openapi.Op) (cases int) {
	sent := ""
	if o.Body != nil {
		sent = body(t, o, "", "")
	}
	for _, name := range o.Params() {
		if name == "namespace" { // any will do: there are no subgraphs
			continue
		}
		if !o.Lazy || name != "thread_id" {
			nothing := "nothing"
			if name == "path" {
				nothing = "mnt/user-data/outputs/nothing"
			}
			r.refuses(t, "unknown "+name, o, r.path(t, mount, o, name, nothing), sent, 404)
			cases++
		}
		for _, bad := range []string{"..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a%00b", "%2Fetc%2Fpasswd", "a%0Ab", "%ff",
			strings.Repeat("x", 200), "..%5C..%5Cetc"} {
			r.refuses(t, name+" "+bad, o, r.path(t, mount, o, name, bad), sent, 400, 403, 404, 422)
			cases++
		}
	}
	return cases
}
