package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/schedule"
	"fawn/web/route"
	"fawn/web/webtest"
)

// noon is when the clock of scheduled worlds stands.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// scheduled gives a world a scheduler whose clock stands still; nothing is started but by
// hand.
func scheduled(t *testing.T) option {
	return func(d *route.Deps) {
		s := schedule.New(schedule.Config{DB: d.DB, Runs: d.Runs, Log: d.Log, Now: func() time.Time { return noon }})
		t.Cleanup(s.Close)
		d.Tasks = route.NewTasks(route.TaskParts{DB: d.DB, Scheduler: s, Config: d.Snapshot, Agents: d.Agents, Bots: d.Channels})
	}
}

func TestCronsAreCreatedFoundChangedAndDeleted(t *testing.T) {
	w := open(t, sayAgent("hi"), scheduled(t))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.ok(t, "POST", "/assistants", `{"assistant_id":"a1"}`)
	free := w.ok(t, "POST", "/runs/crons",
		`{"assistant_id":"lead_agent","schedule":" 30  9 * * 1-5","timezone":"Europe/Berlin","input":{"messages":[{"role":"user","content":"news"}]},"metadata":{"k":"v"},"end_time":"2026-12-31T23:59:00","context":{"mode":"pro"},"webhook":null}`)
	id := free["cron_id"].(string)
	got := fmt.Sprint(free["schedule"], free["timezone"], free["next_run_date"], free["end_time"], free["thread_id"],
		free["enabled"], free["on_run_completed"], free["metadata"], free["user_id"])
	webtest.Same(t, "got", got, "30 9 * * 1-5Europe/Berlin2026-03-03T08:30:00.000Z2026-12-31T23:59:00.000Z<nil> truedeletemap[k:v] <nil>")
	webtest.Holds(t, "payload", fmt.Sprint(free["payload"]), "news", "mode:pro", "!schedule")
	own := w.ok(t, "POST", "/threads/t1/runs/crons", `{"assistant_id":"a1","schedule":"0 0 * * *","enabled":false}`)
	if own["thread_id"] != "t1" || own["next_run_date"] != nil || own["on_run_completed"] != nil ||
		own["assistant_id"] != "a1" {
		t.Errorf("%v", own)
	}
	w.table(t, []row{
		{"no schedule", "POST", "/runs/crons", `{"assistant_id":"lead_agent"}`, 422, `"schedule"`},
		{"bad schedule", "POST", "/runs/crons", `{"schedule":"61 * * * *"}`, 422, `"schedule"`},
		{"six fields", "POST", "/runs/crons", `{"schedule":"0 0 * * * *"}`, 422, `exactly 5 fields`},
		{"bad zone", "POST", "/runs/crons", `{"schedule":"0 0 * * *","timezone":"Mars"}`, 422, `"timezone"`},
		{"bad end", "POST", "/runs/crons", `{"schedule":"0 0 * * *","end_time":"soon"}`, 422, `"end_time"`},
		{"end of a wrong type", "POST", "/runs/crons", `{"schedule":"0 0 * * *","end_time":5}`, 422, `"end_time"`},
		{"bad on_run_completed", "POST", "/runs/crons", `{"schedule":"0 0 * * *","on_run_completed":"burn"}`, 422, `"on_run_completed"`},
		{"bad input", "POST", "/runs/crons", `{"schedule":"0 0 * * *","stream_mode":"nope"}`, 422, `"stream_mode"`},
		{"secrets", "POST", "/runs/crons", `{"schedule":"0 0 * * *","context":{"secrets":{"A":"b"}}}`, 422, `never stored`},
		{"unknown assistant", "POST", "/runs/crons", `{"schedule":"0 0 * * *","assistant_id":"nope"}`, 404, `No assistant found`},
		{"unknown thread", "POST", "/threads/nope/runs/crons", `{"schedule":"0 0 * * *"}`, 404, `Thread with ID nope not found`},
		{"read", "GET", "/runs/crons/" + id, "", 200, `"cron_id":"` + id + `"`},
		{"search by thread", "POST", "/runs/crons/search", `{"thread_id":"t1"}`, 200, `[{"cron_id":"` + own["cron_id"].(string)},
		{"search by assistant", "POST", "/runs/crons/search", `{"assistant_id":"lead_agent"}`, 200, `[{"cron_id":"` + id},
		{"search by metadata", "POST", "/runs/crons/search", `{"metadata":{"k":"v"},"select":["schedule"]}`, 200, `[{"schedule":"30 9 * * 1-5"}]`},
		{"search enabled", "POST", "/runs/crons/search", `{"enabled":false}`, 200, `"enabled":false`},
		{"search page", "POST", "/runs/crons/search", `{"limit":1,"offset":1,"sort_by":"next_run_date","sort_order":"asc"}`, 200, `[{"cron_id":"` + id},
		{"search sort_by", "POST", "/runs/crons/search", `{"sort_by":"x"}`, 422, `"sort_by"`},
		{"search sort_order", "POST", "/runs/crons/search", `{"sort_order":"x"}`, 422, `"sort_order"`},
		{"search limit", "POST", "/runs/crons/search", `{"limit":1001}`, 422, `"limit"`},
		{"count", "POST", "/runs/crons/count", `{}`, 200, `2`},
		{"count by assistant", "POST", "/runs/crons/count", `{"assistant_id":"a1"}`, 200, `1`},
		{"patch the schedule", "PATCH", "/runs/crons/" + id, `{"schedule":"0 18 * * *","timezone":"UTC"}`, 200, `"schedule":"0 18 * * *","timezone":"UTC","end_time":"2026-12-31T23:59:00.000Z","next_run_date":"2026-03-02T18:00:00.000Z"`},
		{"patch the end away", "PATCH", "/runs/crons/" + id, `{"end_time":null}`, 200, `"end_time":null`},
		{"patch the input", "PATCH", "/runs/crons/" + id, `{"input":{"messages":"weather"}}`, 200, `"input":{"messages":"weather"}`},
		{"disable", "PATCH", "/runs/crons/" + id, `{"enabled":false}`, 200, `"next_run_date":null`},
		{"enable", "PATCH", "/runs/crons/" + id, `{"enabled":true,"metadata":{"n":1}}`, 200, `"metadata":{"n":1}`},
		{"patch unknown", "PATCH", "/runs/crons/nope", `{}`, 404, `Cron nope not found`},
		{"patch badly", "PATCH", "/runs/crons/" + id, `{"schedule":"x"}`, 422, `"schedule"`},
		{"delete", "DELETE", "/runs/crons/" + id, "", 204, ``},
		{"delete again", "DELETE", "/runs/crons/" + id, "", 404, `not found`},
	})
	w.table(t, []row{
		{"somebody else reads", "GET", "/runs/crons/" + own["cron_id"].(string), "", 404, `not found`},
		{"somebody else deletes", "DELETE", "/runs/crons/" + own["cron_id"].(string), "", 404, `not found`},
		{"somebody else searches", "POST", "/runs/crons/search", "", 200, `[]`},
		{"somebody else's thread", "POST", "/threads/t1/runs/crons", `{"schedule":"0 0 * * *"}`, 404, `t1 not found`},
	}, "X-Owner", "eve")
	w.send(t, "DELETE", "/threads/t1", "")
	webtest.Same(t, "the cron of a deleted thread is left", w.send(t, "POST", "/runs/crons/count", "").body, "0")
}

