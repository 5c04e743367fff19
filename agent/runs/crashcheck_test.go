package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// checkShown compares what readers were shown with what is there now: every event under
// its number, text in its message, results with their calls.
func checkShown(t *testing.T, w *world, seen []shown) (messages, results int) {
	t.Helper()
	byRun := map[string][]shown{}
	for _, s := range seen {
		byRun[s.Run] = append(byRun[s.Run], s)
	}
	states := map[string]agent.State{}
	for run, list := range byRun {
		thread := list[0].Thread
		if _, ok := states[thread]; !ok {
			states[thread] = w.current(t, thread)
		}
		state := states[thread]
		evs := w.read(t, run, 0)
		if evs[0].Kind != runevent.KindMeta || evs[len(evs)-1].Kind != runevent.KindEnd {
			t.Errorf("run %s: %s", run, shape(evs))
		}
		there, void := map[int64]string{}, map[string]bool{}
		for i, e := range evs {
			there[e.Seq] = line(e)
			if e.Kind == runevent.KindWithdraw {
				var w runevent.Withdrawal
				must.Do(t, json.Unmarshal(e.Data, &w))
				void[w.ID] = true
			}
			if i > 0 && e.Seq != evs[i-1].To+1 {
				t.Errorf("run %s: %d follows %d", run, e.Seq, evs[i-1].To)
			}
		}
		text, order := map[string]string{}, []string{}
		for _, s := range list {
			if got := there[s.Event.Seq]; got != s.Line {
				t.Errorf("event %d was shown as\n%s\nand is now\n%s", s.Event.Seq, s.Line, got)
			}
			switch s.Event.Kind {
			case runevent.KindText:
				if _, ok := text[s.Event.Msg.ID]; !ok {
					order = append(order, s.Event.Msg.ID)
				}
				text[s.Event.Msg.ID] += s.Event.Text
			case runevent.KindToolResult:
				results++
				var end runevent.ToolEnd
				must.Do(t, json.Unmarshal(s.Event.Data, &end))
				var m agent.Message
				must.Do(t, json.Unmarshal(end.Message, &m))
				stored := state.Message(m.ID)
				if stored == nil || stored.ToolCallID != end.ID || stored.Content.Text != m.Content.Text {
					t.Errorf("the result of %s was shown, and is not in the thread: %+v", end.ID, stored)
				} else if stored.Status == "success" && !slices.Contains(state.Artifacts, "/"+end.ID) {
					t.Errorf("the state change of %s is lost", end.ID)
				}
			}
		}
		for _, id := range order {
			messages++
			if void[id] { // the run went on, and said it again in other words
				if m := state.Message(id); m != nil {
					t.Errorf("message %s was withdrawn, and is in the thread: %+v", id, m)
				}
				continue
			}
			if m := state.Message(id); m == nil || !strings.HasPrefix(m.Content.Text, text[id]) {
				t.Errorf("text of message %s was shown, and is not in the thread: %q, %+v", id, text[id], m)
			}
		}
	}
	return messages, results
}

// current is the state of a thread's head; a thread killed before its first step is empty.
func (w *world) current(t *testing.T, thread string) agent.State {
	t.Helper()
	if th, err := w.db.Thread(t.Context(), thread); errors.Is(err, store.ErrNotFound) || err == nil && th.Head == "" {
		return agent.State{}
	}
	return w.state(t, thread, "")
}

// checkEffects: no call had its effect twice, and every call of every thread is answered.
func checkEffects(t *testing.T, w *world, dir string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	times := map[string]int{}
	for id := range strings.Lines(string(raw)) {
		times[strings.TrimSpace(id)]++
	}
	for id, n := range times {
		if n > 1 {
			t.Errorf("call %s had its effect %d times", id, n)
		}
	}
	for i := range 3 {
		s := w.current(t, fmt.Sprint("t", i))
		answered := map[string]bool{}
		for _, m := range s.Messages {
			if m.Type == agent.TypeTool {
				answered[m.ToolCallID] = true
				if m.Status == "success" && times[m.ToolCallID] != 1 {
					t.Errorf("call %s is answered and had its effect %d times", m.ToolCallID, times[m.ToolCallID])
				}
			}
		}
		for _, m := range s.Messages {
			for _, id := range m.Calls() {
				if !answered[id] {
					t.Errorf("call %s of thread t%d is open", id, i)
				}
			}
		}
	}
}
