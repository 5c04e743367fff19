package lead_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/llm/llmerr"
	"fawn/agent/runs"
)

// pair is a world of two models, the first with the second behind it.
func pair(scripts map[string]*agenttest.Script) setup {
	return func(f *config.File, o *lead.Options) {
		quick(f, o)
		f.Models = []config.Model{{Name: "first", Use: "openai", ContextWindow: 100_000, Fallback: "second", SupportsVision: true},
			{Name: "second", Use: "openai", ContextWindow: 100_000, Fallback: "first"}}
		o.Model = func(m config.Model) (agent.Model, error) { return scripts[m.Name], nil }
	}
}

func metadata(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var m map[string]any
	must.Do(t, json.Unmarshal(raw, &m))
	return m
}

// TestAnotherModelTakesOver when the first one cannot be called, once its own tries are spent:
// with an event, a note in the run's metadata, and for the rest of the run.
func TestAnotherModelTakesOver(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply agenttest.Reply
		calls int // of the first model
		why   string
	}{
		{"overloaded", failing(llmerr.ClassBusy, 529), 3, "ModelBusy"},
		{"wrong key", failing(llmerr.ClassAuth, 401), 1, "ModelAuth"},
		{"no credit", failing(llmerr.ClassQuota, 429), 1, "ModelQuota"},
		{"too long", failing(llmerr.ClassContext, 400), 1, "ContextOverflow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			scripts := map[string]*agenttest.Script{"first": {Replies: []agenttest.Reply{c.reply, c.reply, c.reply, c.reply, c.reply, c.reply}},
				"second": {Replies: []agenttest.Reply{agenttest.Call("c", "ls", `{"path":"/mnt/user-data/uploads"}`), agenttest.Say("Here.")}}}
			w := newWorld(t, nil, pair(scripts))
			run := w.say(t, "go", "")
			if run.Status != runs.Success || len(scripts["second"].Requests()) != 2 {
				t.Fatalf("%s %s, %d calls of the second", run.Status, run.Error, len(scripts["second"].Requests()))
			}
			// that one is tried shorter too
			if c.why != "ContextOverflow" && len(scripts["first"].Requests()) != c.calls {
				t.Errorf("%d calls of the first", len(scripts["first"].Requests()))
			}
			if s := w.state(t); s.Messages[len(s.Messages)-1].Content.Text != "Here." {
				t.Errorf("answer\n%s", texts(s))
			}
			told := 0
			for _, e := range w.events(t, run.ID) {
				var data struct{ Type, Model, Reason, Message string }
				if err := json.Unmarshal([]byte(e), &data); err == nil && data.Type == "llm_fallback" {
					told++
					if data.Model != "second" || data.Reason != c.why ||
						!strings.Contains(data.Message, "that is how it is") {
						t.Errorf("event %s", e)
					}
				}
			}
			note, _ := metadata(t, run.Metadata)["model_fallback"].(string)
			if told != 1 || !strings.Contains(note, "The model second takes over.") {
				t.Errorf("%d events, note %q", told, note)
			}
		})
	}
}

// TestTheOtherModelGetsWhatItReads: a model with a small window that takes over gets the short prompt,
// whether the window is configured or its refusal names it; the first model keeps its own.
func TestTheOtherModelGetsWhatItReads(t *testing.T) {
	long := agenttest.Reply{Err: &llmerr.Error{Class: llmerr.ClassContext, Status: 400, Limit: 4096,
		Message: "too long"}}
	for name, c := range map[string]struct {
		window int
		second []agenttest.Reply
	}{
		"configured": {4096, []agenttest.Reply{agenttest.Say("Here."), agenttest.Say("Again.")}},
		"refused":    {0, []agenttest.Reply{long, agenttest.Say("Here."), agenttest.Say("Again.")}},
	} {
		t.Run(name, func(t *testing.T) {
			scripts := map[string]*agenttest.Script{
				"first":  {Replies: []agenttest.Reply{failing(llmerr.ClassAuth, 401), agenttest.Say("Back.")}},
				"second": {Replies: c.second}}
			w := newWorld(t, nil, pair(scripts), func(f *config.File, _ *lead.Options) {
				f.Models[1].ContextWindow = c.window
			})
			if run := w.say(t, "go", ""); run.Status != runs.Success {
				t.Fatal(run.Status, run.Error)
			}
			whole := len(scripts["first"].Requests()[0].System)
			sent := scripts["second"].Requests()
			if last := sent[len(sent)-1]; len(last.System) > whole/2 || len(sent) != len(c.second)-1 {
				t.Errorf("%d requests; the prompt of the last has %d bytes, the whole one %d", len(sent),
					len(last.System), whole)
			}
			w.say(t, "go on", "")
			if again := scripts["first"].Requests(); len(again) != 2 || len(again[1].System) < whole/2 {
				t.Errorf("the first model got %d requests, its last prompt %d bytes of %d", len(again),
					len(again[len(again)-1].System), whole)
			}
			if n := w.b.WindowOf("second", ""); n != 4096 {
				t.Errorf("the second model reads %d tokens", n)
			}
			if n := w.b.WindowOf("first", ""); n != 100_000 {
				t.Errorf("the first model reads %d tokens", n)
			}
		})
	}
}

