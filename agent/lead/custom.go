package lead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/profile"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/agent/tools"
)

// shortSoul limits the characters of a soul and of a profile for models with a small window.
const shortSoul = 1500

// custom holds a run's settings of a custom agent, or additions to the lead agent.
type custom struct {
	profile.Agent          // without a name it is the lead agent
	user          string   // USER.md
	making        bool     // the conversation creates the agent of that name
	project       *Project // the thread's project; nil for none
	collections   []Collection
}

// BrokenAgentError ends a run of an agent with unreadable files.
type BrokenAgentError struct {
	Name string
	Err  error
}

// Error names the agent and the problem.
func (e *BrokenAgentError) Error() string {
	var bad *profile.Invalid
	why := e.Err.Error()
	if errors.As(e.Err, &bad) {
		why = bad.Why
	}
	return fmt.Sprintf("the agent %q can't be used: %s", agent.Head(e.Name, 80), why)
}

// Unwrap returns the cause.
func (e *BrokenAgentError) Unwrap() error { return e.Err }

// ErrorName names the kind of failure for clients.
func (e *BrokenAgentError) ErrorName() string { return "BrokenAgent" }

// CheckAgent returns an *UnknownAgentError unless the options of a run name the lead agent, one of the library or a new
// one to be made; a *BrokenAgentError if its files cannot be read. No name also means the lead agent. The library may
// be nil.
func CheckAgent(l *profile.Library, owner string, o agent.Options) error {
	_, err := chosenAgent(l, owner, o)
	return err
}

// chosenAgent reads the agent that the options name.
func chosenAgent(l *profile.Library, owner string, o agent.Options) (profile.Agent, error) {
	name, err := profile.Spelled(o.AgentName)
	if err != nil {
		return profile.Agent{}, &UnknownAgentError{o.AgentName}
	}
	if name == "" || o.Bootstrap && l != nil {
		return profile.Agent{Name: name}, nil
	}
	if l == nil {
		return profile.Agent{}, &UnknownAgentError{o.AgentName}
	}
	a, err := l.Get(owner, name)
	var bad *profile.Invalid
	switch {
	case errors.Is(err, profile.ErrNotFound):
		return a, &UnknownAgentError{o.AgentName}
	case errors.As(err, &bad):
		return a, &BrokenAgentError{name, err}
	}
	return a, err
}

// who reads the agent of a run, again for each run, because files may be edited by hand. Its preferences fill options
// that the caller leaves open.
func (b *Builder) who(ctx context.Context, s runs.Spec) (c custom, err error) {
	o := s.Options
	if id := s.AssistantID; o.AgentName == "" && b.agents != nil && !request.BuiltIn(id) {
		if name, err := profile.Spelled(id); err == nil && b.agents.Has(s.Owner, name) {
			o.AgentName = name
		}
	}
	var project *Project
	if !o.Bootstrap && !o.Guest && !s.Unfiled {
		if project, err = b.project(ctx, s.ThreadID); err != nil {
			return c, err
		}
	}
	own := o.AgentName != "" // the chat has chosen its agent
	var may access.Rights
	if project != nil {
		if may, err = b.access.Of(ctx, s.Owner); err != nil {
			return c, err
		}
	}
	if project != nil && project.Agent != "" && !own {
		switch {
		case !may.May(access.Agent, project.Agent):
			remark(s, "project_warning", "you may not use the project's agent; the chat went on without it")
		case b.agents != nil && b.agents.Has(s.Owner, project.Agent):
			o.AgentName = project.Agent
		default:
			remark(s, "project_warning", "the project's agent "+agent.Head(project.Agent, 80)+" isn't there; the chat went on without it")
		}
	}
	if c.Agent, err = chosenAgent(b.agents, s.Owner, *o); err != nil {
		return c, err
	}
	c.project = project
	if project != nil {
		if c.Skills == nil {
			c.Skills = project.Skills
		}
		if o.ModelName == "" && (!own || c.Model == "") && project.Model != "" {
			if may.May(access.Model, project.Model) {
				o.ModelName = project.Model
			} else { // without its name, which lists don't show them either
				remark(s, "project_warning", "you may not use the project's model; the chat went on with another one")
			}
		}
	}
	o.AgentName, c.making = c.Name, o.Bootstrap
	if b.agents == nil {
		return c, nil
	}
	if c.making {
		o.PlanMode, o.Subagents = false, false
		return c, nil
	}
	if c.Name == "" {
		c.Soul, err = b.agents.Soul()
		unread(s, err)
	}
	c.user, err = b.agents.User(s.Owner)
	unread(s, err)
	if o.ModelName == "" {
		o.ModelName = c.Model
	}
	if o.ReasoningEffort == "" && !o.ThinkingGiven {
		o.ReasoningEffort = c.Effort
	}
	if c.Thinking != nil && !o.ThinkingGiven {
		o.Thinking, o.ThinkingAsked = *c.Thinking, *c.Thinking
	}
	return c, nil
}

