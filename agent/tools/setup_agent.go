package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/profile"
)

// Names of the tools that create and change custom agents.
const (
	SetupAgentName  = "setup_agent"
	UpdateAgentName = "update_agent"
)

//go:embed setup_agent.md
var setupAgentText string

//go:embed update_agent.md
var updateAgentText string

const setupAgentSchema = `{"type":"object","required":["soul","description"],"properties":{
"soul":{"type":"string","description":"who the agent is, in Markdown: the whole text of its SOUL.md"},
"description":{"type":"string","description":"what the agent is for, in one sentence"},
"skills":{"type":"array","items":{"type":"string"},"description":"names of the skills it may use; leave out for all, empty for none"}}}`

const updateAgentSchema = `{"type":"object","properties":{
"soul":{"type":"string","description":"the whole new text of SOUL.md, in Markdown"},
"description":{"type":"string","description":"what the agent is for, in one sentence"},
"skills":{"type":"array","items":{"type":"string"},"description":"names of the skills it may use; empty for none"},
"tool_groups":{"type":"array","items":{"type":"string"},"description":"groups of tools it may use, such as web, file:read, file:write, bash"},
"model":{"type":"string","description":"name of a configured model"}}}`

// agentArgs are the arguments of both tools. Models write words such as "null" for omitted values.
type agentArgs struct{ Soul, Description, Skills, Groups, Model json.RawMessage }

// readAgentArgs parses arguments and drops placeholders.
func readAgentArgs(raw json.RawMessage) (a agentArgs, problem string) {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return a, "the arguments are not a valid JSON object"
	}
	for key, into := range map[string]*json.RawMessage{"soul": &a.Soul, "description": &a.Description,
		"skills": &a.Skills, "tool_groups": &a.Groups, "model": &a.Model} {
		var word string
		if json.Unmarshal(given[key], &word) == nil {
			word = strings.ToLower(strings.TrimSpace(word))
			if word == "null" || word == "none" || word == "undefined" {
				continue
			}
		}
		if v := given[key]; string(v) != "null" {
			*into = v
		}
	}
	return a, ""
}

// apply applies the arguments to an agent and names the changed fields.
func (a agentArgs) apply(to *profile.Agent) (changed []string, problem string) {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
		into *string
	}{{"soul", a.Soul, &to.Soul}, {"description", a.Description, &to.Description}, {"model", a.Model, &to.Model}} {
		if f.raw == nil {
			continue
		}
		if json.Unmarshal(f.raw, f.into) != nil {
			return nil, fmt.Sprintf("argument %q must be a string", f.name)
		}
		*f.into = strings.TrimSpace(*f.into)
		changed = append(changed, f.name)
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
		into *[]string
	}{{"skills", a.Skills, &to.Skills}, {"tool_groups", a.Groups, &to.ToolGroups}} {
		if f.raw == nil {
			continue
		}
		list, ok := nameList(f.raw)
		if !ok {
			return nil, fmt.Sprintf("argument %q must be a list of names", f.name)
		}
		*f.into = list
		changed = append(changed, f.name)
	}
	return changed, ""
}

// nameList reads a list, possibly JSON inside a string.
func nameList(raw json.RawMessage) (list []string, ok bool) {
	var inside string
	if json.Unmarshal(raw, &inside) == nil {
		raw = json.RawMessage(inside)
	}
	ok = json.Unmarshal(raw, &list) == nil && list != nil
	return list, ok
}

