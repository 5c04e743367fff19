package lead

import (
	"slices"
	"sync"
	"unique"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/agent/skills"
)

// texts are parts of prompts as they were last made, with their sizes: runs that follow each other mostly have the same
// ones. Its zero value is ready.
type texts struct {
	mu     sync.Mutex
	skills listing
	prompt unique.Handle[string]
	size   int // of prompt, in tokens
	tools  map[*agent.Tool]int
}

// listing is a list of skills for a prompt, and what it was made of.
type listing struct {
	text     safe
	skills   []skills.Skill
	off      []string
	deferred bool
	at       string
}

// listing returns the list of skills for a prompt.
func (t *texts) listing(on []skills.Skill, off []string, deferred bool, at string, list func() safe) safe {
	if t == nil {
		return list()
	}
	t.mu.Lock()
	last := t.skills
	t.mu.Unlock()
	if last.deferred == deferred && last.at == at && slices.Equal(last.off, off) &&
		slices.EqualFunc(last.skills, on, func(a, b skills.Skill) bool {
			return a.Name == b.Name && a.Description == b.Description && a.Category == b.Category && a.Folder == b.Folder
		}) {
		return last.text
	}
	last = listing{list(), slices.Clone(on), slices.Clone(off), deferred, at}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skills = last
	return last.text
}

// tokens returns the size of a prompt.
func (t *texts) tokens(prompt unique.Handle[string]) int {
	t.mu.Lock()
	last, n := t.prompt, t.size
	t.mu.Unlock()
	if last == prompt {
		return n
	}
	n = middleware.TextTokens(prompt.Value())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prompt, t.size = prompt, n
	return n
}

// maxWeighed limits the tools whose sizes are remembered beside those of all runs.
const maxWeighed = 1000

// weigh returns the size of tools in tokens. fixed are those of all runs.
func (t *texts) weigh(fixed weights, list []*agent.Tool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tool := range list {
		own, known := fixed[tool]
		if !known {
			own, known = t.tools[tool]
		}
		if !known {
			own = weight(tool)
			if t.tools == nil || len(t.tools) >= maxWeighed {
				t.tools = map[*agent.Tool]int{}
			}
			t.tools[tool] = own
		}
		n += own
	}
	return n
}
