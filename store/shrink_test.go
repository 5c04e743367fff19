package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestDeletedRowsGiveTheirRoomBack: the file shrinks, other rows stay readable. In a bubble,
// where no quiet second passes while there is work: housekeeping would give the room back
// first, and Shrink find nothing left.
func TestDeletedRowsGiveTheirRoomBack(t *testing.T) {
	synctest.Test(t, deletedRowsGiveTheirRoomBack)
}

func deletedRowsGiveTheirRoomBack(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, dir)
	same(t, "page size", must.Get(db.Count(t.Context(), "PRAGMA page_size"))(t), int64(8192))
	same(t, "auto vacuum", must.Get(db.Count(t.Context(), "PRAGMA auto_vacuum"))(t), int64(2))
	empty := must.Get(db.Room(t.Context()))(t).Used
	body := bytes.Repeat([]byte("x"), 10_000)
	for _, id := range []string{"a", "b"} {
		var msgs []store.MessageRow
		for n := range int64(200) {
			msgs = append(msgs, store.MessageRow{N: n + 1, ID: fmt.Sprint(n), Body: body})
		}
		commit(t, db, store.Batch{Thread: &store.Thread{ID: id}, Messages: msgs})
	}
	before := must.Get(db.Room(t.Context()))(t)
	commit(t, db, store.Batch{ThreadID: "a", Delete: &store.Delete{Thread: true}})
	freed := must.Get(db.Shrink(t.Context()))(t)
	after := must.Get(db.Room(t.Context()))(t)
	if freed < 1_500_000 || after.Used-empty > (before.Used-empty)*6/10 || after.Free > 1<<20 {
		t.Errorf("freed %d: %+v, then %+v", freed, before, after)
	}
	must.Do(t, db.Close())
	if fi, err := os.Stat(filepath.Join(dir, "fawn.db")); err != nil || fi.Size() > after.Used+after.Free {
		t.Errorf("the file has %d bytes, %v", fi.Size(), err)
	}
	db = openAt(t, dir)
	checkClean(t, db)
	same(t, "message", string(must.Get(db.Message(t.Context(), "b", 200))(t).Body), string(body))
	same(t, "freed of nothing", must.Get(db.Shrink(t.Context()))(t), int64(0))
}

// TestDeletedTextIsGoneFromTheDisk: not in free pages, not in the log.
func TestDeletedTextIsGoneFromTheDisk(t *testing.T) {
	const secret = "the-secret-of-this-thread"
	dir := t.TempDir()
	db := openAt(t, dir)
	text := []byte(strings.Repeat(secret+" ", 1000))
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "gone", Title: secret},
		Messages: []store.MessageRow{{1, "m", text}, {2, "n", []byte(secret)}},
		Fields:   []store.FieldRow{{"f", 1, text}}, Events: []store.Event{{Seq: 1, Data: text}},
		Run: &store.Run{ID: "r", ThreadID: "gone", Kwargs: []byte(`"` + secret + `"`)}})
	commit(t, db,
		store.Batch{Thread: &store.Thread{ID: "kept"}, Messages: []store.MessageRow{{1, "m", []byte("kept text")}}})
	l := db.OpenLane("gone", func(int64) {})
	l.Append(2, []byte(secret))
	flush(t, l)
	l.Close()
	must.Do(t, db.Close()) // all of it is in the database file now
	if raw := must.Get(os.ReadFile(filepath.Join(dir, "fawn.db")))(t); !bytes.Contains(raw, []byte(secret)) {
		t.Fatal("the text cannot be found where it must be: this test proves nothing")
	}
	db = openAt(t, dir)
	commit(t, db, store.Batch{ThreadID: "gone", Delete: &store.Delete{Thread: true}})
	must.Do(t, db.Close())
	files := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	for _, name := range files {
		if raw := must.Get(os.ReadFile(name))(t); bytes.Contains(raw, []byte(secret)) {
			t.Errorf("%s still has the text", filepath.Base(name))
		}
	}
}