// TestNoOtherModelGoesOnWithWhatWasSeen: half an answer of one model is not ended by another.
func TestNoOtherModelGoesOnWithWhatWasSeen(t *testing.T) {
	half := agenttest.Reply{Chunks: []agent.Chunk{{Text: "half an "}},
		Err: &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrCut}}
	scripts := map[string]*agenttest.Script{"first": {Replies: []agenttest.Reply{half}}, "second": {}}
	w := newWorld(t, nil, pair(scripts))
	if run := w.say(t, "go", ""); run.Status != runs.Failed || len(scripts["second"].Requests()) != 0 {
		t.Errorf("%s, %d calls", run.Status, len(scripts["second"].Requests()))
	}
}

// TestWhenAllModelsFailTheFirstFailureIsTold, and models that point at each other end too.
func TestWhenAllModelsFailTheFirstFailureIsTold(t *testing.T) {
	other := agenttest.Reply{Err: &llmerr.Error{Class: llmerr.ClassQuota, Message: "another one"}}
	scripts := map[string]*agenttest.Script{"first": {Replies: []agenttest.Reply{failing(llmerr.ClassAuth, 401)}},
		"second": {Replies: []agenttest.Reply{other}}}
	w := newWorld(t, nil, pair(scripts))
	run := w.say(t, "go", "")
	if run.Status != runs.Failed || !strings.Contains(run.Error, "that is how it is") ||
		w.failure(t, run.ID).Name != "ModelAuth" || len(scripts["second"].Requests()) != 1 {
		t.Errorf("%s: %s", run.Status, run.Error)
	}
}

const withImage = `{"messages":[{"type":"human","content":[{"type":"text","text":"what is this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`

// TestImagesReachOnlyModelsThatSee: also when a blind one takes over.
func TestImagesReachOnlyModelsThatSee(t *testing.T) {
	scripts := map[string]*agenttest.Script{"first": {Replies: []agenttest.Reply{failing(llmerr.ClassAuth, 401)}},
		"second": {Replies: []agenttest.Reply{agenttest.Say("A picture.")}}}
	w := newWorld(t, nil, pair(scripts))
	run := w.run(t, json.RawMessage(withImage), "")
	first := fmt.Sprintf("%s",
		scripts["first"].Requests()[0].Messages[len(scripts["first"].Requests()[0].Messages)-1].Content.Blocks)
	second := lines(scripts["second"].Requests()[0])
	if !strings.Contains(first, "image_url") || !strings.Contains(second, "what is this\n[An image stands here") ||
		metadata(t, run.Metadata)["vision_warning"] == nil {
		t.Errorf("%s\n%s\n%s", first, second, run.Metadata)
	}
	if s := w.state(t); !strings.Contains(string(s.Messages[0].Content.Blocks[1]), "image_url") {
		t.Error("the stored message lost its image")
	}
}

// TestWhatTheModelCannotDoIsNotedOrEndsTheRun, as runs.allow_degradation says; what nobody asked for is
// neither.
func TestWhatTheModelCannotDoIsNotedOrEndsTheRun(t *testing.T) {
	for _, c := range []struct{ name, options, input, key, what string }{
		{"nothing asked", `{}`, "", "", ""},
		{"thinking", `{"thinking_enabled":true}`, "", "capability_warning", "think"},
		{"thinking off", `{"thinking_enabled":false}`, "", "", ""},
		{"effort", `{"reasoning_effort":"high"}`, "", "capability_warning", "reasoning effort"},
		{"vision", `{}`, withImage, "vision_warning", "see"},
	} {
		for _, degrade := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", c.name, degrade), func(t *testing.T) {
				w := newWorld(t, nil, func(f *config.File, _ *lead.Options) { f.Runs.AllowDegradation = degrade })
				input := c.input
				if input == "" {
					input = `{"messages":[{"type":"human","content":"hi"}]}`
				}
				run := w.run(t, json.RawMessage(input), c.options)
				note, _ := metadata(t, run.Metadata)[c.key].(string)
				switch {
				case degrade || c.key == "":
					if run.Status != runs.Success || !strings.Contains(note, c.what) || (note == "") != (c.key == "") {
						t.Errorf("%s %s, note %q", run.Status, run.Error, note)
					}
				case run.Status != runs.Failed || w.failure(t, run.ID).Name != "ModelCapability" ||
					!strings.Contains(run.Error, c.what):
					t.Errorf("%s %s", run.Status, run.Error)
				}
			})
		}
	}
}
