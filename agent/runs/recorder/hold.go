package recorder

import (
	"context"

	"fawn/agent"
)

// hold keeps a run's last step back until [Recorder.Finish] stores it with the end of the run, which saves a commit, or
// [Recorder.Settle] stores it alone. It returns false for other steps. Between the two are the hooks after an answer, a
// few queries; the end of a run with tools also looks for changed files, which may take longer than an answer should be
// in danger. Until then readers have the answer as its deltas.
func (r *Recorder) hold(s agent.Step) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.Last || s.Node == agent.NodeInput || r.run == "" || r.tools || r.goesOn || r.files != nil {
		return false, nil
	}
	if err := r.left(); err != nil {
		return false, err
	}
	if err := r.joinEdit(&s); err != nil {
		return false, err
	}
	state := *s.State // hooks after this step change it
	s.State = &state
	r.held, r.plan, r.edited = &s, state.Todos, nil
	return true, nil
}

// Holds reports whether a step waits for the end of the run.
func (r *Recorder) Holds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held != nil
}

// Settle stores a step that waits for the end of the run, if there is one. Should that fail, the step is dropped and only
// its deltas remain.
func (r *Recorder) Settle(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		return nil
	}
	err := r.storeHeld(ctx)
	r.held = nil
	return err
}

// storeHeld stores the step that waits for the end of the run. mu is held.
func (r *Recorder) storeHeld(ctx context.Context) error {
	before := r.mark()
	b, err := r.step(*r.held)
	if err == nil {
		err = r.commit(ctx, b)
	}
	if err != nil {
		r.undo(before)
		return err
	}
	r.held = nil
	r.moveTo(*b.Patch.Head)
	r.closeStep()
	return nil
}
