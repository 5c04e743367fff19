package runs

// stage is the state of a live run. A run removed from the manager, because it ended or the server stops, keeps its
// last stage.
type stage uint8

const (
	stageNew      stage = iota // in no line yet
	stageDelayed               // waits for its time, in no line
	stageHeld                  // waits until the run before it has ended well, or it is released
	stageQueued                // in its thread's line, or about to enter it
	stageWorking               // its thread's active run
	stageUndoing               // active, and to be rolled back
	stageSettled               // active, with its outcome decided
	stageDropped               // removed before it started; its row is interrupted
	stageErased                // removed before it started; its row is deleted
	stageUnstored              // its row could not be stored
	stageReleased              // waits in its row only, as any server may take it
)

// stages lists the allowed transitions from each stage.
var stages = map[stage][]stage{
	stageNew:     {stageDelayed, stageHeld, stageQueued, stageWorking},
	stageDelayed: {stageQueued, stageDropped, stageErased, stageUnstored, stageReleased},
	stageHeld:    {stageQueued, stageDropped, stageErased, stageUnstored, stageReleased},
	stageQueued:  {stageWorking, stageDropped, stageErased, stageUnstored, stageReleased},
	stageWorking: {stageUndoing, stageSettled, stageUnstored},
	stageUndoing: {stageSettled, stageUnstored},
	stageDropped: {stageErased, stageUnstored},
	stageErased:  {stageUnstored},
}

// become moves the run to a stage. It reports whether that is allowed from its current stage; otherwise nothing
// changes. mu of the manager is held.
func (e *entry) become(to stage) bool {
	for _, s := range stages[e.stage] {
		if s == to {
			e.stage = to
			return true
		}
	}
	return false
}

// active reports whether the run has exclusive use of its thread.
func (s stage) active() bool { return s == stageWorking || s == stageUndoing || s == stageSettled }

// end ends a run as interrupted or, with undo, reverted. drop means that it will never start and the caller stores its
// end. mu is held.
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

// settling ends the time in which a run can still be rolled back, and reports whether it will be.
func (m *Manager) settling(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	undo := e.stage == stageUndoing
	e.become(stageSettled)
	return undo
}
