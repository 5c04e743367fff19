package lead_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/sandbox/files"
)

func builder(t *testing.T, log *slog.Logger, models ...config.Model) (*lead.Builder, files.Dirs) {
	t.Helper()
	file := config.Default()
	file.Models = models
	dirs := files.Dirs{Root: t.TempDir()}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return lead.New(config.Fixed(&config.Snapshot{File: file}).Current, dirs, log), dirs
}

func model(name string) config.Model {
	return config.Model{Name: name, Use: "openai", BaseURL: "http://127.0.0.1:1/v1", APIKey: "key"}
}

// TestModelIsTheOneAskedForElseTheFirstUsable is the table of who answers.
func TestModelIsTheOneAskedForElseTheFirstUsable(t *testing.T) {
	off := model("off")
	off.Disabled = "$KEY is not set"
	thinker := model("thinker")
	thinker.SupportsThinking, thinker.SupportsReasoningEffort, thinker.SupportsVision = true, true, true
	all := []config.Model{off, model("plain"), thinker}
	for _, c := range []struct {
		name   string
		models []config.Model
		ask    agent.Options
		want   agent.Options
		warns  string
	}{
		{"nothing asked", all, agent.Options{}, agent.Options{ModelName: "plain"}, ""},
		{"by name", all, agent.Options{ModelName: "thinker"}, agent.Options{ModelName: "thinker", Vision: true}, ""},
		{"what it can do", all, agent.Options{ModelName: "thinker", Thinking: true, ReasoningEffort: "low"},
			agent.Options{ModelName: "thinker", Thinking: true, ReasoningEffort: "low", Vision: true}, ""},
		{"what it cannot do", all, agent.Options{ModelName: "plain", Thinking: true, ReasoningEffort: "low", Vision: true}, agent.Options{ModelName: "plain"}, ""},
		{"disabled", all, agent.Options{ModelName: "off"}, agent.Options{ModelName: "plain"}, "$KEY is not set"},
		{"unknown", all, agent.Options{ModelName: "gpt-9"}, agent.Options{ModelName: "plain"}, "not configured"},
		{"offline by name", all, agent.Options{ModelName: lead.OfflineModel, Thinking: true}, agent.Options{ModelName: lead.OfflineModel}, ""},
		{"none configured", nil, agent.Options{Thinking: true}, agent.Options{ModelName: lead.OfflineModel}, ""},
		{"none usable", []config.Model{off}, agent.Options{ModelName: "off"}, agent.Options{ModelName: lead.OfflineModel}, "$KEY is not set"},
	} {
		var log bytes.Buffer
		b, _ := builder(t, slog.New(slog.NewTextHandler(&log, nil)), c.models...)
		o := c.ask
		a, err := b.Build(t.Context(), runs.Spec{ThreadID: "t1", RunID: "r1", Options: &o})
		if err != nil || a.Model == nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !reflect.DeepEqual(o, c.want) || a.Options.Thinking != c.want.Thinking ||
			a.Options.Effort != c.want.ReasoningEffort {
			t.Errorf("%s: options %+v, call %+v, want %+v", c.name, o, a.Options, c.want)
		}
		warned := strings.Contains(log.String(), "level=WARN")
		if warned != (c.warns != "") || !strings.Contains(log.String(), c.warns) {
			t.Errorf("%s: log %q", c.name, &log)
		}
	}
	bad := model("bad")
	bad.Use = "no.such:Class"
	b, _ := builder(t, nil, bad)
	_, err := b.Build(t.Context(), runs.Spec{Options: &agent.Options{}})
	if err == nil || !strings.Contains(err.Error(), "model bad") {
		t.Errorf("a class nobody knows: %v", err)
	}
}

// noRewrites fails when a step stores a message under an id that an earlier step has
// stored: each time costs the whole message again.
func noRewrites(t *testing.T, steps []agenttest.Step, known map[string]bool) {
	t.Helper()
	for _, s := range steps {
		for _, m := range s.Patch.Messages {
			if known[m.ID] {
				t.Errorf("step %s stores %s message %s a second time", s.Node, m.Type, m.ID)
			}
			known[m.ID] = true
		}
	}
}

