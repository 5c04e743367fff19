package middleware

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"fawn/agent"
)

// Limits of a ledger entry, in characters.
const (
	maxDelegationText = 200
	maxDelegationDone = 2000
)

// DurableContext keeps in the state the information that must survive compaction: which helpers were started with which
// results, and which skills were read. readTools are the tools that read skills; skills is their folder.
func DurableContext(readTools []string, skills string) agent.Middleware {
	return agent.Middleware{
		Name: "durable_context",
		BeforeModel: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			return ledger(t, readTools, skills), nil
		},
		AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
			var patch agent.State
			for _, c := range r.Message.ToolCalls {
				if c.Name == taskTool {
					patch.Delegations = append(patch.Delegations, delegation(t, c))
				}
			}
			if patch.Delegations == nil {
				return nil
			}
			joined, err := agent.Join(r.Patch, patch)
			r.Patch = joined
			return err
		},
	}
}

// ledger returns the entries added by the newest results.
func ledger(t *agent.Turn, readTools []string, skills string) (patch agent.State) {
	msgs := t.State.Messages
	i := len(msgs)
	for i > 0 && msgs[i-1].Type == agent.TypeTool {
		i--
	}
	if i == 0 || msgs[i-1].Type != agent.TypeAI {
		return patch
	}
	for _, m := range msgs[i:] {
		at := slices.IndexFunc(msgs[i-1].ToolCalls, func(c agent.ToolCall) bool { return c.ID == m.ToolCallID })
		if at < 0 {
			continue
		}
		c := msgs[i-1].ToolCalls[at]
		switch {
		case c.Name == taskTool:
			d := delegation(t, c)
			d.Status = "completed"
			if m.Status == "error" {
				d.Status = "failed"
			}
			if s, ok := m.Kwargs["subagent_status"].(string); ok && s != "" {
				d.Status = s
			}
			d.StopReason, _ = m.Kwargs["subagent_stop_reason"].(string)
			d.SHA256, _ = m.Kwargs["subagent_result_sha256"].(string)
			d.Ref, _ = m.Kwargs["subagent_result_ref"].(string)
			d.Brief = head(m.Content.String(), maxDelegationDone)
			if brief, ok := m.Kwargs["subagent_result_brief"].(string); ok {
				d.Brief = head(brief, maxDelegationDone)
			}
			patch.Delegations = append(patch.Delegations, d)
		case m.Status != "error" && slices.Contains(readTools, c.Name):
			if ref, ok := skillRead(c, m.Content.String(), skills); ok {
				patch.SkillContext = append(patch.SkillContext, ref)
			}
		}
	}
	return patch
}

func delegation(t *agent.Turn, c agent.ToolCall) agent.Delegation {
	var args struct{ Description, Prompt, Instruction, Type string }
	var typed struct {
		Type string `json:"subagent_type"`
	}
	if json.Unmarshal(c.Args, &args) != nil || json.Unmarshal(c.Args, &typed) != nil {
		typed.Type = ""
	}
	text := args.Description
	for _, other := range []string{args.Instruction, args.Prompt} {
		if text == "" {
			text = other
		}
	}
	return agent.Delegation{ID: c.ID, RunID: t.RunID, Description: head(text, maxDelegationText), Type: typed.Type,
		Status:    "in_progress",
		CreatedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
}

// skillRead reports whether a call read a skill, and which.
func skillRead(c agent.ToolCall, text, skills string) (ref agent.SkillRef, ok bool) {
	var args struct{ Path string }
	if json.Unmarshal(c.Args, &args) != nil {
		return ref, false
	}
	file := path.Clean(args.Path)
	if skills == "" || !strings.HasPrefix(file, strings.TrimSuffix(skills, "/")+"/") || path.Base(file) != "SKILL.md" {
		return ref, false
	}
	ref = agent.SkillRef{Name: path.Base(path.Dir(file)), Path: file,
		LoadedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
	for line := range strings.Lines(head(text, 4000)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "description:"); ok {
			ref.Description = head(strings.Trim(strings.TrimSpace(v), `"'`), 500)
			break
		}
	}
	return ref, true
}
