package middleware

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/skills"
	"fawn/sandbox/files"
)

// maxSkillText limits the characters of a skill added to a message; the rest is in its file.
const maxSkillText = 60_000

// SkillRules configure a run's skills.
type SkillRules struct {
	// List returns all skills, enabled or not.
	List func() ([]skills.Skill, error)
	// Allowed lists the names this agent may use; nil allows all.
	Allowed []string
	// Slash lets messages name a skill.
	Slash bool
	// At is the folder of skills named to the model; "" is files.Skills.
	At string
	// Readers are the tools that read files.
	Readers []string
}

// Skills lets a message that begins with /name include a skill's text, and restricts the agent to the skill's allowed
// tools while it is in use: from being named or read until the user's next message.
func Skills(rules SkillRules) agent.Middleware {
	u := &skillUse{rules: rules}
	return agent.Middleware{Name: "skills", BeforeAgent: u.begin, WrapModel: u.reply, WrapTool: u.limit}
}

// skillUse is the state of skills in one run.
type skillUse struct {
	rules  SkillRules
	named  *skills.Skill // by the message of this turn
	answer string        // instead of a model's, if the skill is unavailable
}

func (u *skillUse) begin(_ context.Context, t *agent.Turn) (agent.State, error) {
	anchor := agent.LastGenuine(t.State.Messages)
	if anchor == nil || !u.rules.Slash {
		return agent.State{}, nil
	}
	name, rest, ok := skills.Asked(anchor.Content.String())
	if !ok {
		return agent.State{}, nil
	}
	s, why := u.find(name)
	if why != "" {
		if last := t.State.Messages[len(t.State.Messages)-1]; last.ID == anchor.ID {
			u.answer = why
		}
		return agent.State{}, nil
	}
	u.named = &s
	id := "skill:" + anchor.ID
	if slices.ContainsFunc(t.State.Notes, func(n agent.Note) bool { return n.ID == id }) {
		return agent.State{}, nil // a resumed run; read skills are already recorded
	}
	return agent.State{Notes: []agent.Note{{ID: id, Message: anchor.ID, Place: agent.Before,
		Kind: "skill", Text: skillNote(s, cmp.Or(u.rules.At, files.Skills), rest, t.Options.Secrets)}}}, nil
}

// find returns the skill of a name, or why it cannot be had.
func (u *skillUse) find(name string) (s skills.Skill, why string) {
	all, err := u.rules.List()
	if err != nil {
		return s, "The skills can't be read at the moment. Try again, or ask without `/" + name + "`."
	}
	i := slices.IndexFunc(all, func(s skills.Skill) bool { return s.Name == name })
	switch {
	case i < 0:
		return s, fmt.Sprintf("There is no skill called `%s`.%s", name, u.offer(all))
	case !all[i].Usable():
		return s, fmt.Sprintf("The skill `%s` can't be used: its %s has an error.", name, skills.File)
	case !all[i].Enabled:
		return s, fmt.Sprintf("The skill `%s` is turned off.", name)
	case u.rules.Allowed != nil && !slices.Contains(u.rules.Allowed, name):
		return s, fmt.Sprintf("This agent may not use the skill `%s`.%s", name, u.offer(all))
	}
	return all[i], ""
}

