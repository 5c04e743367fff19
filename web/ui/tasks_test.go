package ui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/webtest"
)

func (w *world) crons() []store.Cron {
	w.Helper()
	var out []store.Cron
	err := w.db.EachCron(w.Context(), "default", func(c store.Cron) bool { out = append(out, c); return true })
	must.Do(w, err)
	return out
}

const tasksPath = "/workspace/scheduled-tasks"

func TestAScheduledTaskIsMadeRunPausedAndDeleted(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Done.")}})
	webtest.Holds(t, "an empty page does not say so", w.page(tasksPath), "No scheduled tasks yet.")
	form := url.Values{"title": {"Morning <b>report</b>"}, "prompt": {"Write it\nshort."}, "every": {"weekday"},
		"at": {"08:30"}, "zone": {"Europe/Berlin"}}
	if a := w.post("/ui/tasks", form); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != tasksPath {
		t.Fatal(a.StatusCode, a.body)
	}
	all := w.crons()
	if len(all) != 1 || all[0].Schedule != "30 8 * * 1-5" || all[0].NextAt.IsZero() || !all[0].Enabled {
		t.Fatalf("%+v", all)
	}
	webtest.Holds(t, "page", w.page(tasksPath), "Morning &lt;b&gt;report", "Monday to Friday at 08:30", "Hasn’t run yet.", `!class="newtask" open`)
	a := w.post("/ui/tasks", url.Values{"title": {"Weekly"}, "prompt": {"x"}, "every": {"week"}, "dow": {"4"},
		"at": {"09:05"}, "zone": {"UTC"}})
	a.must(t, "the answer", http.StatusSeeOther)
	weekly := w.crons()[1]
	if weekly.Title != "Weekly" {
		weekly = w.crons()[0]
	}
	if weekly.Schedule != "5 9 * * 4" || !strings.Contains(w.page(tasksPath), "Every Thursday at 09:05") {
		t.Errorf("%+v", weekly)
	}
	w.post("/ui/tasks/"+weekly.ID+"/delete", nil)
	do := func(action string, want int) answer {
		t.Helper()
		a := w.post("/ui/tasks/"+all[0].ID+"/"+action, nil)
		webtest.Same(t, fmt.Sprintf("%s: %.300s", action, a.body), a.StatusCode, want)
		return a
	}
	do("pause", http.StatusSeeOther)
	if c := w.crons()[0]; c.Enabled || !c.NextAt.IsZero() || !strings.Contains(w.page(tasksPath), "paused") {
		t.Errorf("paused: %+v", c)
	}
	do("resume", http.StatusSeeOther)
	if c := w.crons()[0]; !c.Enabled || c.NextAt.IsZero() {
		t.Errorf("resumed: %+v", c)
	}
	do("run", http.StatusSeeOther)
	webtest.Until(t, "the run is in the history", func() bool {
		return strings.Contains(w.page(tasksPath), `class="meta">done<`)
	})
	list, _, err := w.db.Threads(t.Context(), store.ThreadQuery{Owner: "default"})
	if err != nil || len(list) != 1 || !strings.Contains(w.page(tasksPath), "/workspace/chats/"+list[0].ID) {
		t.Error("the history does not lead to the chat", list, err)
	}
	do("dance", http.StatusNotFound)
	do("delete", http.StatusSeeOther)
	do("run", http.StatusNotFound)
	if len(w.crons()) != 0 {
		t.Error("it is still there")
	}
}

// TestALateStartIsSaid: what a downtime held up, and what one start makes up for.
func TestALateStartIsSaid(t *testing.T) {
	w := open(t, &agenttest.Script{})
	w.post("/ui/tasks", url.Values{"title": {"Hourly"}, "prompt": {"x"}, "every": {"hour"}, "zone": {"UTC"}})
	due := time.Date(2025, 3, 3, 8, 0, 0, 0, time.UTC)
	start := store.CronRun{ID: "s1", Cron: w.crons()[0].ID, Run: "r1", Thread: "t1", Trigger: schedule.Scheduled,
		Status: store.CronSuccess, DueAt: due, StartedAt: due.Add(3*time.Hour + time.Minute),
		FinishedAt: due.Add(4 * time.Hour)}
	must.Do(t, w.db.ClaimCron(t.Context(), start, time.Time{}, time.Time{}))
	page := w.page(tasksPath)
	webtest.Holds(t, "page", page, "11:01", "Makes up for 3 missed runs.")
}

