package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/command"
	"fawn/sandbox/files"
)

// Files opens the files of a thread; the caller closes them.
type Files func(thread string) (*files.Files, error)

// AuditRecord is an attempt of a model in the sandbox: a command, or a forbidden path.
type AuditRecord struct {
	Time    time.Time
	Thread  string
	Run     string
	NS      string // namespace of a helper, as in agent.Turn
	Call    string // id of the tool call
	Tool    string
	Verdict command.Level
	Reason  string // empty when it passed

	// Command is the command to run: its first 500 characters, 200 if it was blocked. SHA256 is the hex digest of the
	// whole. Both are empty for a path.
	Command, SHA256 string
	// Path is the refused path.
	Path string
}

const (
	recordedCommand = 500
	recordedBlocked = 200
)

// Audit checks each command before it runs, refuses destructive ones and adds a note to the result of suspicious ones.
// record receives a row for each finished or refused command and for each path refused to a file tool; it must not
// block. Tools themselves decide about paths; rows only report it.
func Audit(open Files, record func(AuditRecord)) agent.Middleware {
	a := auditor{open, record}
	return agent.Middleware{
		Name: "audit",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				if c.Name == "bash" {
					return a.command(ctx, t, c, next)
				}
				r, err := next(ctx, t, c)
				if err == nil && r.IsError {
					a.paths(t, c)
				}
				return r, err
			}
		},
	}
}

type auditor struct {
	open   Files
	record func(AuditRecord)
}

func (a auditor) command(ctx context.Context, t *agent.Turn, c agent.ToolCall, next agent.ToolFunc) (
	agent.Result, error) {
	var args struct {
		Command *string `json:"command"`
	}
	if json.Unmarshal(c.Args, &args) != nil || args.Command == nil {
		return next(ctx, t, c) // the tool reports invalid arguments
	}
	script := *args.Command
	v := command.Judge(script)
	row, sum := a.row(t, c, v.Level, v.Reason), sha256.Sum256([]byte(script))
	shown := script
	if mask := t.Options.Secrets.Masker(); mask != nil {
		shown = mask(script)
	}
	row.SHA256, row.Command = hex.EncodeToString(sum[:]), first(shown, recordedCommand)
	if v.Level == command.Block {
		row.Command = first(shown, recordedBlocked)
		a.record(row)
		text := fmt.Sprintf("Command blocked: %s. Nothing was run. %s", v.Reason, adviceFor(v.Reason))
		return agent.ErrorResult(text), nil
	}
	r, err := next(ctx, t, c)
	a.record(row) // after the sandbox's row for the same call
	if err == nil && v.Level == command.Warn && r.Content.Blocks == nil {
		r.Content.Text += fmt.Sprintf("\n\nNote on this command: %s. In this sandbox that reaches no further than "+
			"this conversation; do it only if the task needs it.", v.Reason)
	}
	return r, err
}

func adviceFor(reason string) string {
	if reason == command.TooLong {
		return "Write it to a file with write_file and run that."
	}
	return "Do what you need in another way: name the files exactly, stay below /mnt/user-data, and look at " +
		"downloaded code before you run it."
}

// paths records which paths of a failed call are forbidden.
func (a auditor) paths(t *agent.Turn, c agent.ToolCall) {
	writes := c.Name == "write_file" || c.Name == "str_replace"
	for _, p := range pathsOf(c) {
		err := a.refused(t.ThreadID, p, writes)
		if err == nil {
			continue
		}
		row := a.row(t, c, command.Block, first(err.Error(), recordedBlocked))
		row.Path = first(p, recordedCommand)
		a.record(row)
	}
}

// pathsOf returns the paths a call of a file tool names.
func pathsOf(c agent.ToolCall) []string {
	switch c.Name {
	case "ls", "glob", "grep", "read_file", "write_file", "str_replace", "view_image", "present_files":
	default:
		return nil
	}
	var args struct {
		Path  string   `json:"path"`
		Image string   `json:"image_path"`
		Files []string `json:"filepaths"`
		Older []string `json:"file_paths"`
	}
	if json.Unmarshal(c.Args, &args) != nil {
		return nil
	}
	var out []string
	for _, p := range append(append([]string{args.Path, args.Image}, args.Files...), args.Older...) {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// refused returns the reason why a path is forbidden, or nil.
func (a auditor) refused(thread, p string, writes bool) error {
	clean, err := files.Clean(p)
	if err != nil {
		return err
	}
	if writes && within(files.Skills, clean) {
		return files.ErrReadOnly
	}
	f, err := a.open(thread)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Stat(clean); errors.Is(err, files.ErrEscape) {
		return err
	}
	return nil
}

func (a auditor) row(t *agent.Turn, c agent.ToolCall, v command.Level, reason string) AuditRecord {
	return AuditRecord{Time: time.Now(), Thread: t.ThreadID, Run: t.RunID, NS: t.NS, Call: c.ID, Tool: c.Name,
		Verdict: v, Reason: reason}
}

// within reports whether a clean path is root or below it.
func within(root, p string) bool {
	return p == root || len(p) > len(root) && p[len(root)] == '/' && p[:len(root)] == root
}

// first cuts a text after n characters.
func first(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
