package agenttest

import (
	"testing"

	"fawn/agent"
)

// NoRewrites fails t when a step of a run puts a new value in place of a message that an
// earlier step stored: every such write makes the store keep the whole message again, for
// each step that does it. Input and update steps are left out, as people may edit what
// they wrote. stored are the messages from before the first step; without them a rewrite
// in the first step is only seen when something stored stands behind it.
func NoRewrites(t testing.TB, steps []Step, stored ...*agent.Message) {
	t.Helper()
	known := ids(stored)
	for i, s := range steps {
		if i == 0 && len(stored) == 0 {
			known = standingBefore(s)
		}
		if s.Node != agent.NodeInput && s.Node != "update" {
			for _, m := range s.Patch.Messages {
				if m.Type != agent.TypeRemove && known[m.ID] {
					t.Errorf("step %d (%s) writes message %s again, which is already stored", i, s.Node, m.ID)
				}
			}
		}
		known = ids(s.State.Messages)
	}
}

func ids(msgs []*agent.Message) map[string]bool {
	set := make(map[string]bool, len(msgs))
	for _, m := range msgs {
		set[m.ID] = true
	}
	return set
}

// standingBefore guesses what was stored before a step: new messages go to the end, so all
// up to the last one the step did not write are older.
func standingBefore(s Step) map[string]bool {
	written, last := ids(s.Patch.Messages), -1
	for i, m := range s.State.Messages {
		if !written[m.ID] {
			last = i
		}
	}
	return ids(s.State.Messages[:last+1])
}
