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

// Wish holds the options of a manual compaction; zero values use the configuration.
type Wish struct {
	Owner  string // owner of the thread
	Thread string // thread charged for the summary
	Model  string
	Keep   middleware.Amount
	Force  bool // compact even if little can be hidden or no summary can be made
}

// Compact hides the older part of a conversation now, like a run whose conversation grows too long. The patch is empty
// if it isn't worthwhile. Errors: ErrNoCompaction, and those of the model.
func (b *Builder) Compact(ctx context.Context, s *agent.State, w Wish) (agent.State, error) {
	snap := b.config()
	if !snap.File.Summarization.Enabled {
		return agent.State{}, ErrNoCompaction
	}
	o := agent.Options{ModelName: w.Model}
	may, err := b.access.Of(ctx, w.Owner)
	if err != nil {
		return agent.State{}, err
	}
	if err := b.unspent(ctx, w.Owner, may); err != nil {
		return agent.State{}, err
	}
	_, entry, err := b.model(snap, runs.Spec{Options: &o}, custom{}, may)
	if err != nil {
		return agent.State{}, err
	}
	entry.ContextWindow = b.window(ctx, entry)
	without, err := b.lacks(ctx, snap.File, w.Thread, nil, may)
	if err != nil {
		return agent.State{}, err
	}
	e := b.equip(snap.File, o, entry.ContextWindow, without)
	e.thread, e.may = w.Thread, may
	e.fit(entry)
	rules := b.compaction(snap, e, b.newKit(snap.File, e))
	if w.Keep.Type != "" {
		rules.Keep = w.Keep
	}
	return rules.Compact(ctx, s, w.Force)
}

// Shortened is the result of a manual compaction.
type Shortened struct {
	Head          string // the checkpoint after it
	Done          bool   // false: it wasn't worthwhile
	Summary       bool   // a new summary replaces the older part
	Hidden, Shown int    // messages omitted from requests, and those included
	Tokens        int    // estimate for the conversation in a request
}

// Shorten compacts an idle thread with compact, usually [Builder.Compact]. Errors: runs.ErrBusy, runs.ErrNotFound and
// those of compact.
func Shorten(ctx context.Context, m *runs.Manager,
	compact func(context.Context, *agent.State, Wish) (agent.State, error), w Wish) (Shortened, error) {
	var did Shortened
	var after agent.State
	head, err := m.Amend(ctx, w.Thread, func(ctx context.Context, s *agent.State) (agent.State, error) {
		patch, err := compact(ctx, s, w)
		if after = s.Clone(); patch.View != nil {
			did.Done, did.Summary, after.View = true, patch.View.From != "", patch.View
		}
		return patch, err
	})
	if err != nil {
		return Shortened{}, err
	}
	did.Head, did.Tokens = head, middleware.Tokens(&after)
	did.Hidden, did.Shown = middleware.Hidden(&after)
	return did, nil
}
