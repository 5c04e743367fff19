package agent_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"fawn/agent"
)

// patches makes writes of fuzz bytes. They name few ids, so that they meet each other.
type patches struct{ data []byte }

func (p *patches) more() bool { return len(p.data) > 0 }

func (p *patches) pick(n int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := int(p.data[0])
	p.data = p.data[1:]
	return b % n
}

func (p *patches) word() string {
	return []string{"", "a", "b", "é漢👍", "<&>\u2028\"\\", "c\x00\n"}[p.pick(6)]
}

func (p *patches) id() string { return fmt.Sprint("i", p.pick(5)) }

// few makes a list of 0 to 3 things, or none.
func few[T any](p *patches, one func() T) []T {
	n := p.pick(5)
	if n == 4 {
		return nil
	}
	out := make([]T, 0, n)
	for range n {
		out = append(out, one())
	}
	return out
}

func (p *patches) message() *agent.Message {
	id := p.id()
	switch p.pick(7) {
	case 0, 1:
		return human(id, p.word())
	case 2:
		m := ai(id, p.word()).With("k", p.word())
		m.AddCall([]string{"a", "b", "c"}[p.pick(3)], "f", []string{` {"a": 1} `, "{", "[1]"}[p.pick(3)])
		m.Usage = &agent.Usage{Input: p.pick(9)}
		return m
	case 3:
		m := human(id, "")
		m.Content.Blocks = few(p, func() json.RawMessage { return json.RawMessage(`{"z":1.50,"a":"\u2028"}`) })
		return m
	case 4:
		return question(id, []string{"a", "b", ""}[p.pick(3)], `{"a":[1,2]}`)
	case 5:
		return remove(id)
	}
	return remove(agent.RemoveAll)
}

func (p *patches) patch() agent.State {
	var s agent.State
	word, n := p.word, p.pick(3)
	text := func() *string { w := word(); return &w }
	todo := func() agent.Todo { w := word(); return agent.Todo{ID: p.id(), Content: w, Title: w, Status: "pending"} }
	for range n + 1 {
		switch p.pick(17) {
		case 0, 1:
			s.Messages = few(p, p.message)
		case 2:
			s.Title = text()
		case 3:
			s.Artifacts = few(p, word)
		case 4:
			s.Todos = few(p, todo)
		case 5:
			s.Sandbox = &agent.SandboxRef{ID: []string{"", "x", "x", "x", "y"}[p.pick(5)]}
		case 6:
			s.ThreadData = &agent.ThreadData{Workspace: word()}
		case 7:
			s.UploadedFiles = few(p, func() agent.Upload {
				return agent.Upload{Filename: word(), Size: int64(p.pick(9))}
			})
		case 8:
			s.ViewedImages = map[string]agent.Image{}
			for _, w := range few(p, word) {
				s.ViewedImages[w] = agent.Image{Path: word()}
			}
		case 9:
			s.Goal = &agent.Goal{Objective: word(), LastEvaluation: json.RawMessage(`{"a":1}`)}
		case 10:
			s.Promoted = &agent.Promoted{Catalog: word(), Names: few(p, word)}
		case 11:
			s.Delegations = few(p, func() agent.Delegation {
				return agent.Delegation{ID: p.id(), RunID: word(),
					Status: []string{"", "in_progress", "completed", "failed"}[p.pick(4)], CreatedAt: word()}
			})
		case 12:
			s.SkillContext = few(p, func() agent.SkillRef { return agent.SkillRef{Path: p.id(), Name: word()} })
		case 13:
			s.SummaryText = text()
		case 14:
			s.Background = few(p, func() agent.BackgroundTask { return agent.BackgroundTask{ID: p.id()} })
		case 15:
			s.Notes = few(p, func() agent.Note {
				return agent.Note{ID: p.id(), Message: p.id(), Place: agent.Prefix, Text: word()}
			})
			s.View = &agent.View{From: p.id(), Summary: word(), Cut: few(p, p.id)}
		case 16:
			s.Edited = few(p, func() agent.PlanEdit { return agent.PlanEdit{Before: few(p, todo)} })
			s.Told = few(p, func() agent.ToldFile {
				return agent.ToldFile{Upload: agent.Upload{Filename: word()}, Message: p.id()}
			})
		}
	}
	return s
}

// FuzzStateApply proves that a state which lives in memory and one which is stored and
// loaded after each write stay equal, that a refused write changes nothing, and that no
// write reaches into values somebody else holds.
func FuzzStateApply(f *testing.F) {
	f.Add([]byte("0123456789"))
	f.Add([]byte{2, 0, 3, 1, 0, 1, 0, 2, 2, 5, 1, 3, 2, 3, 1, 2, 15, 3, 1, 1, 0, 2, 2, 11, 3, 1, 2, 3, 0, 10, 1, 3, 2,
		10, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &patches{data: data}
		var kept, stored agent.State
		for step := 0; p.more() && step < 60; step++ {
			patch := p.patch()
			patchText, before := dump(t, &patch), dump(t, &kept)
			old := kept.Clone()
			err := kept.Apply(patch)
			if err2 := stored.Apply(reload(t, &patch)); fmt.Sprint(err) != fmt.Sprint(err2) {
				t.Fatalf("step %d: in memory %v, stored %v", step, err, err2)
			}
			now := dump(t, &kept)
			if err != nil && now != before {
				t.Fatalf("step %d was refused (%v) but changed the state:\n%s\nwas\n%s", step, err, now, before)
			}
			stored = reload(t, &stored)
			if got := dump(t, &stored); got != now {
				t.Fatalf("step %d: stored state\n%s\nstate in memory\n%s", step, got, now)
			}
			if dump(t, &old) != before || dump(t, &patch) != patchText {
				t.Fatalf("step %d wrote into the old state or into the patch", step)
			}
			if len(kept.Delegations) > agent.MaxDelegations || len(kept.SkillContext) > agent.MaxSkillContext {
				t.Fatalf("step %d: a ledger grew past its limit", step)
			}
			seen := map[string]bool{}
			for _, m := range kept.Messages {
				if seen[m.ID] || kept.Message(m.ID) != m {
					t.Fatalf("step %d: id %s twice, or not found", step, m.ID)
				}
				seen[m.ID] = true
			}
		}
	})
}