// unread records on a run that a text about the lead agent or the user can't be read: the run continues without it.
func unread(s runs.Spec, err error) {
	var bad *profile.Invalid
	if errors.As(err, &bad) {
		remark(s, "profile_warning", bad.Why)
	} else if err != nil {
		remark(s, "profile_warning", "SOUL.md or USER.md can't be read")
	}
}

// settle returns a model's entry with the agent's own settings applied.
func (c custom) settle(m config.Model) config.Model {
	if c.Temperature != nil {
		m.Temperature = c.Temperature
	}
	if c.MaxTokens != nil {
		m.MaxTokens = *c.MaxTokens
	}
	return m
}

// about describes the agent and the user for the prompt, in full or shortened for models with a small window.
func (c custom) about(short bool) []safe {
	soul, user := strings.TrimSpace(c.Soul), strings.TrimSpace(c.user)
	if short {
		soul, user = agent.Head(soul, shortSoul), agent.Head(user, shortSoul)
	}
	var parts []safe
	if c.making {
		return append(parts, safe(strings.ReplaceAll(string(ours("bootstrap")), "{name}", string(quote(c.called())))))
	}
	if soul != "" {
		parts = append(parts, "<soul>\n"+safe(agent.EscapeLines(soul))+"\n</soul>")
	}
	if c.Name != "" && !short {
		parts = append(parts, ours("self_update"))
	}
	if user != "" {
		parts = append(parts, "<user_profile>\n"+safe(agent.EscapeLines(user))+"\n</user_profile>")
	}
	return parts
}

// called returns the name used in a conversation about creating an agent.
func (c custom) called() string {
	if c.Name == "" {
		return "Fawn"
	}
	return c.Name
}

// named returns the first section of the prompt, in which the agent has its own name.
func (c custom) named(lead safe) safe {
	if c.Name == "" || c.making {
		return lead
	}
	return safe(strings.Replace(string(lead), "You are Fawn,", "You are "+string(quote(c.Name))+
		", one of the user's own agents in Fawn,", 1))
}

// has reports whether the agent may use tools of a group.
func (c custom) has(group string) bool {
	return group == "" || c.ToolGroups == nil || slices.Contains(c.ToolGroups, group)
}

// equip adds the agent's own tools and removes those it may not use.
func (c custom) equip(b *Builder, e *equipment) {
	known := func(name string) bool {
		_, ok := b.config().Model(name)
		return ok || name == OfflineModel
	}
	switch {
	case b.agents == nil:
		return
	case c.making:
		e.hidden = nil
		e.tools = slices.DeleteFunc(e.tools, func(t *agent.Tool) bool { return t.Name != tools.AskClarification })
		e.tools = append(e.tools, tools.SetupAgent(b.agents))
		return
	case c.Name != "" && e.helper == nil && !e.options.NonInteractive:
		e.tools = append(slices.DeleteFunc(e.tools, func(t *agent.Tool) bool { return t.Name == tools.UpdateAgentName }),
			tools.UpdateAgent(b.agents, known))
	}
	if c.ToolGroups != nil {
		e.limit(func(list []*agent.Tool) []*agent.Tool {
			return slices.DeleteFunc(slices.Clone(list), func(t *agent.Tool) bool { return !c.has(t.Group) })
		})
	}
}

// modelKey distinguishes a model's entry with an agent's settings from the plain one.
func modelKey(m config.Model) string {
	key := m.Name + "\x00" + strconv.Itoa(m.MaxTokens)
	if m.Temperature != nil {
		key += "\x00" + strconv.FormatFloat(*m.Temperature, 'g', -1, 64)
	}
	return key
}

// making returns the prompt of a conversation that creates an agent; nothing else is needed.
func making(e equipment) string {
	parts := e.about()
	if slices.ContainsFunc(e.tools, func(t *agent.Tool) bool { return t.Name == tools.AskClarification }) &&
		!e.options.DisableClarification {
		parts = append(parts, ours("clarify"))
	}
	return string(join(parts))
}
