package agenttest

import (
	"testing"

	"fawn/agent"
)

// NoRewrites fails t if a step of a run replaces a message stored by an earlier step, since each replacement stores the
// whole message again. Input and update steps are exempt, because people may edit their messages. stored are the
// messages before the first step; without them a rewrite in the first step is only detected before other stored
// messages.
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

// standingBefore infers the messages stored before a step: new messages are appended, so everything up to the last
// message not written by the step is older.
func standingBefore(s Step) map[string]bool {
	written, last := ids(s.Patch.Messages), -1
	for i, m := range s.State.Messages {
		if !written[m.ID] {
			last = i
		}
	}
	return ids(s.State.Messages[:last+1])
}
