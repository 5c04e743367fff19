package lead

import (
	"context"
	"errors"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/agent/runs"
)

// ErrNoCompaction means that the owner has switched summaries off.
var ErrNoCompaction = errors.New("summarization is switched off")

// Wish is what a person may choose of a compaction by hand; zero values leave it to the
// configuration.
type Wish struct {
	Thread string // that pays for the summary
	Model  string
	Keep   middleware.Amount
	Force  bool // also when little can be hidden, and when no summary can be made
}

// Compact hides the older part of a conversation now, as a run does when it grows too long.
// The patch is empty when there is nothing worth it. Errors: ErrNoCompaction, and those of
// the model.
func (b *Builder) Compact(ctx context.Context, s *agent.State, w Wish) (agent.State, error) {
	snap := b.config()
	if !snap.File.Summarization.Enabled {
		return agent.State{}, ErrNoCompaction
	}
	o := agent.Options{ModelName: w.Model}
	_, entry, err := b.model(snap, runs.Spec{Options: &o})
	if err != nil {
		return agent.State{}, err
	}
	e := b.equip(snap.File, o)
	e.model, e.thread = entry, w.Thread
	rules := b.compaction(snap, e)
	if w.Keep.Type != "" {
		rules.Keep = w.Keep
	}
	return rules.Compact(ctx, s, w.Force)
}
