package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
)

// prose is n bytes of words which do not compress into nothing.
func prose(r *rand.Rand, n int) string {
	const letters = "etaoinshrdlucmfwypvbgk"
	var b strings.Builder
	for b.Len() < n {
		for range 2 + r.IntN(8) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

// pieces cuts text into n deltas.
func pieces(text string, n int) []string {
	var out []string
	for i := range n {
		if part := text[i*len(text)/n : (i+1)*len(text)/n]; part != "" {
			out = append(out, part)
		}
	}
	return out
}

// A thread of 2,000 steps with 4.2 MB of text, arguments and results, ten edits in the
// middle and a ledger written fifty times takes at most twice its content on disk, events
// and indexes included.
func TestStorageGrowsWithTheContent(t *testing.T) {
	s := suite{openSQLite}
	if testing.Short() || raceDetector {
		t.Skip("two thousand steps of one goroutine")
	}
	const rounds, perRun = 1000, 40
	r := rand.New(rand.NewPCG(1, 2))
	raw := 0
	calls := 0
	model := modelOf(func(_ context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		call := calls
		calls++
		text := prose(r, 100+int(r.ExpFloat64()*1300))
		raw += len(text)
		var chunks []agent.Chunk
		for _, p := range pieces(text, 20+r.IntN(21)) {
			chunks = append(chunks, agent.Chunk{Text: p})
		}
		if call%perRun != perRun-1 {
			args, _ := json.Marshal(map[string]any{"path": "/mnt/user-data/workspace/" + prose(r, 12),
				"pattern": prose(r, 40)})
			raw += len(args)
			for i, p := range pieces(string(args), 8) {
				d := agent.CallDelta{Args: p}
				if i == 0 {
					d.ID, d.Name = fmt.Sprintf("call_%024d", call), "look"
				}
				chunks = append(chunks, agent.Chunk{Calls: []agent.CallDelta{d}})
			}
		}
		chunks = append(chunks, agent.Chunk{Finish: "stop", Model: "gpt-test",
			Usage: &agent.Usage{Input: 1000 + call, Output: 400, Total: 1400 + call}})
		for _, k := range chunks {
			if !yield(k, nil) {
				return
			}
		}
	})
	tools := 0
	look := &agent.Tool{Name: "look", Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		tools++
		text := prose(r, 50+int(r.ExpFloat64()*2500))
		raw += len(text)
		res := agent.TextResult(text)
		if tools%20 == 0 { // every 40 steps
			for i := range 12 {
				res.Patch.Todos = append(res.Patch.Todos,
					agent.Todo{ID: fmt.Sprint(i), Content: prose(r, 40), Status: "pending"})
			}
			body, _ := json.Marshal(res.Patch.Todos)
			raw += len(body)
		}
		return res, nil
	}}
	dir := t.TempDir()
	w := s.open(t, dir, &agent.Agent{Model: model, Tools: []*agent.Tool{look}})
	empty := copySize(t, w, filepath.Join(dir, "empty.db")) // tables and indexes without a row take a page each
	thread := "01890a5d-ac96-774b-bcce-b302099a8057"
	for i := range rounds / perRun {
		in := prose(r, 200)
		raw += len(in)
		run := w.start(t, thread, in)
		if row, err := w.m.Wait(t.Context(), run.ID); err != nil || row.Status != runs.Success {
			t.Fatalf("%+v %v", row, err)
		}
		if i%2 == 1 && i < 20 { // an answer in the middle is edited
			snap := must.Get(w.db.Snapshot(t.Context(), thread, ""))(t)
			edit := fmt.Sprintf(`{"messages":[{"type":"ai","id":%q,"content":%q}]}`,
				snap.Messages[len(snap.Messages)/2].ID, prose(r, 1500))
			raw += 1500
			must.Get(w.m.UpdateState(t.Context(), thread, runs.Update{Values: json.RawMessage(edit)}))(t)
		}
	}
	steps := must.Get(w.db.Checkpoints(t.Context(), thread, "", "", 0, nil))(t)
	w.close() // a new server has no deltas left over whose steps are stored
	w = s.open(t, dir, parrotAgent())
	size := copySize(t, w, filepath.Join(dir, "copy.db")) - empty
	t.Logf("%d checkpoints, %d bytes of content, %d bytes on disk with indexes, ratio %.2f", len(steps), raw, size,
		float64(size)/float64(raw))
	snap := must.Get(w.db.Snapshot(t.Context(), thread, ""))(t)
	events := must.Get(w.db.Events(t.Context(), thread, 0, 0, 0))(t)
	var bodies, rows, cards int
	for _, m := range snap.Messages {
		bodies += len(m.Body)
	}
	for _, e := range events {
		rows += len(e.Data)
	}
	for _, cp := range steps {
		card, _ := json.Marshal(cp.Card)
		cards += len(card)
	}
	t.Logf("bodies of %d live messages %d, %d event rows %d, cards %d", len(snap.Messages), bodies, len(events),
		rows, cards)
	if findings, err := w.db.Check(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("check: %v %v", findings, err)
	}
	if size > int64(2*raw) {
		t.Errorf("%d bytes for %d bytes of content", size, raw)
	}
}

// copySize is how many bytes a compact copy of the database takes.
func copySize(t *testing.T, w *world, path string) int64 {
	t.Helper()
	must.Do(t, w.db.Backup(t.Context(), path))
	info := must.Get(os.Stat(path))(t)
	return info.Size()
}