func TestScheduledTasksAreCronsWithAPrompt(t *testing.T) {
	w := open(t, sayAgent("hi"), scheduled(t))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	daily := w.ok(t, "POST", "/api/scheduled-tasks",
		`{"title":"News","prompt":"What is new?","schedule_type":"cron","schedule_spec":{"cron":"0 9  * * *"},"timezone":"Asia/Shanghai"}`)
	id := daily["id"].(string)
	got := fmt.Sprint(daily["title"], daily["prompt"], daily["context_mode"], daily["schedule_spec"], daily["status"],
		daily["overlap_policy"], daily["next_run_at"], daily["run_count"], daily["assistant_id"], daily["thread_id"])
	webtest.Same(t, "got", got, "NewsWhat is new?fresh_thread_per_runmap[cron:0 9 * * *]enabledskip2026-03-03T01:00:00.000Z0lead_agent<nil>")
	once := w.ok(t, "POST", "/api/scheduled-tasks",
		`{"title":"Later","prompt":"x","context_mode":"reuse_thread","thread_id":"t1","schedule_type":"once","schedule_spec":{"run_at":"2026-03-02T20:00"},"timezone":"Europe/Berlin"}`)
	if once["next_run_at"] != "2026-03-02T19:00:00.000Z" || once["thread_id"] != "t1" ||
		once["context_mode"] != "reuse_thread" {
		t.Errorf("%v", once)
	}
	w.ok(t, "POST", "/assistants", `{"assistant_id":"a1"}`)
	const path = "/api/scheduled-tasks"
	create := func(parts string) string {
		return `{"title":"T","prompt":"P","schedule_type":"cron","schedule_spec":{"cron":"0 9 * * *"},"timezone":"UTC"` + parts + `}`
	}
	w.table(t, []row{
		{"another assistant", "PATCH", path + "/" + once["id"].(string), `{"assistant_id":"a1"}`, 200, `"assistant_id":"a1"`},
		{"the built-in one", "PATCH", path + "/" + once["id"].(string), `{"assistant_id":"lead_agent"}`, 200, `"assistant_id":"lead_agent"`},
		{"unknown assistant", "POST", path, create(`,"assistant_id":"nope"`), 404, `No assistant found`},
		{"not elsewhere", "GET", "/scheduled-tasks", "", 404, ``},
		{"unknown field", "POST", path, create(`,"x":1`), 422, `"loc":["body","x"]`},
		{"mode", "POST", path, create(`,"context_mode":"x"`), 422, `{"detail":"Unsupported context_mode"}`},
		{"reuse without thread", "POST", path, create(`,"context_mode":"reuse_thread"`), 422, `{"detail":"reuse_thread requires thread_id"}`},
		{"unknown thread", "POST", path, create(`,"context_mode":"reuse_thread","thread_id":"nope"`), 404, `nope not found`},
		{"bad thread", "POST", path, create(`,"context_mode":"reuse_thread","thread_id":"../x"`), 422, `"thread_id"`},
		{"type", "POST", path, create(`,"schedule_type":"weekly"`), 422, `{"detail":"Unsupported schedule_type"}`},
		{"no title", "POST", path, `{"prompt":"P","schedule_type":"cron","schedule_spec":{"cron":"0 9 * * *"},"timezone":"UTC"}`, 422, `"title"`},
		{"empty prompt", "POST", path, create(`,"prompt":" "`), 422, `"prompt"`},
		{"no cron", "POST", path, create(`,"schedule_spec":{}`), 422, `{"detail":"cron schedule requires schedule_spec.cron"}`},
		{"bad cron", "POST", path, create(`,"schedule_spec":{"cron":"x"}`), 422, `exactly 5 fields`},
		{"bad zone", "POST", path, create(`,"timezone":"Mars"`), 422, `"timezone"`},
		{"spec of a wrong type", "POST", path, create(`,"schedule_spec":[]`), 422, `"schedule_spec"`},
		{"in the past", "POST", path, create(`,"schedule_type":"once","schedule_spec":{"run_at":"2026-03-02T11:00:00Z"}`), 422, `{"detail":"once schedule must be in the future"}`},
		{"too soon", "POST", path, create(`,"schedule_type":"once","schedule_spec":{"run_at":"2026-03-02T12:00:30Z"}`), 422, `at least 60 seconds in the future`},
		{"once without time", "POST", path, create(`,"schedule_type":"once"`), 422, `run_at`},
		{"list", "GET", path, "", 200, `"title":"Later"`},
		{"of a thread", "GET", "/api/threads/t1/scheduled-tasks", "", 200, `[{"id":"` + once["id"].(string)},
		{"of no thread", "GET", "/api/threads/other/scheduled-tasks", "", 200, `[]`},
		{"read", "GET", path + "/" + id, "", 200, `"prompt":"What is new?"`},
		{"read unknown", "GET", path + "/nope", "", 404, `{"detail":"Scheduled task not found"}`},
		{"patch", "PATCH", path + "/" + id, `{"title":"Weather","prompt":"Sun?","schedule_spec":{"cron":"0 18 * * *"},"timezone":"UTC"}`, 200, `"title":"Weather","prompt":"Sun?","schedule_type":"cron","schedule_spec":{"cron":"0 18 * * *"},"timezone":"UTC"`},
		{"patch to a thread", "PATCH", path + "/" + id, `{"context_mode":"reuse_thread","thread_id":"t1"}`, 200, `"thread_id":"t1"`},
		{"patch to fresh threads", "PATCH", path + "/" + id, `{"context_mode":"fresh_thread_per_run"}`, 200, `"thread_id":null`},
		{"patch unknown field", "PATCH", path + "/" + id, `{"status":"x"}`, 422, `"status"`},
		{"patch the type", "PATCH", path + "/" + id, `{"schedule_type":"once"}`, 422, `"schedule_type"`},
		{"pause", "POST", path + "/" + id + "/pause", "", 200, `"status":"paused","overlap_policy":"skip","next_run_at":null`},
		{"resume", "POST", path + "/" + id + "/resume", "", 200, `"status":"enabled","overlap_policy":"skip","next_run_at":"2026-03-02T18:00:00.000Z"`},
		{"pause unknown", "POST", path + "/nope/pause", "", 404, `not found`},
		{"no runs yet", "GET", path + "/" + id + "/runs", "", 200, `[]`},
		{"runs limit", "GET", path + "/" + id + "/runs?limit=201", "", 422, `"limit"`},
		{"crons are shown too", "POST", "/runs/crons", `{"schedule":"0 0 * * *","input":{"messages":[{"role":"user","content":"from the SDK"}]}}`, 200, ``},
		{"in the list of tasks", "GET", path, "", 200, `"prompt":"from the SDK"`},
		{"tasks that repeat are crons", "POST", "/runs/crons/count", "", 200, `2`},
		{"start now", "POST", path + "/" + id + "/trigger", "", 200, `"triggered":true`},
		{"start unknown", "POST", path + "/nope/trigger", "", 404, `not found`},
	})
	w.eventually(t, func() bool {
		task := w.ok(t, "GET", path+"/"+id, "")
		return task["status"] == "enabled" && task["run_count"] == 1.0
	})
	started := decode[[]map[string]any](t, w.send(t, "GET", path+"/"+id+"/runs", "").body)
	if len(started) != 1 || started[0]["status"] != "success" || started[0]["trigger"] != "manual" ||
		started[0]["task_id"] != id {
		t.Fatalf("%v", started)
	}
	run := w.ok(t, "GET", fmt.Sprintf("/threads/%s/runs/%s", started[0]["thread_id"], started[0]["run_id"]), "")
	if run["status"] != "success" || !strings.Contains(fmt.Sprint(run["metadata"]), "cron_id:"+id) {
		t.Errorf("%v", run)
	}
	state := w.ok(t, "GET", fmt.Sprintf("/threads/%s/state", started[0]["thread_id"]), "")
	if !strings.Contains(fmt.Sprint(state["values"]), "Sun?") {
		t.Errorf("%v", state["values"])
	}
	w.table(t, []row{
		{"delete", "DELETE", path + "/" + id, "", 200, `"deleted":true`},
		{"gone", "GET", path + "/" + id, "", 404, `not found`},
	})
}

