package lead

import (
	"cmp"
	"slices"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/browsing"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/skills"
	"fawn/agent/subagent"
	"fawn/agent/tools"
)

// equipment is a run's setup: its request and the resulting tools.
type equipment struct {
	options agent.Options
	model   config.Model
	tools   []*agent.Tool
	version uint64 // version of the changing tools
	without func(*agent.Tool) bool
	hidden  []*agent.Tool // the tools whose schemas must be searched first
	brief   string        // shortened prompt for a model with a small window
	thread  string
	run     string                // "" outside of runs
	budget  *middleware.Budget    // spending of the run
	may     access.Rights         // permissions of the run's owner
	day     *middleware.Allowance // the owner's allowance for today; nil for no limit

	who     custom
	skills  []skills.Skill
	off     []string        // names of skills that are off
	shownAt string          // path of the skills
	texts   *texts          // of the builder; may be nil
	manage  *agent.Tool     // writes skills; nil if not allowed
	task    *agent.Tool     // starts helpers; nil if none may be started
	kinds   []subagent.Kind // kinds of helpers
	helper  *subagent.Job   // the helper it belongs to; nil for a lead agent
}

// job returns a call of a helper model for this run.
func (e equipment) job(purpose string) SideCall {
	return SideCall{Purpose: purpose, Thread: e.thread, Run: e.run, budget: e.budget}
}

// fit sets the model, and shortens prompt and tools for a small window.
func (e *equipment) fit(m config.Model) {
	e.model = m
	if small(m.ContextWindow) {
		e.brief, e.tools = brief(e.tools)
		e.hidden = nil
	}
}

// narrow keeps the tools chosen by equip that this run may have, and adds the task tool.
func (e *equipment) narrow(b *Builder) {
	if e.task != nil {
		e.tools = append(slices.DeleteFunc(e.tools,
			func(t *agent.Tool) bool { return t.Name == subagent.Tool }), e.task)
	}
	if e.manage != nil {
		e.tools = append(slices.DeleteFunc(e.tools, func(t *agent.Tool) bool { return t.Name == tools.SkillManage }),
			e.manage)
	}
	e.who.equip(b, e)
	if e.helper != nil {
		e.limit(func(list []*agent.Tool) []*agent.Tool { return e.helper.Kind.Choose(list, e.helper.Groups) })
	}
	if slices.ContainsFunc(e.tools, e.barred) || slices.ContainsFunc(e.hidden, e.barred) {
		e.limit(func(list []*agent.Tool) []*agent.Tool { return slices.DeleteFunc(slices.Clone(list), e.barred) })
	}
}

// barred reports whether this run may not have a tool, whatever its source.
func (e *equipment) barred(t *agent.Tool) bool {
	return e.without(t) || e.options.Guest && (t.Server != "" || !slices.Contains(forGuests, t.Name))
}

// forGuests are the tools of runs for people without an account: reading the web, and the thread's files.
var forGuests = []string{"web_search", "web_fetch", "image_search", "ls", "read_file", "glob", "grep", "write_file",
	"str_replace", "present_files", "view_image", tools.ToolSearch, tools.WriteTodos, tools.AskClarification}

// limit keeps the tools that choose returns, which must be a new list.
func (e *equipment) limit(choose func([]*agent.Tool) []*agent.Tool) {
	e.tools, e.hidden = choose(e.tools), choose(e.hidden)
	e.tools = slices.DeleteFunc(e.tools, func(t *agent.Tool) bool { return t.Name == tools.ToolSearch })
	if len(e.hidden) > 0 {
		e.tools = append(e.tools, tools.Search(e.hidden))
	}
}

// Tools of servers are hidden automatically if they exceed this share of the model's window.
const (
	guestShare  = 10      // divisor of the limits for guests
	usualWindow = 128_000 // for models with an unknown window
)

// crowded reports whether the tools that can be hidden take too much of a window.
func crowded(list []*agent.Tool, window int) bool {
	var guests []*agent.Tool
	for _, t := range list {
		if t.Deferred {
			guests = append(guests, t)
		}
	}
	return front("", guests) > cmp.Or(window, usualWindow)/guestShare
}

// equip chooses a run's tools for a model with that window, except those switched off in its thread.
func (b *Builder) equip(f config.File, o agent.Options, window int, without func(*agent.Tool) bool) equipment {
	e := equipment{options: o, budget: &middleware.Budget{}, shownAt: b.shownAt, texts: &b.texts, without: without}
	var guests []*agent.Tool
	guests, e.version = b.more()
	guests = slices.Clone(guests)
	if t := b.external(f.ACPAgents); t != nil {
		guests = append(guests, t)
	}
	if b.client != nil { // last, so that a client replaces no tool of the server
		for _, d := range o.ClientTools {
			guests = append(guests, b.client(d))
		}
	}
	guests = slices.DeleteFunc(guests, without)
	e.tools = slices.DeleteFunc(b.beside(guests), func(t *agent.Tool) bool {
		switch t.Name {
		case tools.ViewImage:
			return !o.Vision
		case tools.AskClarification:
			return o.NonInteractive
		}
		return Modelless(f, t)
	})
	if bash := b.bash(); bash != nil {
		e.tools = append([]*agent.Tool{bash}, e.tools...)
	}
	if !f.Browser.Enabled || !b.browser() {
		e.tools = slices.DeleteFunc(e.tools, func(t *agent.Tool) bool { return slices.Contains(browsing.Names(), t.Name) })
	}
	e.tools = grouped(f, e.tools)
	if o.PlanMode {
		e.tools = append(e.tools, tools.Todos())
	}
	if f.ToolSearch.Enabled || crowded(e.tools, window) {
		for _, t := range e.tools {
			if t.Deferred {
				e.hidden = append(e.hidden, t)
			}
		}
		if len(e.hidden) > 0 {
			e.tools = append(e.tools, tools.Search(e.hidden))
		}
	}
	return e
}
