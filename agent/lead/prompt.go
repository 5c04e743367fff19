package lead

import (
	"cmp"
	"embed"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/subagent"
	"fawn/agent/tools"
)

//go:embed prompt
var prompts embed.FS

// safe is text that is safe in a prompt: our own, or quoted text of others. Sections accept nothing else, so outside
// text can't open or close a block.
type safe string

// quote adds untrusted text to the system prompt; there is no other way.
func quote(s string) safe { return safe(agent.Escape(s)) }

// ours returns a section of trusted text.
func ours(name string) safe { return sections()[name] }

// sections are parsed once: a system prompt is built for every run.
var sections = sync.OnceValue(func() map[string]safe {
	all := map[string]safe{}
	files, err := fs.Glob(prompts, "prompt/*.md")
	if err != nil {
		return all // a test reads them all
	}
	for _, name := range files {
		b, err := prompts.ReadFile(name)
		if err == nil {
			all[strings.TrimSuffix(path.Base(name), ".md")] = safe(strings.TrimSpace(string(b)))
		}
	}
	return all
})

// system returns the system prompt of a run. It depends only on the configuration and the options: date, memory and
// files are added as notes, so that providers can cache it.
func system(f config.File, e equipment) string {
	if e.who.making {
		return making(e)
	}
	if e.brief != "" {
		return string(join(append([]safe{safe(e.brief)}, append(append(e.about(), e.who.project.about(true)...), e.known()...)...)))
	}
	parts := append([]safe{e.who.named(ours("lead"))}, append(append(e.about(), e.who.project.about(false)...), e.known()...)...)
	has := func(name string) bool {
		for _, t := range e.tools {
			if t.Name == name {
				return true
			}
		}
		return false
	}
	if has(tools.AskClarification) && !e.options.DisableClarification {
		parts = append(parts, ours("clarify"))
	}
	if len(e.hidden) > 0 {
		parts = append(parts, deferred(e.hidden))
	}
	if hints := routed(e.tools); hints != "" {
		parts = append(parts, hints)
	}
	if e.options.Subagents && has("task") {
		parts = append(parts, safe(strings.NewReplacer("{concurrent}",
			strconv.Itoa(middleware.ClampHelpers(e.helpers(f.Subagents))),
			"{total}", strconv.Itoa(f.Subagents.MaxTotal),
			"{kinds}", string(kindsOf(e.kinds))).Replace(string(ours("helpers")))))
	}
	if list := e.listed(f.Skills); list != "" {
		parts = append(parts, list)
	}
	if e.options.PlanMode {
		parts = append(parts, ours("plan"))
	}
	return string(join(parts))
}

// about describes an agent or helper to itself.
func (e equipment) about() []safe {
	if e.helper == nil {
		return e.who.about(e.brief != "")
	}
	parts := []safe{ours("helper")}
	switch e.helper.Kind.Prompt {
	case "":
	case promptGeneral, promptBash:
		parts = append(parts, ours(e.helper.Kind.Prompt))
	default:
		parts = append(parts, safe(agent.EscapeLines(e.helper.Kind.Prompt)))
	}
	return parts
}

// kindsOf lists the kinds of helpers.
func kindsOf(kinds []subagent.Kind) safe {
	var b strings.Builder
	for _, k := range kinds {
		b.WriteString("\n- `" + string(quote(k.Name)) + "`: " + k.FirstLine())
	}
	return safe(b.String())
}

func join(parts []safe) safe {
	var b strings.Builder
	n := 0
	for _, s := range parts {
		n += len(s) + 2
	}
	b.Grow(n)
	for i, s := range parts {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(string(s))
	}
	return safe(b.String())
}

// deferred names the tools whose parameters must be searched first.
func deferred(hidden []*agent.Tool) safe {
	var b strings.Builder
	b.WriteString("<available-deferred-tools>\nThese tools exist too. Find their parameters with `tool_search` before you call one.")
	for _, t := range hidden {
		b.WriteString("\n- " + string(quote(t.Name)))
	}
	b.WriteString("\n</available-deferred-tools>")
	return safe(b.String())
}

// mostHints limits the tools with hints in a prompt.
const mostHints = 50

// routed lists the tools their owner prefers over others.
func routed(all []*agent.Tool) safe {
	var preferred []*agent.Tool
	for _, t := range all {
		if t.Prefer != nil {
			preferred = append(preferred, t)
		}
	}
	if len(preferred) == 0 {
		return ""
	}
	slices.SortStableFunc(preferred, func(a, b *agent.Tool) int {
		return cmp.Or(cmp.Compare(b.Prefer.Priority, a.Prefer.Priority), strings.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	b.WriteString("<mcp_routing_hints>\nUse these tools before others that could do the same, the first ones most.")
	for _, t := range preferred[:min(len(preferred), mostHints)] {
		b.WriteString("\n- " + string(quote(t.Name)))
		if len(t.Prefer.Keywords) > 0 {
			b.WriteString(", for: " + string(quote(agent.Head(strings.Join(t.Prefer.Keywords, ", "), 300))))
		}
	}
	b.WriteString("\n</mcp_routing_hints>")
	return safe(b.String())
}
