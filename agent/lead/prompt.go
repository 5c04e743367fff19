package lead

import (
	"embed"
	"strconv"
	"strings"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/tools"
)

//go:embed prompt
var prompts embed.FS

// safe is text that can stand in a prompt: our own, or what quote made of others'. Sections
// take nothing else, so that nobody outside can open or close a block.
type safe string

// quote is the one way from untrusted text into the system prompt.
func quote(s string) safe { return safe(agent.Escape(s)) }

// ours is a section of our own words.
func ours(name string) safe {
	b, err := prompts.ReadFile("prompt/" + name + ".md")
	if err != nil { // embedded: a test reads them all
		return ""
	}
	return safe(strings.TrimSpace(string(b)))
}

// system is the system prompt of a run. It depends on the configuration and the options
// alone: date, memory and files come as notes, so that providers can keep it.
func system(f config.File, e equipment) string {
	sections := []safe{ours("lead")}
	has := func(name string) bool {
		for _, t := range e.tools {
			if t.Name == name {
				return true
			}
		}
		return false
	}
	if has(tools.AskClarification) && !e.options.DisableClarification {
		sections = append(sections, ours("clarify"))
	}
	if len(e.hidden) > 0 {
		sections = append(sections, deferred(e.hidden))
	}
	if e.options.Subagents && has("task") {
		sections = append(sections, safe(strings.NewReplacer("{concurrent}", strconv.Itoa(middleware.ClampHelpers(e.helpers(f.Subagents))),
			"{total}", strconv.Itoa(f.Subagents.MaxTotal)).Replace(string(ours("helpers")))))
	}
	if e.options.PlanMode {
		sections = append(sections, ours("plan"))
	}
	return string(join(sections))
}

func join(sections []safe) safe {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(string(s))
	}
	return safe(b.String())
}

// deferred names the tools whose parameters must be looked for first.
func deferred(hidden []*agent.Tool) safe {
	var b strings.Builder
	b.WriteString("<available-deferred-tools>\nThese tools exist too. Find their parameters with `tool_search` before you call one.")
	for _, t := range hidden {
		b.WriteString("\n- " + string(quote(t.Name)))
	}
	b.WriteString("\n</available-deferred-tools>")
	return safe(b.String())
}
