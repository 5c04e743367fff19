package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// fieldOf finds a field by its stored name.
func fieldOf(t testing.TB, name string) agent.Field {
	t.Helper()
	f, ok := agent.FieldByName(name)
	if !ok {
		t.Fatalf("no field %q", name)
	}
	return f
}

// stateWith is a state with one field; an empty body leaves it unwritten.
func stateWith(t testing.TB, name, body string) agent.State {
	t.Helper()
	var s agent.State
	if body != "" {
		must.Do(t, fieldOf(t, name).Decode(&s, []byte(body)))
	}
	return s
}

// encoded is the stored form of one field, "" when it is unwritten.
func encoded(t testing.TB, s *agent.State, name string) string {
	t.Helper()
	f := fieldOf(t, name)
	if !f.Set(s) {
		return ""
	}
	b := must.Get(f.Encode(s))(t)
	return string(b)
}

// entries writes n ledger entries: from, from+1, … with the given status.
func entries(from, n int, status string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"id":"d%d","description":"","subagent_type":"","status":%q,"created_at":"t%d"}`, from+i,
			status, from+i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// skills writes skill entries with the given paths.
func skills(paths ...string) string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = fmt.Sprintf(`{"name":"","path":%q,"description":"","loaded_at":""}`, p)
	}
	return "[" + strings.Join(list, ",") + "]"
}

const (
	goalA   = `{"objective":"a","status":"active","created_at":"","updated_at":"","continuation_count":0,"max_continuations":0,"no_progress_count":0,"max_no_progress_continuations":0}`
	goalOff = `{"objective":"","status":"","created_at":"","updated_at":"","continuation_count":0,"max_continuations":0,"no_progress_count":0,"max_no_progress_continuations":0}`
	folders = `{"workspace_path":"/mnt/user-data/workspace","uploads_path":"/mnt/user-data/uploads","outputs_path":"/mnt/user-data/outputs"}`
	todoA   = `[{"content":"a","title":"a","status":"pending"}]`
	todoB   = `[{"id":"1","content":"b","title":"b","status":"completed"}]`
	upload  = `[{"filename":"a.pdf","size":3,"path":"/mnt/user-data/uploads/a.pdf","extension":".pdf"}]`
	imageA  = `{"/a":{"mime_type":"image/png","size":1,"actual_path":"/a"}}`
	imageA2 = `{"/a":{"mime_type":"image/png","size":2,"actual_path":"/a"}}`
	imageAB = `{"/a":{"mime_type":"image/png","size":1,"actual_path":"/a"},"/b":{"mime_type":"","size":0,"actual_path":"/b"}}`
	imageB  = `{"/b":{"mime_type":"","size":0,"actual_path":"/b"}}`
	dRun    = `[{"id":"d1","run_id":"r1","description":"","subagent_type":"","status":"in_progress","created_at":"t1"}]`
	dDone   = `[{"id":"d1","run_id":"r1","description":"","subagent_type":"","status":"completed","created_at":"t1"}]`
	dLate   = `[{"id":"d1","run_id":"r2","description":"","subagent_type":"","status":"completed","created_at":"t2"}]`
	dBack   = `[{"id":"d1","description":"","subagent_type":"","status":"in_progress","created_at":"t3"}]`
	task    = `[{"task_id":"b1","task_name":"","status":"working","updated_at":""}]`
	noteA   = `[{"id":"n1","message":"h1","place":"prefix","kind":"date","text":"a"}]`
	noteA2  = `[{"id":"n1","message":"h1","place":"prefix","kind":"date","text":"b"}]`
	noteB   = `[{"id":"n2","message":"h1","place":"after","kind":"memory"}]`
	noteA2B = `[{"id":"n1","message":"h1","place":"prefix","kind":"date","text":"b"},{"id":"n2","message":"h1","place":"after","kind":"memory"}]`
)

// reducerCases are the rules of every field: old and patch to what is stored after.
var reducerCases = []struct{ field, name, old, patch, want string }{
	{"title", "first", "", `"a"`, `"a"`},
	{"title", "replaces", `"a"`, `"b"`, `"b"`},
	{"title", "clears", `"a"`, `""`, `""`},

	{"artifacts", "first", "", `["/a"]`, `["/a"]`},
	{"artifacts", "joins without doubles, first occurrence first", `["/a","/b"]`, `["/b","/c","/c","/a"]`, `["/a","/b","/c"]`},
	{"artifacts", "drops doubles of a first write", "", `["/a","/a"]`, `["/a"]`},
	{"artifacts", "clears", `["/a"]`, `[]`, `[]`},

	{"todos", "replaces", todoA, todoB, todoB},
	{"todos", "clears", todoA, `[]`, `[]`},
	{"todos", "reads the older form", "", `[{"id":"1","title":"b","status":"completed"}]`, todoB},

	{"sandbox", "first", "", `{"sandbox_id":"local:t1"}`, `{"sandbox_id":"local:t1"}`},
	{"sandbox", "same again", `{"sandbox_id":"local:t1"}`, `{"sandbox_id":"local:t1"}`, `{"sandbox_id":"local:t1"}`},
	{"sandbox", "null id keeps", `{"sandbox_id":"local:t1"}`, `{"sandbox_id":null}`, `{"sandbox_id":"local:t1"}`},
	{"sandbox", "fills an empty one", `{"sandbox_id":null}`, `{"sandbox_id":"local:t1"}`, `{"sandbox_id":"local:t1"}`},

	{"thread_data", "replaces", `{"workspace_path":"","uploads_path":"","outputs_path":"/x"}`, folders, folders},
	{"uploaded_files", "replaces", upload, `[{"filename":"b","size":0,"path":"","extension":""}]`, `[{"filename":"b","size":0,"path":"","extension":""}]`},
	{"uploaded_files", "clears", upload, `[]`, `[]`},

	{"viewed_images", "joins", imageA, imageB, imageAB},
	{"viewed_images", "new wins", imageA, imageA2, imageA2},
	{"viewed_images", "clears", imageA, `{}`, `{}`},

	{"goal", "replaces", goalOff, goalA, goalA},
	{"goal", "clears", goalA, `{}`, goalOff},

	{"promoted", "first", "", `{"catalog_hash":"h","names":["a"]}`, `{"catalog_hash":"h","names":["a"]}`},
	{"promoted", "same catalogue joins in order", `{"catalog_hash":"h","names":["a","b"]}`, `{"catalog_hash":"h","names":["c","a"]}`, `{"catalog_hash":"h","names":["a","b","c"]}`},
	{"promoted", "same catalogue without names keeps", `{"catalog_hash":"h","names":["a"]}`, `{"catalog_hash":"h","names":[]}`, `{"catalog_hash":"h","names":["a"]}`},
	{"promoted", "other catalogue starts over", `{"catalog_hash":"h","names":["a"]}`, `{"catalog_hash":"i","names":["z"]}`, `{"catalog_hash":"i","names":["z"]}`},
	{"promoted", "empty keeps", `{"catalog_hash":"h","names":["a"]}`, `{}`, `{"catalog_hash":"h","names":["a"]}`},

	{"delegations", "first", "", dRun, dRun},
	{"delegations", "end wins, run and start stay", dRun, dLate, dDone},
	{"delegations", "a finished one never goes back", dDone, dBack, dDone},
	{"delegations", "keeps first-seen order", entries(1, 3, "in_progress"), entries(1, 1, "completed"),
		strings.Replace(entries(1, 3, "in_progress"), "in_progress", "completed", 1)},
	{"delegations", "keeps the newest", entries(1, agent.MaxDelegations, "completed"), entries(51, 2, "failed"),
		strings.TrimSuffix(entries(3, agent.MaxDelegations-2, "completed"), "]") + "," + strings.TrimPrefix(entries(51, 2, "failed"), "[")},
	{"delegations", "clears", dRun, `[]`, `[]`},

	{"skill_context", "first", "", skills("a"), skills("a")},
	{"skill_context", "read again moves to the end", skills("a", "b", "c"), skills("a"), skills("b", "c", "a")},
	{"skill_context", "doubles of one write count once", skills("b"), skills("a", "b", "a"), skills("b", "a")},
	{"skill_context", "keeps the newest", skills("1", "2", "3", "4", "5", "6", "7", "8"), skills("9", "2"), skills("3", "4", "5", "6", "7", "8", "9", "2")},
	{"skill_context", "clears", skills("a"), `[]`, `[]`},

	{"summary_text", "replaces", `"a"`, `"b"`, `"b"`},
	{"summary_text", "clears", `"a"`, `""`, `""`},
	{"background_tasks", "replaces", task, `[{"task_id":"b2","task_name":"","status":"","updated_at":""}]`, `[{"task_id":"b2","task_name":"","status":"","updated_at":""}]`},
	{"background_tasks", "clears", task, `[]`, `[]`},

	{"told_files", "replaces", `[{"filename":"a","size":1,"path":"/a","extension":"","message":"h1"}]`,
		`[{"filename":"b","size":0,"path":"","extension":"","message":"h2","missing":true}]`,
		`[{"filename":"b","size":0,"path":"","extension":"","message":"h2","missing":true}]`},
	{"told_files", "clears", `[{"filename":"a","size":1,"path":"/a","extension":"","message":"h1"}]`, `[]`, `[]`},

	{"plan_edits", "replaces", `[{"before":[{"content":"a","title":"a","status":"pending"}],"after":[]}]`, `[{"before":[],"after":[{"id":"u1","content":"b","title":"b","status":"pending"}]}]`, `[{"before":[],"after":[{"id":"u1","content":"b","title":"b","status":"pending"}]}]`},
	{"plan_edits", "clears", `[{"before":[{"content":"a","title":"a","status":"pending"}],"after":[]}]`, `[]`, `[]`},

	{"notes", "a new id is added", noteA2, noteB, noteA2B},
	{"notes", "a known id is replaced in place", noteA2B, noteA, `[{"id":"n1","message":"h1","place":"prefix","kind":"date","text":"a"},{"id":"n2","message":"h1","place":"after","kind":"memory"}]`},
	{"notes", "doubles of one write count once", "", strings.TrimSuffix(noteA, "]") + "," + strings.TrimPrefix(noteA2, "["), noteA2},
	{"notes", "clears", noteA, `[]`, `[]`},
	{"view", "replaces", `{"summary":"s","from":"h1"}`, `{"summary":"t","from":"h2","cut":["x"]}`, `{"summary":"t","from":"h2","cut":["x"]}`},
	{"view", "clears", `{"summary":"s","from":"h1"}`, `{}`, `{"summary":"","from":""}`},
}

func TestApplyFollowsEveryFieldsRule(t *testing.T) {
	for _, c := range reducerCases {
		t.Run(c.field+"/"+c.name, func(t *testing.T) {
			s, p := stateWith(t, c.field, c.old), stateWith(t, c.field, c.patch)
			must.Do(t, s.Apply(p))
			if got := encoded(t, &s, c.field); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			for _, f := range agent.Fields {
				if f.Name != c.field && f.Set(&s) {
					t.Errorf("field %s was written too", f.Name)
				}
			}
		})
	}
}

func TestApplyNeverWritesIntoOldValues(t *testing.T) {
	for _, c := range reducerCases {
		if c.old == "" {
			continue
		}
		t.Run(c.field+"/"+c.name, func(t *testing.T) {
			s := stateWith(t, c.field, c.old)
			p := stateWith(t, c.field, c.patch)
			before, oldText, patchText := s, encoded(t, &s, c.field), encoded(t, &p, c.field)
			must.Do(t, s.Apply(p))
			if got := encoded(t, &before, c.field); got != oldText {
				t.Errorf("the old value became %s", got)
			}
			if got := encoded(t, &p, c.field); got != patchText {
				t.Errorf("the patch became %s", got)
			}
		})
	}
}

func TestAbsentAndNullKeepEveryField(t *testing.T) {
	old := map[string]string{}
	for _, c := range reducerCases {
		if c.old != "" {
			old[c.field] = c.old
		}
	}
	for _, f := range agent.Fields {
		for _, patch := range []string{"", "null"} {
			t.Run(f.Name+"/"+patch, func(t *testing.T) {
				if old[f.Name] == "" {
					t.Fatal("no case of this field has an old value")
				}
				s := stateWith(t, f.Name, old[f.Name])
				want := encoded(t, &s, f.Name)
				must.Do(t, s.Apply(stateWith(t, f.Name, patch)))
				if got := encoded(t, &s, f.Name); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}

func TestDecodeReplacesWithoutTouchingSharedValues(t *testing.T) {
	for _, c := range reducerCases {
		if c.old == "" || c.patch == "" {
			continue
		}
		t.Run(c.field+"/"+c.name, func(t *testing.T) {
			s := stateWith(t, c.field, c.old)
			shared, want := s, encoded(t, &s, c.field)
			must.Do(t, fieldOf(t, c.field).Decode(&s, []byte(c.patch)))
			fresh := stateWith(t, c.field, c.patch)
			if got := encoded(t, &s, c.field); got != encoded(t, &fresh, c.field) {
				t.Errorf("decoded %s into %s", c.patch, got)
			}
			if got := encoded(t, &shared, c.field); got != want {
				t.Errorf("a reader of the old value now sees %s", got)
			}
		})
	}
}

func TestDecodeRefusesOtherShapes(t *testing.T) {
	for _, f := range agent.Fields {
		var s agent.State
		if err := f.Decode(&s, json.RawMessage(`7`)); err == nil || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("%s: number read as value, err %v", f.Name, err)
		}
		if f.Set(&s) {
			t.Errorf("%s: written by a refused value", f.Name)
		}
	}
}
