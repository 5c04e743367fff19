package runs

import (
	"slices"
	"testing"
)

// TestStagesOfARun walks all pairs: what is not in the list of a stage changes nothing.
func TestStagesOfARun(t *testing.T) {
	all := []stage{stageNew, stageDelayed, stageHeld, stageQueued, stageWorking, stageUndoing, stageSettled,
		stageDropped, stageErased, stageUnstored}
	waiting := []stage{stageDropped, stageErased, stageUnstored}
	allowed := map[stage][]stage{
		stageNew:     {stageDelayed, stageHeld, stageQueued, stageWorking},
		stageDelayed: append([]stage{stageQueued}, waiting...),
		stageHeld:    append([]stage{stageQueued}, waiting...),
		stageQueued:  append([]stage{stageWorking}, waiting...),
		stageWorking: {stageUndoing, stageSettled, stageUnstored},
		stageUndoing: {stageSettled, stageUnstored},
		stageDropped: {stageErased, stageUnstored},
		stageErased:  {stageUnstored},
	}
	for _, from := range all {
		for _, to := range all {
			e := &entry{stage: from}
			want, end := slices.Contains(allowed[from], to), from
			if want {
				end = to
			}
			if got := e.become(to); got != want || e.stage != end {
				t.Errorf("from %d to %d: %v and stage %d, want %v and %d", from, to, got, e.stage, want, end)
			}
		}
	}
}

// TestEndOfARunInEachStage says what a cancel and a rollback make of a run, whether the run's
// work is cancelled and whether the caller stores its end.
func TestEndOfARunInEachStage(t *testing.T) {
	for _, c := range []struct {
		from             stage
		cancel, undo     stage
		working, dropped bool
	}{
		{stageDelayed, stageDropped, stageErased, false, true},
		{stageHeld, stageDropped, stageErased, false, true},
		{stageQueued, stageDropped, stageErased, false, true},
		{stageWorking, stageWorking, stageUndoing, true, false},
		{stageUndoing, stageUndoing, stageUndoing, true, false},
		{stageSettled, stageSettled, stageSettled, true, false},
		{stageDropped, stageDropped, stageErased, false, false},
		{stageErased, stageErased, stageErased, false, false},
		{stageUnstored, stageUnstored, stageUnstored, false, false},
	} {
		for _, undo := range []bool{false, true} {
			var cause error
			e := &entry{stage: c.from, cancel: func(err error) { cause = err }}
			m := &Manager{}
			want := c.cancel
			if undo {
				want = c.undo
			}
			if drop := m.end(e, undo); drop != c.dropped || e.stage != want || (cause != nil) != c.working {
				t.Errorf("stage %d, undo %v: drop %v, stage %d, cause %v", c.from, undo, drop, e.stage, cause)
			}
		}
	}
}
