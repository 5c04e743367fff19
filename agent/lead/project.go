package lead

import (
	"slices"
	"strings"

	"fawn/agent"
)

// Project holds the common settings of a project's chats. Empty choices are left to the chat and its agent.
type Project struct {
	Owner        string // account whose collections the names of Knowledge mean first
	Name         string
	Instructions string
	Agent, Model string
	Skills       []string // nil has all
	Servers      []string // tool servers; nil means all
	Knowledge    []string // names of collections of documents
	Files        []string // names of its files, or the first of them
	More         int      // number of further ones
	Write        bool     // the chat may change them
}

// without adds the tools of servers that the project hasn't selected to the switched-off tools.
func (p *Project) without(without func(*agent.Tool) bool) func(*agent.Tool) bool {
	if p == nil || p.Servers == nil {
		return without
	}
	return func(t *agent.Tool) bool {
		return t.MCP && !slices.Contains(p.Servers, t.Server) || without(t)
	}
}

// about describes the project for the prompt, in full or shortened for models with a small window.
func (p *Project) about(short bool) []safe {
	if p == nil {
		return nil
	}
	var list strings.Builder
	for _, name := range p.Files {
		list.WriteString("\n- `" + string(quote(name)) + "`")
	}
	if p.More > 0 {
		list.WriteString("\n- and more; use ls")
	}
	files := "It has no files yet."
	if len(p.Files) > 0 {
		files = "Its files:" + list.String()
	}
	access := "It is read-only."
	if p.Write {
		access = "You may change it; the project's other chats see what you change."
	}
	text := strings.NewReplacer("{name}", string(quote(p.Name)), "{access}", access, "{files}", files).Replace(
		string(ours("project")))
	instructions := strings.TrimSpace(p.Instructions)
	if short {
		instructions = agent.Head(instructions, shortSoul)
	}
	if instructions != "" {
		text += "\n<project_instructions>\n" + agent.EscapeLines(instructions) + "\n</project_instructions>"
	}
	return []safe{safe(text)}
}