// SetupAgent returns the tool that saves the agent created in a conversation: the one named in the turn's options or,
// without a name, the lead agent's personality.
func SetupAgent(l *profile.Library) *agent.Tool {
	return &agent.Tool{
		Name: SetupAgentName, Description: strings.TrimSpace(setupAgentText), Schema: json.RawMessage(setupAgentSchema),
		Run: func(_ context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			args, problem := readAgentArgs(c.Args)
			args.Groups, args.Model = nil, nil
			a := profile.Agent{Name: t.Options.AgentName}
			if problem == "" {
				_, problem = args.apply(&a)
			}
			switch {
			case problem != "":
				return agent.ErrorResult("Error: " + problem), nil
			case a.Soul == "":
				return agent.ErrorResult(`Error: argument "soul" is missing: write who the agent is`), nil
			}
			if a.Name == "" {
				if err := l.SetSoul(t.Owner, a.Soul); err != nil {
					return agentFailure(err)
				}
				return agent.TextResult("Saved Fawn's own soul, " + characters(a.Soul) +
					". This takes effect with the next message, in every chat."), nil
			}
			err := l.Create(t.Owner, a)
			if errors.Is(err, profile.ErrExists) { // a call that a crash cut off may have done it
				was, err2 := l.Get(t.Owner, a.Name)
				if err2 != nil || was.Soul != a.Soul || was.Description != a.Description {
					return agent.ErrorResult(fmt.Sprintf(
						"Error: there is already an agent %q, and it was not changed. Tell the user to choose another name, or to talk to that agent and ask it to change itself.", a.Name)), nil
				}
				err = nil
			}
			if err != nil {
				return agentFailure(err)
			}
			return agent.TextResult("Created the agent " + a.Name + ".\n" +
				agentSummary(a, []string{"description", "soul", "skills"})), nil
		},
	}
}

// UpdateAgent returns the tool with which a custom agent changes itself. known reports whether there is a model of a
// name.
func UpdateAgent(l *profile.Library, known func(model string) bool) *agent.Tool {
	return &agent.Tool{
		Name: UpdateAgentName, Description: strings.TrimSpace(updateAgentText),
		Schema: json.RawMessage(updateAgentSchema),
		Run: func(_ context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			args, problem := readAgentArgs(c.Args)
			if problem != "" {
				return agent.ErrorResult("Error: " + problem), nil
			}
			var changed []string
			a, err := l.Change(t.Owner, t.Options.AgentName, func(a *profile.Agent) error {
				changed, problem = args.apply(a)
				switch {
				case problem != "":
				case len(changed) == 0:
					problem = "nothing to change was given: name at least one of soul, description, skills, tool_groups, model"
				case args.Soul != nil && a.Soul == "":
					problem = "the soul must not be empty: write its whole text"
				case args.Model != nil && a.Model != "" && !known(a.Model):
					problem = fmt.Sprintf("there is no model %q", clip(a.Model, 80))
				}
				if problem != "" {
					return errUnchanged
				}
				return nil
			})
			switch {
			case problem != "":
				return agent.ErrorResult("Error: " + problem), nil
			case err != nil:
				return agentFailure(err)
			}
			slices.Sort(changed)
			return agent.TextResult("Updated the agent " + a.Name + ". This takes effect with the next message.\n" +
				agentSummary(a, changed)), nil
		},
	}
}

// errUnchanged leaves an agent unchanged.
var errUnchanged = errors.New("the agent stays as it is")

// agentFailure converts an error to a message for the model, or returns errors beyond its control.
func agentFailure(err error) (agent.Result, error) {
	var bad *profile.Invalid
	switch {
	case errors.As(err, &bad):
		return agent.ErrorResult("Error: " + bad.Error()), nil
	case errors.Is(err, profile.ErrNotFound), errors.Is(err, profile.ErrFull):
		return agent.ErrorResult("Error: " + err.Error()), nil
	}
	return agent.Result{}, err
}

// agentSummary lists the written fields.
func agentSummary(a profile.Agent, fields []string) string {
	var lines []string
	list := func(names []string) string {
		switch {
		case names == nil:
			return "all"
		case len(names) == 0:
			return "none"
		}
		return agent.Escape(strings.Join(names, ", "))
	}
	for _, f := range fields {
		v := map[string]string{"soul": characters(a.Soul), "description": agent.Escape(a.Description),
			"model":  agent.Escape(a.Model),
			"skills": list(a.Skills), "tool_groups": list(a.ToolGroups)}[f]
		lines = append(lines, "- "+f+": "+v)
	}
	return strings.Join(lines, "\n")
}

func characters(s string) string { return fmt.Sprintf("%d characters", utf8.RuneCountInString(s)) }