func TestBadTasksComeBackWithWhatWasTyped(t *testing.T) {
	w := open(t, &agenttest.Script{})
	base := url.Values{"title": {"My title"}, "prompt": {"my <prompt>"}, "every": {"day"}, "at": {"08:00"},
		"zone": {"UTC"}}
	for name, c := range map[string]struct {
		change url.Values
		want   string
	}{
		"no title":      {url.Values{"title": {" "}}, "a title"},
		"no time":       {url.Values{"at": {"late"}}, "08:30"},
		"no such zone":  {url.Values{"zone": {"Mars/Base"}}, "Mars/Base"},
		"no cron":       {url.Values{"every": {"cron"}, "cron": {"every day"}}, "every day"},
		"over":          {url.Values{"every": {"once"}, "day": {"2020-01-01"}}, "That time has already passed"},
		"no day":        {url.Values{"every": {"once"}}, "2026-12-31"},
		"never a date":  {url.Values{"every": {"cron"}, "cron": {"0 0 31 2 *"}}, ""},
		"made up every": {url.Values{"every": {"sometimes"}}, ""},
	} {
		form := url.Values{}
		for _, v := range []url.Values{base, c.change} {
			for k, x := range v {
				form[k] = x
			}
		}
		a := w.post("/ui/tasks", form)
		text := html.UnescapeString(a.body)
		if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, c.want) ||
			!strings.Contains(text, "my <prompt></textarea>") || !strings.Contains(text, `class="newtask" open`) {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	form := url.Values{"title": {"x"}, "prompt": {"y"}, "every": {"once"}, "at": {"08:00"}, "zone": {"UTC"}}
	w.post("/ui/tasks", form, "Accept-Language", "zh-CN").holds(t, "what is wrong is not said in the reader's language, or not said", "请填写日期", "!Give a day")
	if len(w.crons()) != 0 {
		t.Error("a bad task was stored")
	}
	a := w.post("/ui/tasks", url.Values{"title": {"x"}, "prompt": {"y"}, "every": {"hour"}, "at": {"08:30"},
		"cron": {"nonsense"}, "zone": {"UTC"}})
	webtest.Same(t, "the answer", a.StatusCode, http.StatusSeeOther)
	if got := w.crons()[0]; got.Schedule != "0 * * * *" {
		t.Error(got.Schedule)
	}
	c, err := w.db.Cron(t.Context(), "default", w.crons()[0].ID)
	if err != nil || schedule.Prompt(c.Payload) != "y" {
		t.Error(schedule.Prompt(c.Payload), err)
	}
}

func TestPagesOfAgentsAndSkills(t *testing.T) {
	w := open(t, &agenttest.Script{})
	text := "Plans <first>"
	_, err := w.db.CreateAssistant(t.Context(), store.Assistant{ID: "0192f3c8-8a1c-7000-8000-000000000001",
		Graph: "lead_agent", Name: "Careful", Description: &text})
	must.Do(t, err)
	webtest.Holds(t, "the page of agents does not list what programs made", w.page("/workspace/agents"),
		"Careful", "Plans &lt;first&gt;", `href="/workspace/agents/new"`)
	for path, back := range map[string]string{"/workspace/agents/none": "/workspace/agents",
		"/workspace/agents/none/chats/new": "/workspace/agents", "/workspace/skills/no%20ne": "/workspace/skills"} {
		w.get(path).want(t, path, http.StatusNotFound, `class="btn primary" href="`+back+`"`, "called “no")
	}
	for path, want := range map[string]string{"/workspace/agents": "Chat", "/workspace/skills": "No skills yet"} {
		webtest.Holds(t, fmt.Sprintf("%s does not say %q", path, want), w.page(path), want)
	}
}

// TestTaskRulesHoldOnThePage: its answers are those of the API, which has the same table for its routes.
func TestTaskRulesHoldOnThePage(t *testing.T) {
	w := open(t, &dictated{words: 1, next: make(chan struct{})})
	soon := time.Now().UTC().Add(50 * time.Second)
	form := func(key, value string) url.Values {
		f := url.Values{"title": {"T"}, "prompt": {"P"}, "every": {"day"}, "at": {"08:00"}, "zone": {"UTC"}}
		f.Set(key, value)
		return f
	}
	once := form("every", "once")
	once.Set("day", soon.Format(time.DateOnly))
	once.Set("at", soon.Format("15:04"))
	for _, c := range []struct {
		name string
		form url.Values
		want string
	}{
		{"a long title", form("title", strings.Repeat("x", schedule.MaxTitle+1)), "too long: 256 bytes"},
		{"an unknown agent", form("agent", "nope"), ""}, // nothing to choose from is shown here
		{"an unknown chat", form("deliver", `{"provider":"telegram","chat":"1"}`), ""},
		{"in less than a minute", once, "That time has already passed"}, // its seconds are cut off
	} {
		a := w.post("/ui/tasks", c.form)
		if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(html.UnescapeString(a.body), c.want) &&
			!strings.Contains(html.UnescapeString(a.body), "at least 60 seconds") {
			t.Errorf("%s: %d", c.name, a.StatusCode)
		}
	}
	if len(w.crons()) != 0 {
		t.Fatal("a task was stored")
	}
	w.post("/ui/tasks", form("every", "hour"))
	id := w.crons()[0].ID
	w.post("/ui/tasks/"+id+"/run", nil).must(t, "the answer", http.StatusSeeOther)
	for _, action := range []string{"run", "pause", "resume", "delete"} {
		w.post("/ui/tasks/"+id+"/"+action, nil).want(t, fmt.Sprintf("%s while its run goes on", action), http.StatusConflict, "still in progress")
	}
}

// TestAScheduledTaskIsEdited: the form has what the task has, and what isn't changed in it stays.
func TestAScheduledTaskIsEdited(t *testing.T) {
	w := open(t, &agenttest.Script{})
	made := url.Values{"title": {"Report"}, "prompt": {"Write it."}, "every": {"week"}, "dow": {"4"}, "at": {"09:05"},
		"zone": {"UTC"}}
	w.post("/ui/tasks", made)
	was := w.crons()[0]
	edit := "/ui/tasks/" + was.ID + "/edit"
	w.shows(w.page(tasksPath), `href="`+tasksPath+`?edit=`+was.ID+`"`)
	w.shows(w.page(tasksPath+"?edit="+was.ID), "Edit task", `action="`+edit+`"`, `value="Report"`, "Write it.",
		`value="09:05"`, `<option value="week" selected>`, `<option value="4" selected>`, "Save changes")
	webtest.Holds(t, "a task that repeats is offered to run once", w.page(tasksPath+"?edit="+was.ID), `!value="once"`)
	save := func(change url.Values, want int) answer {
		t.Helper()
		form := url.Values{}
		for k, v := range made {
			form[k] = v
		}
		for k, v := range change {
			form[k] = v
		}
		a := w.post(edit, form)
		webtest.Same(t, fmt.Sprintf("%v: %.300s", change, a.body), a.StatusCode, want)
		return a
	}
	stored := func(id string) store.Cron {
		t.Helper()
		c, err := w.db.Cron(t.Context(), "default", id)
		must.Do(t, err)
		return c
	}
	was = stored(was.ID)
	save(url.Values{"title": {"Weekly report"}}, http.StatusSeeOther)
	if c := stored(was.ID); c.Title != "Weekly report" || c.Schedule != was.Schedule || !c.NextAt.Equal(was.NextAt) ||
		string(c.Payload) != string(was.Payload) || c.Thread != was.Thread {
		t.Errorf("only the title was changed: %+v", c)
	}
	save(url.Values{"every": {"day"}, "at": {"07:30"}, "prompt": {"Write it short."}}, http.StatusSeeOther)
	if c := stored(was.ID); c.Schedule != "30 7 * * *" || schedule.Prompt(c.Payload) != "Write it short." || c.NextAt.IsZero() {
		t.Errorf("%+v", c)
	}
	save(url.Values{"title": {" "}, "prompt": {"typed"}}, http.StatusUnprocessableEntity).holds(t, "what was typed is lost",
		"Give the task a title.", "typed", `action="`+edit+`"`)
	save(url.Values{"every": {"once"}, "day": {"2099-01-01"}}, http.StatusUnprocessableEntity)
	w.post("/ui/tasks", url.Values{"title": {"Once"}, "prompt": {"x"}, "every": {"once"}, "day": {"2099-05-06"},
		"at": {"10:20"}, "zone": {"Europe/Berlin"}})
	for _, c := range w.crons() {
		if c.Title == "Once" {
			w.shows(w.page(tasksPath+"?edit="+c.ID), `value="2099-05-06"`, `value="10:20"`, `<option value="once" selected>`)
			made = url.Values{"title": {"Once"}, "prompt": {"x"}, "every": {"once"}, "day": {"2099-05-07"}, "at": {"10:20"}, "zone": {"Europe/Berlin"}}
			edit = "/ui/tasks/" + c.ID + "/edit"
			save(nil, http.StatusSeeOther)
			if now := stored(c.ID); now.RunAt.Sub(c.RunAt) != 24*time.Hour {
				t.Error(now.RunAt)
			}
		}
	}
	w.get(tasksPath+"?edit=none").want(t, "the answer", http.StatusNotFound)
}
