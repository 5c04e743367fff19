package subagent

import (
	"slices"
	"strings"
	"time"

	"fawn/agent"
)

// Tool is the name of the tool that sends a helper.
const Tool = "task"

// General is the kind of helper that is sent when a call names none.
const General = "general-purpose"

// Kind is a kind of helper.
type Kind struct {
	Name        string
	Description string        // when to use it; models see its first line
	Prompt      string        // its system prompt
	Tools       []string      // permitted tools, if the run has them; nil = all
	Denied      []string      // tools it never has
	Skills      []string      // permitted skills, if its agent has them; nil = all
	Model       string        // "" = that of the run
	MaxTurns    int           // model calls before the final one
	Timeout     time.Duration // from the start of its work
	MaxTokens   int           // 0 = no separate limit
	WarnAt      float64       // fraction of MaxTokens at which a warning is sent
}

// Withheld returns tools that no helper needs or may use: it can't start helpers, ask people or show
// them files, and has no plan.
func Withheld() []string {
	return []string{Tool, "ask_clarification", "present_files"}
}

// always returns tools reserved for the run that starts helpers, regardless of the kind.
func always() []string {
	return []string{Tool, "ask_clarification", "write_todos", "list_uploaded_files"}
}

// Choose returns the tools of all that a helper of this kind has. With groups, only tools of these groups, or of these
// names, are among them; tools without a group always are.
func (k Kind) Choose(all []*agent.Tool, groups []string) []*agent.Tool {
	return slices.DeleteFunc(slices.Clone(all), func(t *agent.Tool) bool {
		switch {
		case slices.Contains(always(), t.Name), slices.Contains(k.Denied, t.Name):
			return true
		case k.Tools != nil && !slices.Contains(k.Tools, t.Name):
			return true
		}
		return len(groups) > 0 && t.Group != "" && !slices.Contains(groups, t.Group) && !slices.Contains(groups, t.Name)
	})
}

// Learned returns the skills that a helper of this kind may use, given its agent's allowed ones. In both, nil means
// all.
func (k Kind) Learned(allowed []string) []string {
	switch {
	case k.Skills == nil:
		return allowed
	case allowed == nil:
		return k.Skills
	}
	return slices.DeleteFunc(slices.Clone(k.Skills), func(name string) bool { return !slices.Contains(allowed, name) })
}

// FirstLine returns the description of a kind for models.
func (k Kind) FirstLine() string {
	line, _, _ := strings.Cut(strings.TrimSpace(k.Description), "\n")
	return agent.Escape(agent.Head(line, 300))
}

// find returns the kind of a name, "" meaning the general one.
func find(kinds []Kind, name string) (Kind, bool) {
	if name == "" {
		name = General
	}
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

func names(kinds []Kind) []string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = k.Name
	}
	return list
}
