package store

import (
	"fmt"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestFramesThatTheirCommitFoldsAreNotInTheTail: those behind them are, and all of them when the commit's own part
// fails.
func TestFramesThatTheirCommitFoldsAreNotInTheTail(t *testing.T) {
	for name, c := range map[string]struct {
		last  int64
		batch Batch
		fails bool
		want  string
	}{
		"all folded":     {2, Batch{ThreadID: "t", Events: []Event{{Seq: 1, To: 2}}}, false, "map[]"},
		"one left":       {3, Batch{ThreadID: "t", Events: []Event{{Seq: 1, To: 2}}}, false, "map[t:[3]]"},
		"another thread": {2, Batch{ThreadID: "u", Events: []Event{{Seq: 1, To: 2}}}, false, "map[t:[1 2]]"},
		"refused": {2, Batch{ThreadID: "t", Events: []Event{{Seq: 1, To: 2}}, Messages: []MessageRow{{N: 1}, {N: 1}}}, true,
			"map[t:[1 2]]"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, db := t.Context(), openAt(t, Config{})
			for _, id := range []string{"t", "u"} {
				must.Do(t, db.Commit(ctx, Batch{Thread: &Thread{ID: id}}))
			}
			busy, on := make(chan struct{}), make(chan struct{})
			began, done := make(chan error, 1), make(chan error, 1)
			go func() { // while this works, the rest comes together
				began <- db.w.do(ctx, &job{apply: func(*writer) error { close(busy); <-on; return nil }})
			}()
			<-busy
			lane := db.OpenLane("t", nil)
			for seq := range c.last {
				lane.Append(seq+1, []byte("word"))
			}
			go func() { done <- lane.Commit(ctx, c.batch) }()
			for db.w.Queued() < int(c.last)+1+len(c.batch.Events)+len(c.batch.Messages) {
			}
			close(on)
			if err := <-began; err != nil {
				t.Fatal(err)
			}
			if err := <-done; (err != nil) != c.fails {
				t.Fatal(err)
			}
			tail, err := db.Tail(ctx)
			if got := fmt.Sprint(seqs(t, tail, err)); got != c.want {
				t.Errorf("in the tail are %s, want %s", got, c.want)
			}
			var rows int
			if err := db.engine.Reads().QueryRowContext(ctx, `SELECT count(*) FROM tail`).Scan(&rows); err != nil ||
				(rows > 0) != (c.want != "map[]") {
				t.Errorf("%d rows, %v", rows, err)
			}
			if last, err := db.LastSeq(ctx, "t"); err != nil || last != c.last {
				t.Errorf("the last number is %d, %v", last, err)
			}
		})
	}
}
