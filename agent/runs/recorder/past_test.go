package recorder

import (
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// TestNumbersAreKeptWhileTheNextRunIsAtWork: those of a run that has ended, and not those behind them.
func TestNumbersAreKeptWhileTheNextRunIsAtWork(t *testing.T) {
	t.Parallel()
	b := newBench(t, "t")
	var left runevent.Frames
	frames := []store.Delta{{Seq: 1, Data: left.Delta(runevent.KindMessage, 0, `{"id":"m"}`)},
		{Seq: 2, Data: left.Delta(runevent.KindText, 0, "left")}}
	b.rec.seq = 2
	must.Do(t, input(t, b)())
	chunk := agent.Event{Kind: agent.EventChunk, Message: "n", Chunk: agent.Chunk{Text: "word"}}
	must.Do(t, b.rec.Record(t.Context(), chunk))
	ended := must.Get(Open(t.Context(), Config{DB: b.db, Log: eventlog.New(0), Thread: "t"}))(t)
	defer ended.Close()
	must.Get(ended.Adopt(frames))(t)
	must.Do(t, ended.KeepNumbers(t.Context(), 2))
	rows, err := b.db.Events(t.Context(), "t", 0, 1<<60, 1<<20)
	if err != nil || len(rows) != 2 || rows[0].Seq != 1 || rows[0].To != 2 || rows[1].Seq != 3 {
		t.Errorf("stored are %v, %v", rows, err)
	}
}
