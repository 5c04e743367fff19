package lead_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
)

// wildLog is a conversation as it can come from clients, crashes and strange models: calls
// without results, results without calls, ids blank or used twice, broken arguments, blank
// answers, system messages anywhere.
func wildLog(r *rand.Rand) (msgs []*agent.Message) {
	id := func() string { return []string{"", " ", "call_0", "call_1", fmt.Sprint("c", r.IntN(9))}[r.IntN(5)] }
	add := func(m agent.Message) { m.ID = fmt.Sprint("m", len(msgs)); msgs = append(msgs, &m) }
	for range 2 + r.IntN(14) {
		switch r.IntN(7) {
		case 0, 1:
			add(agent.Message{Type: agent.TypeHuman, Content: agent.Text("question")})
		case 2:
			add(agent.Message{Type: agent.TypeAI, Content: agent.Text([]string{"", " ", "answer"}[r.IntN(3)])})
		case 3:
			add(agent.Message{Type: agent.TypeSystem, Content: agent.Text("rule")})
		case 4:
			add(agent.Message{Type: agent.TypeTool, ToolCallID: id(), Name: "ls", Content: agent.Text("lost")})
		default:
			m := agent.Message{Type: agent.TypeAI}
			for range 1 + r.IntN(3) {
				m.ToolCalls = append(m.ToolCalls, agent.ToolCall{ID: id(), Name: []string{"ls", ""}[r.IntN(2)],
					Args: json.RawMessage([]string{`{}`, `[1]`, ``, `{"a":`}[r.IntN(4)])})
			}
			if r.IntN(3) == 0 {
				m.Invalid = append(m.Invalid, agent.InvalidCall{ID: id(), Name: "ls", Args: "{", Error: "cut"})
			}
			add(m)
			for _, c := range m.Calls() {
				if r.IntN(3) > 0 {
					add(agent.Message{Type: agent.TypeTool, ToolCallID: c, Name: "ls", Content: agent.Text("result")})
				}
			}
		}
	}
	return msgs
}

// obeys checks the rules of OpenAI, Anthropic, DeepSeek and Gemini together.
func obeys(req *agent.Request) error {
	ids := map[string]bool{}
	for i, m := range req.Messages {
		switch m.Type {
		case agent.TypeSystem, agent.TypeRemove:
			return fmt.Errorf("message %d is of type %s", i, m.Type)
		case agent.TypeAI:
			if len(m.Invalid) > 0 {
				return fmt.Errorf("message %d has calls nobody can read", i)
			}
			if len(m.ToolCalls) == 0 && strings.TrimSpace(m.Content.String()) == "" {
				return fmt.Errorf("message %d says nothing", i)
			}
			for k, c := range m.ToolCalls {
				var args map[string]any
				switch {
				case strings.TrimSpace(c.ID) == "" || ids[c.ID]:
					return fmt.Errorf("message %d: call id %q is blank or used before", i, c.ID)
				case c.Name == "" || json.Unmarshal(c.Args, &args) != nil:
					return fmt.Errorf("message %d: call %q with %q", i, c.Name, c.Args)
				case i+1+k >= len(req.Messages) || req.Messages[i+1+k].Type != agent.TypeTool ||
					req.Messages[i+1+k].ToolCallID != c.ID:
					return fmt.Errorf("message %d: no result behind call %q", i, c.ID)
				}
				ids[c.ID] = true
			}
		case agent.TypeTool:
			if !ids[m.ToolCallID] {
				return fmt.Errorf("message %d is a result of nothing", i)
			}
			delete(ids, m.ToolCallID) // a second result is one of nothing
			ids["used "+m.ToolCallID] = true
		}
	}
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Type == agent.TypeAI {
		return fmt.Errorf("the last word is the model's")
	}
	return nil
}

// TestAnyPrefixOfAnyLogMakesARequestEveryProviderTakes, through the whole chain.
func TestAnyPrefixOfAnyLogMakesARequestEveryProviderTakes(t *testing.T) {
	b, _ := builder(t, nil)
	n := 10_000
	if testing.Short() {
		n = 500
	}
	a := must.Get(b.Build(t.Context(), runs.Spec{ThreadID: "t1", RunID: "r1", Options: &agent.Options{}}))(t)
	var model agent.ModelFunc = func(_ context.Context, _ *agent.Turn, req *agent.Request) (*agent.Message, error) {
		return nil, obeys(req)
	}
	for i := len(a.Chain) - 1; i >= 0; i-- {
		if wrap := a.Chain[i].WrapModel; wrap != nil {
			model = wrap(model)
		}
	}
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 11))
		log := wildLog(r)
		turn := agenttest.Turn("", &agenttest.Sink{})
		turn.State.Messages = log[:1+r.IntN(len(log))]
		if r.IntN(4) == 0 {
			turn.State.View = &agent.View{Summary: "gist",
				From: turn.State.Messages[r.IntN(len(turn.State.Messages))].ID}
		}
		if r.IntN(4) == 0 {
			turn.State.Notes = []agent.Note{
				{ID: "n", Message: log[0].ID, Place: []agent.Place{agent.Before, agent.Prefix, agent.After}[r.IntN(3)],
					Kind: "date", Text: "now"},
			}
		}
		_, err := model(t.Context(), turn, agent.BuildRequest("system", &turn.State, a.Tools, a.Options))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
