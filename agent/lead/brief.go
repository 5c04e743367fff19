package lead

import (
	"encoding/json"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/agent/tools"
)

const (
	smallWindow = 8192 // tokens; models that read less get a short prompt and few tools
	briefTokens = 900  // of the short prompt with its tools
	toolTokens  = 14   // per tool, besides its texts
)

// small reports whether a window, in tokens, is too small for the whole prompt.
func small(window int) bool { return window > 0 && window < smallWindow }

// terse returns the tools for models that read little, the most useful first, in few words.
func terse() [][2]string {
	return [][2]string{
		{"bash", "Run a bash script in /mnt/user-data/workspace."},
		{"read_file", "Read a text file, or its lines from start_line to end_line."},
		{"write_file", "Write a text file, or add to its end with append."},
		{"str_replace", "Replace text that is in a file exactly once."},
		{"present_files", "Show finished files from /mnt/user-data/outputs to the user."},
		{"ls", "List a directory."},
		{"write_todos", "Write the whole plan: items with content and status (pending, in_progress, completed)."},
		{tools.SearchDocuments, "Search the user's files for words; gives passages with file and page."},
		{"grep", "Search text files for a regular expression."},
		{tools.ViewImage, "Look at a picture."},
	}
}

// brief returns the prompt and tools for a model with a small window, at most briefTokens together. External tools are
// added last, while there is room.
func brief(all []*agent.Tool) (string, []*agent.Tool) {
	prompt := string(ours("brief"))
	left := briefTokens - middleware.TextTokens(prompt)
	var chosen []*agent.Tool
	add := func(t *agent.Tool, text string) {
		short := *t
		short.Description, short.Schema = text, bare(t.Schema)
		cost := weight(&short)
		if cost <= left {
			left -= cost
			chosen = append(chosen, &short)
		}
	}
	known := []string{tools.AskClarification, "glob", "tool_search"}
	for _, w := range terse() {
		known = append(known, w[0])
		if i := slices.IndexFunc(all, func(t *agent.Tool) bool { return t.Name == w[0] }); i >= 0 {
			add(all[i], w[1])
		}
	}
	for _, t := range all {
		if !slices.Contains(known, t.Name) && !t.Deferred {
			text, _, _ := strings.Cut(t.Description, "\n")
			add(t, text)
		}
	}
	return prompt, chosen
}

// shortened returns a shortened prompt and tools for a model with a small window.
func (e equipment) shortened(all []*agent.Tool) (string, []*agent.Tool) {
	prompt, chosen := brief(all)
	if e.who.making {
		return making(e), chosen
	}
	e.brief = prompt
	return string(join(append([]safe{safe(prompt)}, e.about()...))), chosen
}

// bare returns a schema without descriptions and without the argument that gives a call's reason.
func bare(schema json.RawMessage) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil {
		return schema
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		if why, ok := properties["description"].(map[string]any); ok && why["type"] == "string" {
			delete(properties, "description")
			if required, ok := s["required"].([]any); ok {
				s["required"] = slices.DeleteFunc(required, func(v any) bool { return v == "description" })
			}
		}
	}
	unexplained(s)
	b, err := json.Marshal(s)
	if err != nil {
		return schema
	}
	return b
}

// unexplained removes the descriptions from a schema, recursively.
func unexplained(s map[string]any) {
	delete(s, "description")
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, v := range properties {
			if p, ok := v.(map[string]any); ok {
				unexplained(p)
			}
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		unexplained(items)
	}
}
