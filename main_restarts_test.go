//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestKillsCountOnlyAgainstARunThatGetsNowhere: a run with a step between any two of seven kills ends well, and one that
// stands still is given up after three that got nothing done.
func TestKillsCountOnlyAgainstARunThatGetsNowhere(t *testing.T) {
	t.Parallel()
	const kills = 7
	model, dir := scriptmodel.Start(t), t.TempDir()
	conf := file(t, "config.yaml", "memory: {model_name: offline}\ntitle: {model_name: offline}\nsandbox: {provider: off}\n"+
		webtest.Model(model))
	var turns strings.Builder
	for i := range kills {
		fmt.Fprintf(&turns, `{"text": "step %d. ", "gate": "go%d", "tool_calls": [{"name": "ls", "args": {"description": "look",
			"path": "/mnt/user-data"}}]}, `, i, i)
	}
	bodies := map[string]string{
		"works":  `SCRIPT{"turns": [` + turns.String() + `{"text": "all done"}]}`,
		"stands": `SCRIPT{"turns": [{"text": "I stand still. ", "gate": "never"}]}`,
	}
	s := serve(t, nil, "--data", dir, "--config", conf)
	for thread, text := range bodies {
		call[any](t, s, "POST", "/threads/"+thread+"/runs", input(text))
	}
	until(t, func() bool { return len(model.Requests()) == len(bodies) })
	ended := 0
	for kill := range kills {
		until(t, func() bool { return knows(model, kill) })
		s.end(t, os.Kill)
		asked := len(model.Requests())
		s = serve(t, nil, "--data", dir, "--config", conf)
		until(t, func() bool {
			if r := runsOf(t, s, "stands")[0]; r.StopReason != "" && ended == 0 {
				if ended = kill + 1; r.Status != "interrupted" || r.StopReason != "orphan_recovered" {
					t.Errorf("what stands still ended as %+v", r)
				}
			}
			open := len(bodies)
			if ended > 0 {
				open--
			}
			return len(model.Requests()) >= asked+open
		})
		model.Open(fmt.Sprint("go", kill))
	}
	if ended != 4 { // the first start stored the question
		t.Errorf("what stands still was given up after %d kills", ended)
	}
	until(t, func() bool { return status(t, s, "works") == "idle" })
	if list := runsOf(t, s, "works"); len(list) != 1 || list[0].Status != "success" || list[0].StopReason != "" {
		t.Errorf("runs: %+v", list)
	}
	if got := messages(t, s, "works"); !strings.HasSuffix(got, "ai:all done\n") || strings.Count(got, "tool:") != kills {
		t.Errorf("it says\n%s", got)
	}
}

// knows tells whether the model was asked with the results of n tools, which are stored by then.
func knows(model *scriptmodel.Server, n int) bool {
	return slices.ContainsFunc(model.Requests(), func(r scriptmodel.Request) bool {
		return strings.Count(string(r.Body), `"role":"tool"`) == n
	})
}

// TestStopsNeverCountAgainstARun, although nothing of it is stored between them.
func TestStopsNeverCountAgainstARun(t *testing.T) {
	t.Parallel()
	model, dir := scriptmodel.Start(t), t.TempDir()
	conf := file(t, "config.yaml", "memory: {model_name: offline}\ntitle: {model_name: offline}\nsandbox: {provider: off}\n"+
		webtest.Model(model))
	s := serve(t, nil, "--data", dir, "--config", conf)
	call[any](t, s, "POST", "/threads/t1/runs", input(`SCRIPT{"turns": [{"text": "I wait. ", "gate": "go", "rest": "At last."}]}`))
	for stop := range 7 {
		until(t, func() bool { return len(model.Requests()) > stop })
		if code, _ := s.end(t, syscall.SIGTERM); code != exitOK {
			t.Errorf("stop %d: exit code %d", stop, code)
		}
		s = serve(t, nil, "--data", dir, "--config", conf)
	}
	until(t, func() bool { return len(model.Requests()) > 7 })
	model.Open("go")
	until(t, func() bool { return status(t, s, "t1") != "busy" })
	if list := runsOf(t, s, "t1"); len(list) != 1 || list[0].Status != "success" || list[0].StopReason != "" {
		t.Errorf("runs: %+v", list)
	}
	if got := messages(t, s, "t1"); !strings.HasSuffix(got, "ai:I wait. At last.\n") {
		t.Errorf("it says\n%s", got)
	}
}

// TestKillsAreNoFaultOfADocument that hasn't been looked into: it is read when a server stays.
func TestKillsAreNoFaultOfADocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := must.Get(os.ReadFile(filepath.Join("uploads", "convert", "testdata", "siblings", "fpdf-all.pdf")))(t)
	body, kind := form(t, "table.pdf", string(data))
	left := filepath.Join(dir, "documents", "threads", "job-left", "user-data") // what a conversion removes before its own work
	var s *server
	converted := func() bool {
		list := call[struct {
			Files []struct {
				Conversion *struct{ State, Reason string }
			}
		}](t, s, "GET", "/api/threads/t1/uploads/list", "").Files
		if len(list) == 0 || list[0].Conversion == nil || list[0].Conversion.State == "pending" {
			return false
		}
		if c := list[0].Conversion; c.State != "converted" {
			t.Fatalf("the document is %s: %s", c.State, c.Reason)
		}
		return true
	}
	for kill := range 5 {
		if err := os.MkdirAll(left, 0o700); err != nil {
			t.Fatal(err)
		}
		s = serve(t, nil, "--data", dir)
		if kill == 0 {
			go func(client *http.Client, url string) { // it isn't answered before the kill
				if res, err := client.Post(url, kind, body); err == nil {
					res.Body.Close()
				}
			}(s.client, s.url+"/api/threads/t1/uploads")
		}
		until(t, func() bool {
			_, err := os.Stat(left)
			return err != nil || converted()
		})
		s.end(t, os.Kill)
	}
	s = serve(t, nil, "--data", dir)
	until(t, converted)
}
