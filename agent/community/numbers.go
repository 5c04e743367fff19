package community

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"fawn/agent"
)

// Source is a page known to a thread, with its number there.
type Source struct {
	Number int    `json:"n"`
	Title  string `json:"title"`
	URL    string `json:"url"`
}

// Artifact is the part of a result for clients, besides its text.
type Artifact struct {
	Provider string   `json:"provider,omitempty"`
	Notes    []string `json:"notes,omitempty"` // why others were not used
	Sources  []Source `json:"sources,omitempty"`
	Images   []Image  `json:"images,omitempty"`
	Read     string   `json:"read_at,omitempty"` // when the page was read, RFC 3339
}

// artifact is the member of a result for web tools.
type artifact struct {
	Web *Artifact `json:"web"`
}

// ReadArtifact returns a result's artifact, nil if it isn't from a web tool.
func ReadArtifact(raw json.RawMessage) *Artifact {
	var a artifact
	if len(raw) == 0 || json.Unmarshal(raw, &a) != nil {
		return nil
	}
	return a.Web
}

// maxThreads limits the threads with numbers in memory; the results contain them too.
const maxThreads = 1024

// numbers gives each page of a thread a permanent number. Assigned numbers are read once from the thread's results;
// later ones are remembered.
type numbers struct {
	mu      sync.Mutex
	threads map[string]map[string]int // by page
	order   []string                  // oldest thread first
	read    map[string]bool           // threads whose own results were read: a helper sees only its own
}

// given returns the numbers in a thread's results.
func given(t *agent.Turn) map[string]int {
	known := map[string]int{}
	learn := func(raw json.RawMessage) {
		if a := ReadArtifact(raw); a != nil {
			for _, s := range a.Sources {
				known[pageKey(s.URL)] = s.Number
			}
		}
	}
	for _, m := range t.State.Messages {
		if m.Type == agent.TypeTool && slices.Contains(Names(), m.Name) {
			learn(m.Artifact)
		}
	}
	for _, r := range t.Results {
		learn(r.Artifact)
	}
	return known
}

// take numbers pages.
func (n *numbers) take(t *agent.Turn, pages []string) []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.threads[t.ThreadID]
	if known == nil {
		if len(n.order) >= maxThreads {
			delete(n.threads, n.order[0])
			delete(n.read, n.order[0])
			n.order = n.order[1:]
		}
		if n.threads == nil {
			n.threads = map[string]map[string]int{}
		}
		known = given(t)
		n.threads[t.ThreadID], n.order = known, append(n.order, t.ThreadID)
	}
	if t.NS == "" && !n.read[t.ThreadID] {
		maps.Copy(known, given(t))
		if n.read == nil {
			n.read = map[string]bool{}
		}
		n.read[t.ThreadID] = true
	}
	last := 0
	for _, k := range known {
		last = max(last, k)
	}
	out := make([]int, len(pages))
	for i, p := range pages {
		key := pageKey(p)
		if known[key] == 0 {
			last++
			known[key] = last
		}
		out[i] = known[key]
	}
	return out
}

func (n *numbers) forget(thread string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.threads[thread]; ok {
		delete(n.threads, thread)
		delete(n.read, thread)
		n.order = slices.DeleteFunc(n.order, func(id string) bool { return id == thread })
	}
}
