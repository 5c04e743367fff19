package ui

import (
	"encoding/json"
	"time"

	"fawn/views"
)

// again takes over that the provider failed and is asked again in a while. Whatever the run
// does next ends the wait.
func (b *builder) again(data json.RawMessage) {
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
		b.retry = &views.Retry{Reason: ev.Reason, Until: ev.Until, Attempt: ev.Attempt + 1, Of: ev.Of}
	case "llm_fallback":
		b.retry = nil
	}
}

// waiting puts the wait for the provider at the end of the trail of the turn at work.
func (v *conversation) waiting(t *views.Turn) {
	if r := v.turns.retry; r != nil && t.Last && busy(t.State) && v.running() {
		t.Trail.Steps = append(t.Trail.Steps,
			views.Step{ID: t.ID, ThreadID: v.thread.ID, Kind: views.StepRetry, State: views.StepRun, Retry: *r})
	}
}
