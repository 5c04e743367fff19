package lead

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/profile"
	"fawn/agent/runs"
	"fawn/agent/subagent"
	"fawn/agent/tools"
	"fawn/sandbox/files"
)

// Names of the prompts of built-in kinds of helpers.
const (
	promptGeneral = "helper_general"
	promptBash    = "helper_bash"
)

// Default turns of built-in helper kinds, and default tokens of any kind.
const (
	generalTurns = 150
	bashTurns    = 60
	helperTokens = 1_000_000
	wholeTokens  = 2_000_000 // without summarization
)

// errNoEnd means that a helper returned without having ended.
var errNoEnd = errors.New("the helper has not ended")

// kinds returns the configured kinds of helpers, built-in ones first. Without bash, kinds that only run commands are
// left out.
func kinds(f config.File, bash bool) []subagent.Kind {
	c := f.Subagents
	list := []subagent.Kind{{
		Name: subagent.General, Prompt: promptGeneral, Denied: subagent.Withheld(),
		MaxTurns: cmp.Or(c.MaxTurns, generalTurns), Timeout: c.Timeout,
		Description: "any task of several steps that can be done apart from the rest; has your tools",
	}}
	if bash {
		list = append(list, subagent.Kind{
			Name: "bash", Prompt: promptBash, Denied: subagent.Withheld(), MaxTurns: cmp.Or(c.MaxTurns, bashTurns),
			Timeout:     c.Timeout,
			Tools:       []string{"bash", "ls", "read_file", "write_file", "str_replace"},
			Description: "commands whose output is long, or that follow from each other: builds, tests, scripts",
		})
	}
	for i := range list {
		list[i] = budgeted(list[i], f, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(c.CustomAgents)) {
		a := c.CustomAgents[name]
		k := subagent.Kind{Name: name, Description: a.Description, Prompt: a.SystemPrompt, Tools: a.Tools,
			Denied: a.DisallowedTools, Skills: a.Skills,
			Model: a.Model, MaxTurns: a.MaxTurns, Timeout: a.Timeout}
		if k.Denied == nil {
			k.Denied = subagent.Withheld()
		}
		list = append(slices.DeleteFunc(list, func(o subagent.Kind) bool { return o.Name == name }),
			budgeted(k, f, a.TokenBudget))
	}
	for i, k := range list {
		if tweak, ok := c.Agents[k.Name]; ok {
			list[i] = tweaked(k, f, tweak)
		}
	}
	return list
}

// tweaked returns a kind with the owner's changes to it.
func tweaked(k subagent.Kind, f config.File, t config.SubagentTweak) subagent.Kind {
	k.Timeout, k.MaxTurns, k.Model = cmp.Or(t.Timeout, k.Timeout), cmp.Or(t.MaxTurns, k.MaxTurns),
		cmp.Or(t.Model, k.Model)
	if t.Skills != nil {
		k.Skills = t.Skills
	}
	if t.TokenBudget != nil {
		k = budgeted(k, f, t.TokenBudget)
	}
	return k
}

// budgeted returns a kind's token budget: its own, else the common one.
func budgeted(k subagent.Kind, f config.File, own *config.SubagentBudget) subagent.Kind {
	b := f.Subagents.TokenBudget
	if own != nil {
		b = *own
	}
	k.MaxTokens, k.WarnAt = 0, 0
	if !b.Enabled {
		return k
	}
	usual := helperTokens
	if !f.Summarization.Enabled {
		usual = wholeTokens
	}
	k.MaxTokens, k.WarnAt = cmp.Or(b.MaxTokens, usual), b.WarnThreshold
	return k
}

// delegates adds the tool that starts helpers to a run.
func (b *Builder) delegates(snap *config.Snapshot, e *equipment, own config.Model) {
	may := e.may
	e.kinds = kinds(permitted(snap.File, may), b.bash() != nil && e.who.has(tools.GroupBash))
	budget, groups := e.budget, custom{Agent: profile.Agent{ToolGroups: e.who.ToolGroups, Skills: e.who.Skills},
		project: e.who.project}
	model := func(k subagent.Kind) string { return b.helperModel(snap, k, own, may) }
	e.task = subagent.New(subagent.Options{
		Kinds: e.kinds, Model: model, Store: b.keepReport, After: b.after, Late: runs.ErrTimeLimit,
		Run: func(ctx context.Context, t *agent.Turn, j subagent.Job) (subagent.End, error) {
			build := func(ctx context.Context, s runs.Spec) (*agent.Agent, error) {
				return b.helperAgent(ctx, snap, s, &j, budget, groups, may)
			}
			return b.send(ctx, t, j, model(j.Kind), build)
		},
	})
}

// helperModel returns the name of the model for a kind of helper: its own, if that can be used.
func (b *Builder) helperModel(snap *config.Snapshot, k subagent.Kind, own config.Model, may access.Rights) string {
	if k.Model == "" || k.Model == "inherit" {
		return own.Name
	}
	if m, ok := snap.Model(k.Model); !ok || m.Disabled != "" || !may.May(access.Model, k.Model) {
		b.log.Warn("subagent model unusable; using the run's model", "kind", k.Name,
			"model", k.Model)
		return own.Name
	}
	return k.Model
}

// send runs one helper.
func (b *Builder) send(ctx context.Context, t *agent.Turn, j subagent.Job, model string,
	build runs.Build) (subagent.End, error) {
	o := t.Options
	o.ModelName, o.PlanMode, o.Subagents, o.DisableClarification = model, false, false, true
	about, err := agent.Encode(map[string]string{"subagent_type": j.Kind.Name, "description": j.Description,
		"model_name": model})
	if err != nil {
		return subagent.End{}, fmt.Errorf("describe a helper: %w", err)
	}
	prompt := &agent.Message{ID: "task:" + j.Call, Type: agent.TypeHuman, Content: agent.Text(j.Prompt)}
	run, state, err := b.spawn(ctx, t, runs.Task{
		Call: j.Call, AssistantID: "lead_agent", Metadata: about, Options: o, MaxSteps: 2 * j.Kind.MaxTurns,
		Input: agent.State{Messages: []*agent.Message{prompt}, Sandbox: t.State.Sandbox,
			ThreadData: t.State.ThreadData},
		Build: build, Began: j.Began, Tell: j.Tell,
	})
	end := subagent.End{Reason: run.StopReason, Error: run.Error, State: state}
	if end.Reason == "recursion_limit" {
		end.Reason = "turn_capped"
	}
	switch {
	case errors.Is(err, runs.ErrStorage):
		return end, err
	case run.Status == runs.Success:
		end.Status = subagent.Completed
	case run.Status == runs.Timeout:
		end.Status = subagent.TimedOut
	case run.Status == runs.Interrupted:
		end.Status = subagent.Cancelled
	case run.Status == runs.Failed:
		end.Status = subagent.Failed
	default:
		return end, cmp.Or(err, errNoEnd)
	}
	return end, nil
}

// helperAgent creates a helper's agent. It has the starting run's tools permitted for its kind, and shares its budget.
func (b *Builder) helperAgent(ctx context.Context, snap *config.Snapshot, s runs.Spec, j *subagent.Job,
	budget *middleware.Budget, groups custom, may access.Rights) (*agent.Agent, error) {
	model, entry, err := b.model(snap, s, custom{}, may)
	if err != nil {
		return nil, err
	}
	if err := fit(s, entry, true); err != nil {
		return nil, err
	}
	entry.ContextWindow = b.window(ctx, entry)
	without, err := b.lacks(ctx, snap.File, s.ThreadID, nil, may)
	if err != nil {
		return nil, err
	}
	e := b.equip(permitted(snap.File, may), *s.Options, entry.ContextWindow, groups.project.without(without))
	e.thread, e.run, e.budget, e.helper, e.may, e.day = s.ThreadID, s.Parent, budget, j, may, b.dayLimit(s, s.Parent, may)
	groups.Skills = may.Narrow(access.Skill, j.Kind.Learned(groups.Skills))
	e.who = groups
	e.skills, e.off = b.skillsOf(groups.Skills)
	e.narrow(b)
	e.fit(entry)
	return b.assemble(snap, e, model), nil
}

// helperBudget ends a helper that spends more than its own share.
func helperBudget(e equipment) middleware.BudgetOptions {
	if e.helper == nil || e.helper.Kind.MaxTokens == 0 {
		return middleware.BudgetOptions{}
	}
	return middleware.BudgetOptions{Enabled: true, MaxTokens: e.helper.Kind.MaxTokens,
		WarnThreshold: e.helper.Kind.WarnAt, HardStopThreshold: 1}
}

// keepReport writes a helper's report to a file of its thread.
func (b *Builder) keepReport(ctx context.Context, t *agent.Turn, call, text string) (string, error) {
	f, err := b.open(t.ThreadID)
	if err != nil {
		return "", fmt.Errorf("open files of thread: %w", err)
	}
	defer f.Close()
	sum := sha256.Sum256([]byte(t.RunID + "\x00" + call + "\x00" + text))
	at := files.Outputs + "/" + b.resultFolder() + "/task-" + hex.EncodeToString(sum[:6]) + ".md"
	if err := f.WriteFile(ctx, at, []byte(text), false); err != nil {
		return "", fmt.Errorf("write a helper's report: %w", err)
	}
	return at, nil
}
