package runs

// stage is where a live run stands in its life. A run which the manager forgets, because it has
// ended or the server stops, keeps the stage it had.
type stage uint8

const (
	stageNew      stage = iota // in no line yet
	stageDelayed               // waits for its time, in no line
	stageHeld                  // waits until the run before it has ended well, or it is released
	stageQueued                // in its thread's line, or free to come into it
	stageWorking               // its thread's active run
	stageUndoing               // active, and to be rolled back
	stageSettled               // active, and how it ends is decided
	stageDropped               // taken out before it started; its row says interrupted
	stageErased                // taken out before it started; its row goes
	stageUnstored              // its row could not be stored
	stageReleased              // waits in its row only, as any server may take it
)

// stages are the stages a run may go to from each.
var stages = map[stage][]stage{
	stageNew:     {stageDelayed, stageHeld, stageQueued},
	stageDelayed: {stageQueued, stageDropped, stageErased, stageUnstored, stageReleased},
	stageHeld:    {stageQueued, stageDropped, stageErased, stageUnstored, stageReleased},
	stageQueued:  {stageWorking, stageDropped, stageErased, stageUnstored, stageReleased},
	stageWorking: {stageUndoing, stageSettled},
	stageUndoing: {stageSettled},
	stageDropped: {stageErased, stageUnstored},
	stageErased:  {stageUnstored},
}

// become takes the run to a stage. It reports whether the run may go there from where it stands; else nothing changes.
// mu of the manager is held.
func (e *entry) become(to stage) bool {
	for _, s := range stages[e.stage] {
		if s == to {
			e.stage = to
			return true
		}
	}
	return false
}

// active says that the run has its thread for itself.
func (s stage) active() bool { return s == stageWorking || s == stageUndoing || s == stageSettled }

// end makes a run end, as interrupted or, with undo, taken back. drop says that it will never
// start and that the caller stores its end. mu is held.
func (m *Manager) end(e *entry, undo bool) (drop bool) {
	switch {
	case e.stage.active():
		if undo {
			e.become(stageUndoing)
		}
		e.cancel(ErrInterrupted)
	case e.stage == stageDropped:
		if undo {
			e.become(stageErased)
		}
	default:
		return e.takeOut(undo)
	}
	return false
}

// takeOut ends a run that has not started. mu of the manager is held.
func (e *entry) takeOut(undo bool) bool {
	to := stageDropped
	if undo {
		to = stageErased
	}
	return e.become(to)
}

// settling closes the time in which a run can still be rolled back, and reports whether it is to be.
func (m *Manager) settling(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	undo := e.stage == stageUndoing
	e.become(stageSettled)
	return undo
}
