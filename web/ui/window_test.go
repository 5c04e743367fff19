package ui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/web/webtest"
)

// TestATurnSaysWhenItsModelReadsLittleOrSeesNothingAndWhenItsRequestWasCut, while it is watched and on a
// fresh page, and only there.
func TestATurnSaysWhenItsModelReadsLittleOrSeesNothingAndWhenItsRequestWasCut(t *testing.T) {
	w := open(t, wordy(100, 100), windowed())
	first := true
	w.chain = []agent.Middleware{{Name: "window", BeforeAgent: func(_ context.Context,
		turn *agent.Turn) (agent.State, error) {
		if first {
			turn.Note(lead.SmallKey, "2048 tokens are all that the model reads")
			turn.Note(middleware.CutKey, "older messages were left out")
			turn.Note(middleware.BlindKey, "the model cannot see images")
			turn.Note("model_warning", "model old-one is not configured; the next choice was used")
		}
		first = false
		return agent.State{}, nil
	}}}
	w.begin("t1", "One")
	r := w.reader("t1")
	r.read(0)
	w.settle("t1")
	r.equalsPage()
	live := r.dom.section("turns")
	w.say("t1", "Two")
	for where, text := range map[string]string{"watched": live, "fresh": w.page("/workspace/chats/t1")} {
		for _, want := range []string{"context window is only 2048 tokens",
			"this answer leaves out older messages", "can’t see images", "The model old-one is no longer available"} {
			webtest.Same(t, fmt.Sprintf("%s: %q is there … times", where, want), strings.Count(text, want), 1)
		}
	}
}

// TestTheGaugeKnowsAWindowThatWasLearned, which no configuration names.
func TestTheGaugeKnowsAWindowThatWasLearned(t *testing.T) {
	snap := windowed()
	snap.File.Models[0].ContextWindow = 0
	w := open(t, wordy(310), snap)
	w.ui.SetWindow(func(name, provider string) int {
		if name == "" && provider == "m-1" {
			return 1000
		}
		return 0
	})
	w.begin("t1", "One")
	w.settle("t1")
	webtest.Holds(t, "the gauge", parsePage(t, w.page("/workspace/chats/t1")).section("gauge"), "31%")
}