// TestChainOverSeveralTurns runs the real chain and tools with a scripted model: files are
// found and written, failures become results, nothing stored is written again, and what a
// provider has read is sent the same in every later request.
func TestChainOverSeveralTurns(t *testing.T) {
	b, dirs := builder(t, nil)
	script := &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "ls", `{"path":"/mnt/user-data/uploads"}`, "c2", "read_file", `{"path":"/mnt/user-data/uploads/a b.txt"}`, "c3", "read_file", `{"path":"/etc/passwd"}`),
		agenttest.Call("c4", "write_file", `{"path":"/mnt/user-data/outputs/out.md","content":"# done"}`, "c5", "no_such_tool", `{}`),
		agenttest.Call("c6", "present_files", `{"filepaths":["/mnt/user-data/outputs/out.md"]}`),
		agenttest.Say("Here ", "it ", "is."),
		agenttest.Say("You are ", "welcome."),
		agenttest.Call("c7", "read_file", `{bad json`),
		agenttest.Say("Sorry."),
	}}
	sink := &agenttest.Sink{}
	turn := agenttest.Turn("", sink)
	turn.State = agent.State{}
	up := filepath.Join(dirs.Root, "threads", turn.ThreadID, "user-data", "uploads")
	must.Do(t, os.MkdirAll(up, 0o700))
	known := map[string]bool{}
	var before *agent.Request
	for i, text := range []string{"work on <b>this</b>", "thanks", "again"} {
		must.Do(t, os.WriteFile(filepath.Join(up, []string{"a b.txt", "second.txt", "third.txt"}[i]),
			[]byte("line one\n"), 0o600))
		in := &agent.Message{ID: fmt.Sprint("h", i), Type: agent.TypeHuman, Content: agent.Text(text)}
		known[in.ID] = true
		must.Do(t, turn.State.Apply(agent.State{Messages: []*agent.Message{in}}))
		a := must.Get(b.Build(t.Context(), runs.Spec{ThreadID: turn.ThreadID, RunID: fmt.Sprint("r", i),
			Options: &turn.Options}))(t)
		a.Model = script
		must.Get(a.Run(t.Context(), turn))(t)
	}
	noRewrites(t, sink.Steps(), known)
	for _, req := range script.Requests() {
		if before != nil {
			samePrefix(t, before, req)
		}
		before = req
	}

	s := turn.State
	if *s.Title != "work on <b>this</b>" || s.ThreadData == nil ||
		!slices.Equal(s.Artifacts, []string{"/mnt/user-data/outputs/out.md"}) || len(s.UploadedFiles) != 1 ||
		len(s.Told) != 3 {
		t.Errorf("state: title %q, %+v, artifacts %v, uploads %v", *s.Title, s.ThreadData, s.Artifacts, s.UploadedFiles)
	}
	results := map[string]*agent.Message{}
	for _, m := range s.Messages {
		if m.Type == agent.TypeTool {
			results[m.ToolCallID] = m
		}
	}
	for id, want := range map[string]struct{ status, says string }{
		"c1": {"success", "a b.txt"}, "c2": {"success", "line one"}, "c3": {"error", ""}, "c4": {"success", ""},
		"c5": {"error", "no_such_tool"}, "c6": {"success", ""}, "c7": {"error", "JSON"},
	} {
		if m := results[id]; m == nil || m.Status != want.status || !strings.Contains(m.Content.Text, want.says) {
			t.Errorf("%s: %+v", id, m)
		}
	}
	if got, err := os.ReadFile(filepath.Join(up, "..", "outputs", "out.md")); err != nil || string(got) != "# done" {
		t.Errorf("file: %q %v", got, err)
	}
}

// samePrefix checks that a later request begins with the bytes of an earlier one.
func samePrefix(t *testing.T, before, after *agent.Request) {
	t.Helper()
	if before.System != after.System || len(before.Tools) != len(after.Tools) {
		t.Error("system prompt or tools changed")
	}
	for i, m := range before.Messages {
		a, err1 := json.Marshal(m)
		b, err2 := json.Marshal(after.Messages[i])
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("message %d was sent as\n%s\nand is sent as\n%s", i, a, b)
		}
	}
}

// TestToolsMakeFoldersTheyNeed: a tool call before anything has made the thread's folders
// works, and does not end the run.
func TestToolsMakeFoldersTheyNeed(t *testing.T) {
	b, _ := builder(t, nil)
	o := agent.Options{}
	a := must.Get(b.Build(t.Context(), runs.Spec{ThreadID: "t1", Options: &o}))(t)
	a.Chain = nil
	a.Model = &agenttest.Script{
		Replies: []agenttest.Reply{agenttest.Call("c1", "ls", `{"path":"/mnt/user-data/workspace"}`),
			agenttest.Call("c2", "write_file", `{"path":"x.txt","content":"x"}`)},
	}
	turn := agenttest.Turn("go", &agenttest.Sink{})
	must.Get(a.Run(context.Background(), turn))(t)
	for _, m := range turn.State.Messages {
		if m.Type == agent.TypeTool && m.Status != "success" {
			t.Errorf("%s: %s", m.ToolCallID, m.Content.Text)
		}
	}
}

// TestNoLimitMeansNoLimit: 0 in the configuration switches the cut of tool output off.
func TestNoLimitMeansNoLimit(t *testing.T) {
	file := config.Default()
	file.Sandbox.ReadFileOutputMaxChars, file.Sandbox.LsOutputMaxChars = 0, 0
	dirs := files.Dirs{Root: t.TempDir()}
	b := lead.New(config.Fixed(&config.Snapshot{File: file}).Current, dirs, slog.New(slog.DiscardHandler))
	must.Do(t, dirs.Create("t1"))
	long := strings.Repeat("a line of the file\n", 10_000)
	must.Do(t, os.WriteFile(filepath.Join(dirs.Root, "threads", "t1", "user-data", "workspace", "long.txt"),
		[]byte(long), 0o600))
	turn := agenttest.Turn("go", &agenttest.Sink{})
	a := must.Get(b.Build(t.Context(), runs.Spec{ThreadID: "t1", Options: &turn.Options}))(t)
	a.Model = &agenttest.Script{
		Replies: []agenttest.Reply{agenttest.Call("c1", "read_file", `{"path":"long.txt"}`, "c2", "ls",
			`{"path":"/mnt/user-data/workspace"}`)},
	}
	must.Get(a.Run(t.Context(), turn))(t)
	if got := turn.State.Messages[2].Content.Text; len(got) < len(long)-1 {
		t.Errorf("%d of %d characters were read", len(got), len(long))
	}
	if got := turn.State.Messages[3].Content.Text; !strings.Contains(got, "long.txt") {
		t.Errorf("ls: %q", got)
	}
}
