package middleware

import (
	"context"
	"fmt"

	"fawn/agent"
)

// Backup is a model that replaces an unavailable one.
type Backup struct {
	Model    string // its name
	Open     func() (agent.Model, error)
	Line     *Breaker
	Thinking bool // its capabilities
	Effort   bool
	Vision   bool
	// Reading returns its limits when the model takes over. nil uses the run's own.
	Reading func(context.Context, *agent.Turn) Reading
}

// take adapts a request to the backup's capabilities.
func (b Backup) take(req *agent.Request) error {
	m, err := b.Open()
	if err != nil {
		return fmt.Errorf("model %s: %w", b.Model, err)
	}
	req.Model = m
	req.Options.Thinking = req.Options.Thinking && b.Thinking
	if !b.Effort {
		req.Options.Effort = ""
	}
	req.Options.NoImages = !b.Vision
	return nil
}

// tellBackup reports the change of model: as an event to the run's readers, and in the run's metadata.
func tellBackup(t *agent.Turn, model string, p *providerError) {
	text := fmt.Sprintf("%s The model %s takes over.", p.Error(), model)
	t.Log.Warn("falling back to another model", "model", model, "err", p)
	t.Note("model_fallback", text)
	data, err := agent.Encode(map[string]any{"type": "llm_fallback", "model": model, "reason": p.ErrorName(),
		"message": text})
	if err != nil { // strings always encode
		return
	}
	t.Sink.Emit(agent.Event{Kind: agent.EventCustom, NS: t.NS, Data: data})
}

// noteFailed records in the run's metadata why the last backup failed too.
func noteFailed(t *agent.Turn, model string, first, p *providerError) {
	t.Log.Warn("fallback model failed", "model", model, "err", p)
	t.Note("model_fallback", fmt.Sprintf("%s The model %s took over and failed, too: %s", first.Error(), model, p.Error()))
}