// offer lists the available skills.
func (u *skillUse) offer(all []skills.Skill) string {
	var names []string
	for _, s := range all {
		if s.Enabled && s.Usable() && (u.rules.Allowed == nil || slices.Contains(u.rules.Allowed, s.Name)) {
			names = append(names, "`/"+s.Name+"`")
		}
	}
	if len(names) == 0 {
		return " No skills are available."
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return " Available: " + strings.Join(names, ", ") + "."
}

// skillNote returns the text of a skill as the model reads it.
func skillNote(s skills.Skill, root, rest string, given agent.Secrets) string {
	var b strings.Builder
	sum := sha256.Sum256([]byte(s.Text()))
	at := s.Path(root)
	fmt.Fprintf(&b, "<slash_skill_activation>\nThe user has chosen the skill `%s` for the message below: follow it for this task. It is the file %s (%s, sha256 %s); relative paths in it start at %s. "+
		"It never overrides the user or the rules of your prompt.\n",
		s.Name, agent.Escape(at), s.Category, hex.EncodeToString(sum[:8]), agent.Escape(path.Dir(at)))
	if strings.TrimSpace(rest) == "" {
		b.WriteString("The message says nothing else: begin as the skill says, or ask what it should be used for.\n")
	}
	var set, missing []string
	for _, secret := range s.Secrets {
		switch _, ok := given[secret.Name]; {
		case ok:
			set = append(set, secret.Name)
		case !secret.Optional:
			missing = append(missing, secret.Name)
		}
	}
	if len(set) > 0 {
		b.WriteString("Commands have the variables " + strings.Join(set, ", ") + ".\n")
	}
	if len(missing) > 0 {
		b.WriteString("The skill needs the variables " + strings.Join(missing, ", ") +
			", which are not set. Say so if that keeps you from it.\n")
	}
	text := strings.TrimPrefix(s.Text(), "\ufeff")
	short := agent.Head(text, maxSkillText)
	b.WriteString("<skill>\n" + strings.TrimSpace(agent.EscapeLines(strings.ReplaceAll(short, "\r\n", "\n"))))
	if len(short) < len(text) {
		b.WriteString("\n[The rest is in the file.]")
	}
	b.WriteString("\n</skill>\n</slash_skill_activation>")
	return b.String()
}

// reply answers without a model if the skill is unavailable.
func (u *skillUse) reply(next agent.ModelFunc) agent.ModelFunc {
	return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
		if u.answer == "" {
			return next(ctx, t, req)
		}
		text := u.answer
		u.answer = ""
		return textAnswer(t, text), nil
	}
}

// textAnswer shows an answer not written by a model.
func textAnswer(t *agent.Turn, text string) *agent.Message {
	m := &agent.Message{ID: t.NewID(), Type: agent.TypeAI, Content: agent.Text(text),
		Meta: map[string]any{"finish_reason": "stop"}}
	t.Sink.Emit(agent.Event{Kind: agent.EventChunk, NS: t.NS, Message: m.ID,
		Chunk: agent.Chunk{Text: text, Finish: "stop"}})
	return m
}

// limit refuses calls of tools that the skills in use do not allow.
func (u *skillUse) limit(next agent.ToolFunc) agent.ToolFunc {
	return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		if by := u.forbids(t, c.Name); by != "" {
			return agent.ErrorResult(fmt.Sprintf(
				"Error: Tool '%s' may not be used while the skill %s is: its allowed-tools do not list it.", c.Name, by)), nil
		}
		return next(ctx, t, c)
	}
}

// forbids returns the skills whose lists lack a tool; "" means that it is allowed. A skill named by the user is
// decisive alone. Among read skills, one without a list allows everything.
func (u *skillUse) forbids(t *agent.Turn, tool string) string {
	if u.named != nil {
		if skills.Allows(u.named.AllowedTools, tool) {
			return ""
		}
		return u.named.Name
	}
	read := u.read(t)
	if len(read) == 0 || slices.ContainsFunc(read,
		func(s skills.Skill) bool { return skills.Allows(s.AllowedTools, tool) }) {
		return ""
	}
	var names []string
	for _, s := range read {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// read returns the skills that were read since the user's last message.
func (u *skillUse) read(t *agent.Turn) (out []skills.Skill) {
	done := map[string]bool{}
	var paths []string
	since := sinceQuestion(t.State.Messages)
	for _, m := range since {
		if m.Type == agent.TypeTool && m.Status != "error" {
			done[m.ToolCallID] = true
		}
	}
	for _, m := range since {
		for _, c := range m.ToolCalls {
			var args struct{ Path string }
			if done[c.ID] && slices.Contains(u.rules.Readers, c.Name) && json.Unmarshal(c.Args, &args) == nil &&
				path.Base(args.Path) == skills.File {
				paths = append(paths, path.Clean(args.Path))
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	all, err := u.rules.List()
	if err != nil { // while their lists are not known, they allow harmless tools only
		return []skills.Skill{{Name: path.Base(path.Dir(paths[0])), AllowedTools: []string{}}}
	}
	for _, s := range all {
		if slices.Contains(paths, s.Path(files.Skills)) {
			out = append(out, s)
		}
	}
	return out
}
