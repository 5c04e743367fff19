package runs_test

import (
	"context"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
)

// ARunKnowsItsOwner: who builds the agent and what works in it are told for whom, also
// when the request names nobody.
func (s suite) ARunKnowsItsOwner(t *testing.T) {
	for asked, want := range map[string]string{"ann": "ann", "": store.DefaultOwner} {
		var built, worked string
		w := s.openWith(t, t.TempDir(), runs.Config{Build: func(_ context.Context, s runs.Spec) (*agent.Agent, error) {
			built = s.Owner
			a := parrotAgent()
			a.Chain = append(a.Chain,
				agent.Middleware{Name: "look", BeforeAgent: func(_ context.Context,
					t *agent.Turn) (agent.State, error) {
					worked = t.Owner
					return agent.State{}, nil
				}})
			return a, nil
		}})
		run := must.Get(w.m.Start(t.Context(), runs.Request{Thread: "t", Owner: asked, Input: human("hello")}))(t)
		if row, err := w.m.Wait(t.Context(), run.ID); err != nil || row.Owner != want || built != want ||
			worked != want {
			t.Errorf("asked for by %q: stored %q, built for %q, worked for %q, %v", asked, row.Owner, built,
				worked, err)
		}
	}
}