func TestATaskAtWorkIsLeftAlone(t *testing.T) {
	w := open(t, hangAgent(), scheduled(t))
	const path = "/api/scheduled-tasks"
	task := w.ok(t, "POST", path, `{"title":"T","prompt":"P","schedule_type":"cron","schedule_spec":{"cron":"0 9 * * *"},"timezone":"UTC"}`)
	one := path + "/" + task["id"].(string)
	w.ok(t, "POST", one+"/trigger", "")
	w.table(t, []row{
		{"running", "GET", one, "", 200, `"status":"running"`},
		{"start again", "POST", one + "/trigger", "", 409, `conflicted with an active run`},
		{"patch", "PATCH", one, `{"title":"x"}`, 409, `currently running`},
		{"pause", "POST", one + "/pause", "", 409, `currently running`},
		{"delete", "DELETE", one, "", 409, `currently running`},
	})
}

// TestTaskRulesHoldForTasksAndCrons asks for the same changes as a scheduled task and as a cron, while runs of both go
// on: one that doesn't overlap with itself is left alone by either name, the other may be changed by either.
func TestTaskRulesHoldForTasksAndCrons(t *testing.T) {
	w := open(t, hangAgent(), scheduled(t))
	const tasks, crons = "/api/scheduled-tasks/", "/runs/crons/"
	task := w.ok(t, "POST", "/api/scheduled-tasks",
		`{"title":"T","prompt":"P","schedule_type":"cron","schedule_spec":{"cron":"0 9 * * *"},"timezone":"UTC"}`)["id"].(string)
	cron := w.ok(t, "POST", "/runs/crons",
		`{"schedule":"0 9 * * *","input":{"messages":[{"role":"user","content":"x"}]}}`)["cron_id"].(string)
	for _, id := range []string{task, cron} {
		w.ok(t, "POST", tasks+id+"/trigger", "")
	}
	w.table(t, []row{
		{"change a task", "PATCH", tasks + task, `{"title":"x"}`, 409, `currently running`},
		{"change a task as a cron", "PATCH", crons + task, `{"schedule":"0 8 * * *"}`, 409, `is still in progress`},
		{"delete a task as a cron", "DELETE", crons + task, "", 409, `is still in progress`},
		{"start a task again", "POST", tasks + task + "/trigger", "", 409, `conflicted with an active run`},
		{"start a cron again", "POST", tasks + cron + "/trigger", "", 200, `"triggered":true`},
		{"change a cron", "PATCH", crons + cron, `{"schedule":"0 8 * * *"}`, 200, `"schedule":"0 8 * * *"`},
		{"change a cron as a task", "PATCH", tasks + cron, `{"schedule_spec":{"cron":"0 7 * * *"}}`, 200, `"cron":"0 7 * * *"`},
		{"pause a cron as a task", "POST", tasks + cron + "/pause", "", 200, `"next_run_at":null`},
		{"a zone of a cron", "PATCH", crons + cron, `{"timezone":"Mars"}`, 422, `"timezone"`},
		{"a zone of a cron as a task", "PATCH", tasks + cron, `{"timezone":"Mars"}`, 422, `"timezone"`},
		{"an assistant of a cron", "PATCH", crons + cron, `{"assistant_id":"nope"}`, 404, `No assistant found`},
		{"an assistant of a cron as a task", "PATCH", tasks + cron, `{"assistant_id":"nope"}`, 404, `No assistant found`},
		{"delete a cron as a task", "DELETE", tasks + cron, "", 200, `"deleted":true`},
	})
}
