package lead

import (
	"slices"
	"unique"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/tools"
)

// kit holds a run's current tools and prompt: it is rebuilt before a model call when tools were added or removed. Only
// the run's loop changes it, while no tool runs.
type kit struct {
	builder *Builder
	file    config.File
	now     equipment
	set     *agent.Toolset
	prompt  unique.Handle[string] // prompt of set; runs with equal prompts share it
	hidden  *middleware.Deferred
	tokens  int // tokens of prompt and tools
}

func (b *Builder) newKit(f config.File, e equipment) *kit {
	k := &kit{builder: b, file: f}
	k.take(e)
	return k
}

func (k *kit) take(e equipment) {
	k.now = e
	k.prompt = unique.Make(system(k.file, e))
	k.set = &agent.Toolset{System: k.prompt.Value(), Tools: e.tools}
	k.hidden = middleware.Defer(e.hidden, tools.Catalog(e.hidden))
	k.tokens = k.builder.texts.tokens(k.prompt) + k.builder.texts.weigh(k.builder.weights, k.set.Tools)
}

// step returns the tools of this step. While their version is unchanged it costs nothing.
func (k *kit) step() *agent.Toolset {
	if _, version := k.builder.more(); version != k.now.version {
		e := k.now
		fresh := k.builder.equip(k.file, e.options, e.model.ContextWindow, e.without)
		e.tools, e.hidden, e.version = fresh.tools, fresh.hidden, fresh.version
		e.narrow(k.builder)
		e.fit(e.model)
		k.take(e)
	}
	return k.set
}

func (k *kit) deferred() *middleware.Deferred { return k.hidden }

// foreign reports whether a tool belongs to an untrusted server.
func (k *kit) foreign(name string) bool {
	return slices.ContainsFunc(k.now.tools, func(t *agent.Tool) bool { return t.Name == name && t.Server != "" })
}

func (k *kit) front() int { return k.tokens }

// beside returns the tools of all runs and the current additional ones, except those whose names are taken.
func (b *Builder) beside(guests []*agent.Tool) []*agent.Tool {
	all := slices.Clone(b.tools)
	for _, t := range guests {
		taken := t.Name == tools.ToolSearch || t.Name == tools.WriteTodos || t.Name == "bash" && b.sandbox != nil ||
			slices.ContainsFunc(all, func(own *agent.Tool) bool { return own.Name == t.Name })
		if !taken {
			all = append(all, t)
		}
	}
	return all
}
