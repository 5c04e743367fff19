package recorder

import (
	"encoding/json"
	"sync"

	"fawn/agent"
)

// maxRemark limits one remark in bytes, and maxRemarks those of a run.
const (
	maxRemark  = 1000
	maxRemarks = 16
)

// Remarks are additions to a run's metadata: that another model answered, or that it couldn't do all that was asked.
// The zero value is ready.
type Remarks struct {
	mu   sync.Mutex
	said map[string]string
}

// Add records a remark; a later one under the same key replaces it.
func (r *Remarks) Add(key, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil {
		r.said = map[string]string{}
	}
	if _, had := r.said[key]; !had && len(r.said) >= maxRemarks {
		return
	}
	r.said[key] = text[:min(len(text), maxRemark)]
}

// Over lays the remarks over metadata.
func (r *Remarks) Over(metadata json.RawMessage) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.said) == 0 {
		return metadata
	}
	all := map[string]json.RawMessage{}
	if len(metadata) > 0 && json.Unmarshal(metadata, &all) != nil {
		return metadata
	}
	for key, text := range r.said {
		b, err := agent.Encode(text)
		if err != nil {
			return metadata
		}
		all[key] = b
	}
	out, err := agent.Encode(all)
	if err != nil {
		return metadata
	}
	return out
}
