package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/sandbox/files"
)

// Name is the tool's, as DeerFlow calls it.
const Name = "invoke_acp_agent"

const (
	maxPrompt  = 256 << 10 // bytes
	maxCopied  = 500       // files of one call
	maxFile    = 32 << 20  // bytes of a file that is copied
	maxListed  = 50        // files listed for the model
	defaultEnd = 30 * time.Minute
)

// Agent is a configured agent.
type Agent struct {
	Command     string
	Args        []string
	Env         map[string]string
	Description string
	Model       string        // "" is the agent's choice
	Approve     bool          // grant all requested permissions; otherwise none
	Timeout     time.Duration // limit of a call
}

// Options configure the tool.
type Options struct {
	Agents map[string]Agent
	Dirs   files.Dirs
	Open   func(thread string) (*files.Files, error)
	Log    *slog.Logger
}

// Tool returns the tool with which a model calls these agents.
func Tool(o Options) (*agent.Tool, error) {
	names := slices.Sorted(maps.Keys(o.Agents))
	var about strings.Builder
	about.WriteString("Gives a task to another agent, which works on its own in a folder of this conversation that it keeps " +
		"between calls. It sees neither this conversation nor its files: the prompt must say all that it needs. Its " +
		"answer comes back, and the files that it made are copied to " + files.Workspace + "/acp/NAME. The agents:\n")
	for _, name := range names {
		fmt.Fprintf(&about, "- %s: %s\n", name, cmp.Or(o.Agents[name].Description, "an external agent"))
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "required": []string{"agent", "prompt"},
		"properties": map[string]any{"agent": map[string]any{"type": "string", "enum": names},
			"prompt": map[string]any{"type": "string", "description": "the whole task"}}})
	if err != nil {
		return nil, err
	}
	return &agent.Tool{Name: Name, Description: about.String(), Schema: schema, Server: "acp", Native: Name,
		Access: func(c agent.ToolCall) agent.Access { // the calls of one agent share a folder
			a, _ := read(c)
			return agent.Access{Writes: []string{"acp:" + a.Agent}}
		},
		Run: func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			a, err := read(c)
			if err != nil {
				return agent.ErrorResult("Error: " + err.Error()), nil
			}
			who, ok := o.Agents[a.Agent]
			if !ok {
				return agent.ErrorResult(fmt.Sprintf("Error: there is no agent %q; there are: %s", a.Agent,
					strings.Join(names, ", "))), nil
			}
			return o.ask(ctx, t, c, a.Agent, who, a.Prompt)
		}}, nil
}

type arguments struct {
	Agent  string `json:"agent"`
	Prompt string `json:"prompt"`
}

func read(c agent.ToolCall) (a arguments, err error) {
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return a, errors.New("the arguments are not a valid JSON object")
	}
	switch {
	case strings.TrimSpace(a.Prompt) == "":
		return a, errors.New(`argument "prompt" is missing`)
	case len(a.Prompt) > maxPrompt:
		return a, fmt.Errorf("the prompt is longer than %d bytes", maxPrompt)
	}
	return a, nil
}

// folder returns an agent's working folder: next to the thread's files, out of reach of its sandbox.
func (o Options) folder(thread, name string) (string, error) {
	base, err := o.Dirs.Folder(thread)
	if err != nil {
		return "", err
	}
	at, err := filepath.Abs(filepath.Join(base, "acp-workspace", name))
	if err != nil {
		return "", err
	}
	return at, os.MkdirAll(at, 0o700)
}

// ask makes an agent work on a task.
func (o Options) ask(ctx context.Context, t *agent.Turn, c agent.ToolCall, name string, who Agent, prompt string) (
	_ agent.Result, err error) {
	if !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
		return agent.ErrorResult(fmt.Sprintf("Error: the name %q of this agent can't be that of a folder", name)), nil
	}
	at, err := o.folder(t.ThreadID, name)
	if err != nil {
		return agent.Result{}, fmt.Errorf("make the folder of the agent %s: %w", name, err)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return agent.Result{}, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	began := time.Now()
	limited, stop := context.WithTimeout(ctx, cmp.Or(who.Timeout, defaultEnd))
	defer stop()
	w := &worker{name: name, who: who, at: at, root: root, turn: t, call: c, log: o.Log}
	answer, err := w.work(limited, prompt)
	if ctx.Err() != nil {
		return agent.Result{}, context.Cause(ctx)
	}
	made, copyErr := o.copyFiles(ctx, t.ThreadID, name, root, began)
	text := answer
	if len(made) > 0 {
		text += "\n\nFiles that it made or changed:\n"
		for i, p := range made {
			if i == maxListed {
				text += fmt.Sprintf("- and %d more\n", len(made)-i)
				break
			}
			text += "- " + p + "\n"
		}
	}
	if copyErr != nil {
		text += "\n\nNot all of its files could be copied: " + copyErr.Error()
	}
	text = strings.TrimSpace(text)
	switch {
	case limited.Err() != nil:
		err = fmt.Errorf("it took longer than %v", cmp.Or(who.Timeout, defaultEnd))
	case err == nil && text == "":
		return agent.TextResult("It has ended without an answer."), nil
	case err == nil:
		return agent.TextResult(text), nil
	}
	out := fmt.Sprintf("Error: the agent %s failed: %s", name, w.veiled(err.Error()))
	if text != "" {
		out += "\n\nUntil then it said:\n" + text
	}
	return agent.ErrorResult(out), nil
}

// copyFiles copies files the agent created since into the thread's workspace and returns their paths.
func (o Options) copyFiles(ctx context.Context, thread, name string, root *os.Root, since time.Time) (made []string, err error) {
	var tree *files.Files
	defer func() {
		if tree != nil {
			err = errors.Join(err, tree.Close())
		}
	}()
	since = since.Truncate(time.Second) // limited to the precision of some file systems
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.ModTime().Before(since) {
			return err
		}
		if len(made) >= maxCopied {
			return fmt.Errorf("there are more than %d", maxCopied)
		}
		if info.Size() > maxFile {
			return fmt.Errorf("%s is larger than %d bytes", p, maxFile)
		}
		data, err := root.ReadFile(p)
		if err != nil {
			return err
		}
		if tree == nil {
			if tree, err = o.Open(thread); err != nil {
				return err
			}
		}
		to := path.Join(files.Workspace, "acp", name, p)
		if err := tree.WriteFile(ctx, to, data, false); err != nil {
			return err
		}
		made = append(made, to)
		return nil
	})
	return made, err
}
