package middleware

import (
	"context"
	"fmt"

	"fawn/agent"
)

// Backup is a model that answers in place of one that cannot be called.
type Backup struct {
	Model    string // its name
	Open     func() (agent.Model, error)
	Line     *Line
	Thinking bool // what it can do
	Effort   bool
	Vision   bool
	// Reading says what it reads; it is asked when the model takes over. nil is as much as
	// the run's own.
	Reading func(context.Context, *agent.Turn) Reading
}

// take turns a request over to the backup, without what it cannot do.
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

// tellBackup says that another model takes over: to readers of the run as an event, and to
// who looks at the run later in its metadata.
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

// noteFailed says, to who looks at the run later, why the last model that took over failed as well.
func noteFailed(t *agent.Turn, model string, first, p *providerError) {
	t.Log.Warn("fallback model failed", "model", model, "err", p)
	t.Note("model_fallback", fmt.Sprintf("%s The model %s took over and failed, too: %s", first.Error(), model, p.Error()))
}
