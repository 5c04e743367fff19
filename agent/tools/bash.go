package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"errors"
	"fmt"
	"strings"

	"fawn/agent"
	"fawn/sandbox"
	"fawn/sandbox/files"
)

//go:embed bash.md
var bashText string

// GroupBash is the group of the tool that runs commands.
const GroupBash = "bash"

// ExitCodeKey is the key in a failed command's message for its exit code, which the text alone can't distinguish from
// printed output.
const ExitCodeKey = "exit_code"

type bashArgs struct {
	Description string `json:"description" jsonschema:"why you run this command, in a few words"`
	Command     string `json:"command" jsonschema:"the bash script to run"`
}

// Bash returns the tool that runs commands, or nil if the provider runs none. policy is called for each command. Output
// too long for a result is stored in a file of open, in the folder of that name below the thread's outputs.
func Bash(p sandbox.Provider, policy func() sandbox.Policy, open Files, folder func() string) *agent.Tool {
	if p == nil || p.Name() == sandbox.ProviderOff {
		return nil
	}
	tool := newTool("bash", GroupBash, bashText,
		func(ctx context.Context, t *agent.Turn, c agent.ToolCall, a bashArgs) (agent.Result, error) {
			rules := policy()
			box, err := p.Acquire(ctx, sandbox.ThreadRef{ID: t.ThreadID, Owner: t.Owner}, rules)
			if err != nil {
				return notRun(ctx, err)
			}
			all := newSpill(ctx, t, c, open, folder(), rules)
			res, err := box.Exec(ctx, sandbox.ExecReq{
				Command: a.Command,
				All:     all,
				Secrets: t.Options.Secrets,
				Origin:  sandbox.Origin{User: t.Owner, Run: t.RunID, ToolCall: c.ID},
				OnOutput: func(_ sandbox.Stream, chunk []byte) {
					data, err := agent.Encode(agent.Visible(strings.ToValidUTF8(string(chunk), "\uFFFD")))
					if err != nil { // a string always encodes
						return
					}
					t.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, NS: t.NS, Call: c, Data: data})
				},
			})
			whole := all.finish(err == nil && res.Truncated)
			if err != nil {
				return notRun(ctx, err)
			}
			if res.Cancelled {
				if err := context.Cause(ctx); err != nil {
					return agent.Result{}, err
				}
			}
			note := ""
			if res.Truncated {
				note = all.note(whole)
			}
			r := ran(res, note)
			r.Whole = whole
			return r, nil
		})
	tool.Access = commandAccess
	return tool
}

// ran describes the result of a command. A failing command is a plain result, because the model asked for its exit
// code. note gives the path of omitted output.
func ran(res sandbox.ExecResult, note string) agent.Result {
	var parts []string
	if out := strings.TrimRight(string(res.Output), "\n"); strings.TrimSpace(out) != "" {
		parts = append(parts, out)
	}
	if errs := strings.TrimRight(string(res.Errors), "\n"); strings.TrimSpace(errs) != "" {
		parts = append(parts, "Std Error:\n"+errs)
	}
	if note != "" {
		parts = append(parts, note)
	}
	if res.ExitCode != 0 && !res.TimedOut {
		parts = append(parts, fmt.Sprintf("Exit Code: %d", res.ExitCode))
	}
	parts = append(parts, res.Notes...)
	switch {
	case res.Background == 1:
		parts = append(parts, "(1 process of this command keeps running in the background)")
	case res.Background > 1:
		parts = append(parts, fmt.Sprintf("(%d processes of this command keep running in the background)",
			res.Background))
	}
	if len(parts) == 0 {
		parts = []string{"(no output)"}
	}
	r := agent.TextResult(strings.ToValidUTF8(strings.ReplaceAll(strings.Join(parts, "\n"), "\x00", "\uFFFD"),
		"\uFFFD"))
	r.IsError = res.TimedOut || res.Cancelled || res.Quota
	if res.ExitCode != 0 && !res.TimedOut {
		r.Kwargs = map[string]any{ExitCodeKey: res.ExitCode}
	}
	return r
}

// notRun tells the model why there is no result. Errors beyond the model's control stay errors.
func notRun(ctx context.Context, err error) (agent.Result, error) {
	var missing *sandbox.UnavailableError
	switch {
	case ctx.Err() != nil:
		return agent.Result{}, context.Cause(ctx)
	case errors.As(err, &missing):
		return failed("%s", missing)
	case errors.Is(err, sandbox.ErrBusy), errors.Is(err, sandbox.ErrRequest):
		return failed("%s", err)
	case errors.Is(err, files.ErrQuota):
		return failed("%s. Delete files under /mnt/user-data before running commands.", err)
	case errors.Is(err, sandbox.ErrInit):
		return failed("%s. Nothing was run. Try once more; if it fails again, go on without bash and tell the user.", err)
	}
	return agent.Result{}, fmt.Errorf("run command: %w", err)
}
