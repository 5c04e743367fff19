//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestStartsCountNoTokensTwice: whatever a run was doing when its server was killed or stopped, five times in a row, it
// ends with the tokens of one that nothing happened to, and shows no more of them on the way.
func TestStartsCountNoTokensTwice(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	conf := file(t, "config.yaml", "memory: {model_name: offline}\n"+webtest.Model(model))
	type turn = map[string]any
	script := func(turns ...turn) string {
		for i := range turns {
			turns[i]["usage"] = map[string]int{"prompt": 100 * (i + 1), "completion": 7}
		}
		b, err := json.Marshal(turn{"turns": turns})
		if err != nil {
			t.Fatal(err)
		}
		return "SCRIPT" + string(b)
	}
	tool := func(name string, args turn) turn {
		return turn{"text": "I use it. ", "tool_calls": []turn{{"name": name, "args": args}}}
	}
	look := turn{"description": "look", "path": "/mnt/user-data"}
	waits := func(text string) turn { return turn{"text": text, "gate": "go", "rest": "the end"} }
	long := strings.Repeat("lorem ipsum ", 70) // so much that the thread gets its title meanwhile
	bodies := map[string]string{
		"answers": input(script(waits(long))),
		"begins":  input(script(waits("few words "))),
		"worked":  input(script(tool("ls", look), waits(long))),
		"asks": input(script(tool("ask_clarification", turn{"question": "Which?", "clarification_type": "missing_info"}),
			turn{"text": "well"})),
		"ended": input(script(tool("ls", look), turn{"text": long})),
		"helped": webtest.Human(script(tool("task", turn{"description": "x", "subagent_type": "general-purpose",
			"prompt": script(tool("ls", look), waits("so "))}), turn{"text": "well"}), `"context": {"subagent_enabled": true}`),
	}
	threads := slices.Sorted(maps.Keys(bodies))
	type usage struct {
		Total    int            `json:"total_tokens"`
		Runs     int            `json:"total_runs"`
		ByCaller map[string]int `json:"by_caller"`
	}
	used := func(s *server, thread string) usage {
		return call[usage](t, s, "GET", "/api/threads/"+thread+"/token-usage?include_active=true", "")
	}
	begun := func(s *server) {
		for _, thread := range threads {
			call[any](t, s, "POST", "/threads/"+thread+"/runs", bodies[thread])
		}
	}
	titled := func(s *server, list ...string) {
		for _, thread := range list {
			until(t, func() bool { return used(s, thread).ByCaller["middleware"] > 0 })
		}
	}

	dir := t.TempDir()
	s := serve(t, nil, "--data", dir, "--config", conf)
	begun(s)
	titled(s, "answers", "worked", "asks", "ended", "helped")
	until(t, func() bool {
		return used(s, "ended").ByCaller["lead_agent"] == 314 && used(s, "asks").ByCaller["lead_agent"] == 107
	})
	before := map[string]usage{}
	for _, thread := range threads {
		before[thread] = used(s, thread)
	}
	for i, how := range []os.Signal{os.Kill, syscall.SIGTERM, os.Kill, syscall.SIGTERM, os.Kill} {
		s.end(t, how)
		asked := len(model.Requests())
		s = serve(t, nil, "--data", dir, "--config", conf)
		until(t, func() bool { return len(model.Requests()) >= asked+4 }) // as many runs go on
		for _, thread := range threads {
			// A step in progress is counted when it is stored; what was counted stays as it is.
			if now := used(s, thread); before[thread].Total > 0 && thread != "worked" && thread != "helped" &&
				now.Total != before[thread].Total {
				t.Errorf("start %d, %s: %+v, before %+v", i+1, thread, now, before[thread])
			}
		}
	}
	model.Open("go")
	want := serve(t, nil, "--data", t.TempDir(), "--config", conf)
	begun(want)
	for _, at := range []*server{s, want} {
		for _, thread := range threads {
			until(t, func() bool {
				list := runsOf(t, at, thread)
				return len(list) > 0 && list[0].Status != "running" && list[0].Status != "pending"
			})
		}
		titled(at, threads...)
	}
	for _, thread := range threads {
		a, b := used(s, thread), used(want, thread)
		if a.Total == 0 || a.Total != b.Total || !maps.Equal(a.ByCaller, b.ByCaller) || a.Runs != b.Runs {
			t.Errorf("%s: %+v, without stops %+v", thread, a, b)
		}
	}
}
