package lead

import (
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/skills"
)

// Limits of the skills listed in a prompt; ls finds the others.
const (
	mostSkills     = 100
	skillListChars = 24_000
)

// maxOff limits the names of skills that are off.
const maxOff = 50

// skillsOf returns the skills available to a run's agent, and the names of those switched off. A run keeps its list;
// changes apply from the next run on.
func (b *Builder) skillsOf(allowed []string) (on []skills.Skill, off []string) {
	if b.skills == nil {
		return nil, nil
	}
	all, err := b.skills.List()
	if err != nil {
		b.log.Warn("couldn't load skills; running without them", "err", err)
		return nil, nil
	}
	on = all[:0] // the list is ours
	for _, s := range all {
		switch {
		case !s.Usable() || allowed != nil && !slices.Contains(allowed, s.Name):
		case s.Enabled:
			on = append(on, s)
		case len(off) < maxOff:
			off = append(off, s.Name)
		}
	}
	return on, off
}

// skillStage returns the stage of skills, or none.
func (b *Builder) skillStage(f config.File, e equipment) agent.Middleware {
	if b.skills == nil || e.who.making {
		return agent.Middleware{}
	}
	return middleware.Skills(middleware.SkillRules{List: b.skills.List, Allowed: e.who.Skills, Slash: e.helper == nil,
		At: b.shownAt, Readers: f.Summarization.SkillFileReadToolNames})
}

// listed describes an agent's skills for the prompt: their purposes and paths.
func (e equipment) listed(f config.Skills) safe {
	reads := func(t *agent.Tool) bool { return t.Name == "read_file" || t.Name == "bash" }
	if len(e.skills) == 0 || !slices.ContainsFunc(e.tools, reads) {
		return ""
	}
	return e.texts.listing(e.skills, e.off, f.DeferredDiscovery, e.shownAt, func() safe { return e.list(f) })
}

// list is listed without the cache.
func (e equipment) list(f config.Skills) safe {
	list := make([]byte, 0, 4<<10)
	for i, s := range e.skills {
		before := len(list)
		list = fmt.Appendf(list, "\n- `%s`", quote(s.Name))
		if !f.DeferredDiscovery {
			list = fmt.Appendf(list, ": %s", quote(s.Description))
		}
		list = fmt.Appendf(list, " (%s)", quote(s.Path(e.shownAt)))
		if i == mostSkills || len(list) > skillListChars {
			list = fmt.Appendf(list[:before], "\n- and %d more; use ls on %s", len(e.skills)-i, quote(e.shownAt))
			break
		}
	}
	off := ""
	if len(e.off) > 0 {
		off = "\n<disabled_skills>\nTurned off by the user: `" + string(quote(strings.Join(e.off, "`, `"))) +
			"`. Do not use them, or what you know of them; if one is asked for, say that it is off.\n</disabled_skills>"
	}
	text := strings.ReplaceAll(string(ours("skills")), "/mnt/skills", string(quote(e.shownAt)))
	head, rest, _ := strings.Cut(text, "{list}")
	middle, end, _ := strings.Cut(rest, "{off}")
	return safe(head + string(list) + middle + off + end)
}
