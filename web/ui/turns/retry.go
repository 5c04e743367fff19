package turns

import (
	"encoding/json"
	"time"

	"fawn/views"
)

// again records that the provider failed and will be retried. The run's next event ends the wait.
func (b *Builder) again(data json.RawMessage) {
	var ev struct {
		Type    string    `json:"type"`
		Reason  string    `json:"reason"`
		Attempt int       `json:"attempt"`
		Of      int       `json:"max_attempts"`
		Until   time.Time `json:"until"`
	}
	if json.Unmarshal(data, &ev) != nil {
		return
	}
	switch ev.Type {
	case "llm_retry":
		b.Retry = &views.Retry{Reason: ev.Reason, Until: ev.Until, Attempt: ev.Attempt + 1, Of: ev.Of}
	case "llm_fallback":
		b.Retry = nil
	}
}
