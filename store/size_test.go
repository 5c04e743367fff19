package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// prose is about n bytes of text that does not repeat.
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		for range 2 + r.IntN(9) {
			b.WriteByte(byte('a' + min(r.IntN(26), r.IntN(26))))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// longThread writes 2,000 steps of about 2.1 KB each, streamed as 20 deltas and
// stored as one message, one card and one event; every 200th step edits an old
// message in place, every 40th rewrites a field. It returns the bytes of the
// messages and fields.
func longThread(t testing.TB, db *store.DB, steps int) (raw int64) {
	const id = "0197c0de-0000-7000-8000-000000000001"
	r := rand.New(rand.NewPCG(1, 2))
	newThread(t, db, id)
	l := db.OpenLane(id, nil)
	defer l.Close()
	card := store.Card{Fields: map[string]int64{}}
	var n, seq, version int64
	parent := ""
	var ledger []string
	for s := range steps {
		size := 150 + r.IntN(1800) // an answer
		if s%3 == 0 {
			size = 1000 + r.IntN(6400) // a tool's output
		}
		text := prose(r, size)
		n++
		b := store.Batch{ThreadID: id}
		body, _ := json.Marshal(map[string]string{"type": "ai", "id": fmt.Sprint("msg-", n), "content": text})
		b.Messages = []store.MessageRow{{n, fmt.Sprint("msg-", n), body}}
		card.Messages = place(card.Messages, n)
		if s%200 == 199 {
			n++
			edited, _ := json.Marshal(map[string]string{"type": "ai", "id": "msg-1", "content": prose(r, 500)})
			b.Messages = append(b.Messages, store.MessageRow{n, "msg-1", edited})
			card.Messages = replace(card.Messages, int64(s/2), n)
		}
		if s%40 == 39 {
			version++
			ledger = append(ledger, prose(r, 60))
			doc, _ := json.Marshal(ledger)
			b.Fields = []store.FieldRow{{"delegations", version, doc}}
			card.Fields["delegations"] = version
		}
		from := seq + 1
		var deltas []string
		for k := range 20 {
			seq++
			part := text[len(text)*k/20 : len(text)*(k+1)/20]
			l.Append(seq, []byte(part))
			deltas = append(deltas, part)
		}
		data, _ := json.Marshal(deltas)
		head := fmt.Sprintf("1f0c0de0-%04x-6000-8000-%012d", s, s)
		b.Checkpoints = []store.Checkpoint{{ID: head, Parent: parent, Run: "0197c0de-0000-7000-8000-00000000aaaa",
			Step: s, Source: "loop", Next: []string{"model"}, Meta: json.RawMessage(`{"node":"model"}`), Card: card}}
		b.Events = []store.Event{{Seq: from, To: seq, Run: "0197c0de-0000-7000-8000-00000000aaaa", Kind: "step",
			Data: data}}
		b.Patch = &store.ThreadPatch{Head: &head, Touch: true}
		commit(t, l, b)
		parent = head
		for _, m := range b.Messages {
			raw += int64(len(m.Body))
		}
		for _, f := range b.Fields {
			raw += int64(len(f.Body))
		}
	}
	return raw
}

// place appends number n to ranges.
func place(ranges []store.Range, n int64) []store.Range {
	if k := len(ranges); k > 0 && ranges[k-1].To == n-1 {
		return append(ranges[:k-1:k-1], store.Range{ranges[k-1].From, n})
	}
	return append(ranges[:len(ranges):len(ranges)], store.Range{n, n})
}

// replace puts number n where old is.
func replace(ranges []store.Range, old, n int64) (out []store.Range) {
	for _, r := range ranges {
		if old < r.From || old > r.To {
			out = append(out, r)
			continue
		}
		if old > r.From {
			out = append(out, store.Range{r.From, old - 1})
		}
		out = append(out, store.Range{n, n})
		if old < r.To {
			out = append(out, store.Range{old + 1, r.To})
		}
	}
	return out
}

func TestStorageGrowsWithContentNotWithSteps(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, dir)
	raw := longThread(t, db, 2000)
	checkClean(t, db)
	must.Do(t, db.Close())
	db = openAt(t, dir)
	total := must.Get(db.Size(t.Context()))(t)
	free := must.Get(db.Count(t.Context(),
		"SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"))(t)
	state := int64(0)
	for _, table := range []string{"thread", "message", "field", "checkpoint", "event", "run", "tail"} {
		n := must.Get(db.Count(t.Context(),
			"SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ? OR name LIKE 'sqlite_autoindex_' || ? || '_%'", table, table))(t)
		t.Logf("%-10s %8d bytes", table, n)
		if table == "message" || table == "field" || table == "checkpoint" {
			state += n
		}
	}
	t.Logf("content %d, state %d (%.2fx), file %d (%.2fx) of which free %d", raw, state, float64(state)/float64(raw),
		total, float64(total)/float64(raw), free)
	if state > 2*raw {
		t.Errorf("messages, fields and cards take %d bytes for %d bytes of content", state, raw)
	}
	snap := must.Get(db.Snapshot(t.Context(), "0197c0de-0000-7000-8000-000000000001", ""))(t)
	same(t, "live messages", len(snap.Messages), 2000)
}
