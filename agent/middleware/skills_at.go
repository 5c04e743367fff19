package middleware

import (
	"context"
	"encoding/json"
	"strings"

	"fawn/agent"
	"fawn/sandbox/files"
)

// SkillsAt translates the owner's path of skills used by models. In tool calls, paths below root become paths below
// [files.Skills] before they are stored; commands find the folder at both.
func SkillsAt(root string) agent.Middleware {
	return agent.Middleware{
		Name: "skills_at",
		AfterModel: func(_ context.Context, _ *agent.Turn, r *agent.Reply) error {
			for i, c := range r.Message.ToolCalls {
				r.Message.ToolCalls[i].Args = usualPaths(c.Args, root)
			}
			return nil
		},
	}
}

// usualPaths replaces the folder in arguments that are paths.
func usualPaths(raw json.RawMessage, root string) json.RawMessage {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		return raw
	}
	changed := false
	for key, value := range args {
		var p string
		if !strings.Contains(key, "path") || json.Unmarshal(value, &p) != nil ||
			p != root && !strings.HasPrefix(p, root+"/") {
			continue
		}
		b, err := agent.Encode(files.Skills + p[len(root):])
		if err != nil {
			return raw
		}
		args[key], changed = b, true
	}
	if !changed {
		return raw
	}
	b, err := agent.Encode(args)
	if err != nil {
		return raw
	}
	return b
}
