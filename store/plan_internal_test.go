package store

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestPlansAreWhatBatchesSay, without any database: what a batch becomes depends on nothing else.
func TestPlansAreWhatBatchesSay(t *testing.T) {
	title, head := "a\x00b", "c2"
	run := Run{ID: "r", ThreadID: "t", Status: "running"}
	step := Batch{ThreadID: "t", Run: &run, Patch: &ThreadPatch{Title: &title, Head: &head, Touch: true},
		Messages:    []MessageRow{{N: 4, ID: "m4", Body: []byte("{}")}, {N: 5, ID: "m5", Body: []byte("{}")}},
		Fields:      []FieldRow{{Name: "title", Version: 2, Body: []byte(`"a"`)}},
		Checkpoints: []Checkpoint{{ID: "c2", Parent: "c1", Card: Card{Messages: []Range{{1, 5}}}}},
		Events:      []Event{{Seq: 7, To: 9, Run: "r", Kind: "step"}}}
	for name, c := range map[string]struct {
		b     Batch
		quiet bool // no events
		want  string
	}{
		"step": {step, false, `thread t: UPDATE thread! / run r: INSERT INTO run! / write messages of thread t: INSERT INTO message /
			write messages of thread t: INSERT INTO message / write fields of thread t: INSERT INTO field /
			write checkpoint c2: INSERT INTO checkpoint / write events of thread t: INSERT INTO event`},
		"step without events": {step, true, `thread t: UPDATE thread! / run r: INSERT INTO run! /
			write messages of thread t: INSERT INTO message / write messages of thread t: INSERT INTO message /
			write fields of thread t: INSERT INTO field / write checkpoint c2: INSERT INTO checkpoint`},
		"new thread": {Batch{Thread: &Thread{ID: "t"}, NewThread: true}, false, `thread t: INSERT INTO thread!`},
		"rows alone": {Batch{ThreadID: "t", Run: &Run{ID: "r", ThreadID: "u"}, Messages: step.Messages[:1],
			Events: step.Events}, false, `thread t: SELECT 1 FROM thread! / thread u: SELECT 1 FROM thread! /
			run r: INSERT INTO run! / number messages of thread t: UPDATE thread / write messages of thread t: INSERT INTO message /
			write events of thread t: INSERT INTO event / number events of thread t: UPDATE thread / line of thread u: UPDATE run`},
		"back": {Batch{ThreadID: "t", Patch: &ThreadPatch{Head: &head}, Delete: &Delete{Checkpoints: []string{"c3"},
			EventsFrom: 4, EventsTo: 6, MessagesFrom: 3}}, false, `thread t: UPDATE thread! /
			delete checkpoint c3: DELETE FROM checkpoint / delete checkpoint c3: DELETE FROM checkpoint /
			delete events of thread t: DELETE FROM event / number events of thread t: UPDATE thread /
			delete messages of thread t: DELETE FROM message / delete blobs of thread t: DELETE FROM blob_use /
			delete blobs of thread t: DELETE FROM blob / unshare thread t: DELETE FROM share`},
		"values": {Batch{KV: []KV{{Space: "s", Key: "k"}, {Space: "s", Key: "l", Body: []byte("v")}}}, false,
			`s k: DELETE FROM kv / s l: INSERT INTO kv`},
	} {
		s := setting{now: time.UnixMilli(1_000), incarnation: 5, noEvents: c.quiet, auditRows: 2, auditBytes: 3}
		p, err := plan(c.b, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := listed(p.stmts), strings.Join(strings.Fields(c.want), " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		again, err := plan(c.b, s)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%s: a second plan is another one: %v", name, err)
		}
	}
}

// listed are statements in short: what for, which verb and table, and whether they must find a row.
func listed(list []stmt) string {
	var out []string
	for _, s := range list {
		words := strings.FieldsFunc(s.sql, func(r rune) bool { return r == ' ' || r == '(' || r == '\n' || r == '\t' })
		n := map[string]int{"INSERT": 3, "UPDATE": 2, "DELETE": 3, "SELECT": 4}[words[0]]
		line := s.what + " " + s.of + ": " + strings.Join(words[:n], " ")
		if s.must != nil {
			line += "!"
		}
		out = append(out, line)
	}
	return strings.Join(out, " / ")
}

func TestPlansWriteCleanText(t *testing.T) {
	title := "a\x00b\xff"
	p, err := plan(Batch{ThreadID: "t\x00",
		Patch: &ThreadPatch{Title: &title, Metadata: json.RawMessage("{\"a\":\"\xff\"}")}},
		setting{now: time.UnixMilli(1)})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{(*string)(nil), "a\uFFFDb\uFFFD", (*string)(nil), "{\"a\":\"\uFFFD\"}", "t\uFFFD"}
	if got := p.stmts[0].args; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeletedThreadsAreOverwrittenAndForgotten(t *testing.T) {
	p, err := plan(Batch{ThreadID: "t", Delete: &Delete{Thread: true}}, setting{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.removesThread() || !p.shrinks() {
		t.Error("the tail keeps the thread, or the file its room")
	}
	if first := p.stmts[0]; !errors.Is(first.must, ErrNotFound) || first.wipe {
		t.Errorf("first %+v", first)
	}
	for _, s := range p.stmts[1:] {
		if !s.wipe {
			t.Errorf("%s leaves what the rows held", s.sql)
		}
	}
}

func TestPlansRefuseRowsOfNobody(t *testing.T) {
	for _, b := range []Batch{{Thread: &Thread{}}, {Run: &Run{ID: "r"}}, {Messages: []MessageRow{{N: 1}}},
		{Patch: &ThreadPatch{}}, {ThreadID: "t", Patch: &ThreadPatch{Merge: json.RawMessage("[")}}} {
		if _, err := plan(b, setting{}); err == nil {
			t.Errorf("%+v was planned", b)
		}
	}
}
