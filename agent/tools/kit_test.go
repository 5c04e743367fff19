package tools_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/tools"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// kit is the built-in tools over the real files of one thread.
type kit struct {
	t    *testing.T
	list []*agent.Tool
	host string // folder of the thread on disk
	turn *agent.Turn
}

func newKit(t *testing.T, change func(*tools.Limits)) *kit {
	t.Helper()
	limits := tools.DefaultLimits()
	if change != nil {
		change(&limits)
	}
	dirs := files.Dirs{Root: t.TempDir()}
	open := func(thread string) (*files.Files, error) {
		if err := dirs.Create(thread); err != nil {
			return nil, err
		}
		return dirs.Open(thread)
	}
	turn := agenttest.Turn("hello", &agenttest.Sink{})
	f := must.Get(open(turn.ThreadID))(t)
	f.Close()
	return &kit{t, tools.Builtin(open, limits, uploads.NoDocuments{}),
		filepath.Join(dirs.Root, "threads", turn.ThreadID, "user-data"), turn}
}

func (k *kit) tool(name string) *agent.Tool {
	i := slices.IndexFunc(k.list, func(t *agent.Tool) bool { return t.Name == name })
	if i < 0 {
		k.t.Fatalf("no tool %s", name)
	}
	return k.list[i]
}

func (k *kit) run(name, args string) agent.Result {
	k.t.Helper()
	r, err := k.tool(name).Run(k.t.Context(), k.turn, agent.ToolCall{ID: "c1", Name: name, Args: json.RawMessage(args)})
	if err != nil {
		k.t.Fatalf("%s(%s): %v", name, args, err)
	}
	if strings.Contains(r.Content.String(), k.host) {
		k.t.Errorf("%s(%s) tells a path of the host: %s", name, args, r.Content)
	}
	return r
}

// want checks the text of a result; one that starts with "Error: " must be an error.
func (k *kit) want(name, args, text string) {
	k.t.Helper()
	r := k.run(name, args)
	if got := r.Content.String(); got != text || r.IsError != strings.HasPrefix(text, "Error: ") {
		k.t.Errorf("%s(%s)\n got %q (error %v)\nwant %q", name, args, got, r.IsError, text)
	}
}

func (k *kit) put(name, content string) {
	k.t.Helper()
	p := filepath.Join(k.host, name)
	must.Do(k.t, errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o644)))
}

func (k *kit) content(name string) string {
	k.t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(k.host, name)))(k.t)
	return string(b)
}
