package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// picture is base64 of n bytes that are the same for each seed.
func picture(seed, n int) string {
	r := rand.NewChaCha8(sha256.Sum256([]byte{byte(seed)}))
	data := make([]byte, n)
	r.Read(data)
	return base64.StdEncoding.EncodeToString(data)
}

func pictureMessage(id string, pictures ...string) []byte {
	blocks := []string{`{"type":"text","text":"look"}`}
	for _, p := range pictures {
		blocks = append(blocks, `{"type":"image_url","image_url":{"url":"data:image/png;base64,`+p+`"}}`)
	}
	return []byte(`{"type":"human","id":"` + id + `","content":[` + strings.Join(blocks, ",") + `]}`)
}

// blobsOf are how many blobs there are, and references to them.
func blobsOf(t *testing.T, db *store.DB) [2]int64 {
	t.Helper()
	return [2]int64{must.Get(db.Count(t.Context(), `SELECT count(*) FROM blob`))(t),
		must.Get(db.Count(t.Context(), `SELECT count(*) FROM blob_use`))(t)}
}

func (s suite) ALargePictureIsStoredOnce(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := s.openAt(t, dir)
	big, small := picture(1, 300<<10), picture(2, 1<<10)
	first, second := pictureMessage("a", big, small), pictureMessage("b", big, big)
	images := []byte(`{"/mnt/user-data/uploads/p.png":{"base64":"` + big + `","mime_type":"image/png"}}`)
	asked := json.RawMessage(`{"input":{"messages":[` + string(first) + `]}}`)
	before := bytes.Clone(first)
	commit(t, db, store.Batch{
		Thread:   &store.Thread{ID: "t", Head: "c"},
		Run:      &store.Run{ID: "r", ThreadID: "t", Status: "running", Kwargs: asked},
		Messages: []store.MessageRow{{N: 1, ID: "a", Body: first}, {N: 2, ID: "b", Body: second}},
		Fields:   []store.FieldRow{{Name: "viewed_images", Version: 1, Body: images}},
		Checkpoints: []store.Checkpoint{{ID: "c", Card: store.Card{Messages: []store.Range{{From: 1, To: 2}},
			Fields: map[string]int64{"viewed_images": 1}}}},
	})
	same(t, "what the caller has", string(first), string(before))
	same(t, "blobs and references", blobsOf(t, db), [2]int64{1, 4})
	if n := must.Get(db.Count(ctx, `SELECT max(octet_length(body)) FROM message`))(t); n > 4<<10 {
		t.Errorf("the longest message takes %d bytes", n)
	}
	kwargs := must.Get(db.Text(ctx, `SELECT kwargs FROM run`))(t)
	if n := len(kwargs); !json.Valid([]byte(kwargs)) || n > 4<<10 {
		t.Errorf("what was asked takes %d bytes: %.100s", n, kwargs)
	}
	f := must.Get(db.Footprint(ctx, "t"))(t)
	same(t, "measured", f.Blobs, store.Rows{Count: 1, Bytes: 300 << 10})

	for range 2 { // as written, then as a restarted server reads it
		snap := must.Get(db.Snapshot(ctx, "t", ""))(t)
		same(t, "first message", string(snap.Messages[0].Body), string(first))
		same(t, "second message", string(snap.Messages[1].Body), string(second))
		same(t, "field", string(snap.Fields["viewed_images"]), string(images))
		same(t, "one message", string(must.Get(db.Message(ctx, "t", 2))(t).Body), string(second))
		same(t, "one field", string(must.Get(db.Field(ctx, "t", "viewed_images", 1))(t)), string(images))
		same(t, "run", string(must.Get(db.Run(ctx, "r"))(t).Kwargs), string(asked))
		same(t, "runs", string(must.Get(db.Runs(ctx, "t", "", 0, 0))(t)[0].Kwargs), string(asked))
		checkClean(t, db)
		db = s.reopen(t, db, dir)
	}
	run := must.Get(db.Run(ctx, "r"))(t) // written again with another status, as a run is when it ends
	run.Status = "success"
	commit(t, db, store.Batch{Run: &run})
	same(t, "blobs of the ended run", blobsOf(t, db), [2]int64{1, 4})
}

func (s suite) BlobsGoWithTheLastRowThatHasThem(t *testing.T) {
	db := s.open(t)
	old, late := picture(1, 9<<10), picture(2, 9<<10)
	commit(t, db, store.Batch{
		Thread: &store.Thread{ID: "t", Head: "c"},
		Messages: []store.MessageRow{{N: 1, ID: "a", Body: pictureMessage("a", old)},
			{N: 2, ID: "b", Body: pictureMessage("b", old, late)}},
		Checkpoints: []store.Checkpoint{{ID: "c", Card: store.Card{Messages: []store.Range{{From: 1, To: 2}}}}},
	})
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "copy", Head: "c"}, NewThread: true, CopyFrom: "t"})
	same(t, "with a copy", blobsOf(t, db), [2]int64{4, 6})
	commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{MessagesFrom: 2},
		Patch: &store.ThreadPatch{Head: new(string)}})
	same(t, "after a message is taken back", blobsOf(t, db), [2]int64{3, 4})
	commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}})
	same(t, "after the thread is deleted", blobsOf(t, db), [2]int64{2, 3})
	snap := must.Get(db.Snapshot(t.Context(), "copy", ""))(t)
	same(t, "the copy", string(snap.Messages[1].Body), string(pictureMessage("b", old, late)))
	checkClean(t, db)

	run := store.Run{ID: "r", ThreadID: "copy", Status: "success", Kwargs: pictureMessage("x", picture(3, 9<<10))}
	commit(t, db, store.Batch{Run: &run})
	same(t, "with a run", blobsOf(t, db), [2]int64{3, 4})
	commit(t, db, store.Batch{ThreadID: "copy", Delete: &store.Delete{Runs: []string{"r"}}})
	same(t, "after the run is deleted", blobsOf(t, db), [2]int64{2, 3})
}

// A text that looks like a reference is none: nobody can have a picture of the same thread put
// into a message many times over by writing its hash.
func (s suite) OnlyTheStoreMakesReferences(t *testing.T) {
	db := s.open(t)
	p := picture(1, 9<<10)
	data, _ := base64.StdEncoding.DecodeString(p)
	hash := sha256.Sum256(data)
	forged := []byte(`{"content":"\u0000blob:` + hex.EncodeToString(hash[:]) + `"}`)
	broken := []byte(`{"content":"\u0000blob:12"}`)
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t"}, Messages: []store.MessageRow{
		{N: 1, ID: "a", Body: pictureMessage("a", p)}, {N: 2, ID: "b", Body: forged}, {N: 3, ID: "c", Body: broken}}})
	for n, want := range map[int64][]byte{2: forged, 3: broken} {
		var got, meant any
		must.Do(t, errors.Join(json.Unmarshal(must.Get(db.Message(t.Context(), "t", n))(t).Body, &got),
			json.Unmarshal(want, &meant)))
		same(t, "a text", got, meant)
	}
}

func (s suite) WhatIsNoBase64StaysInItsRow(t *testing.T) {
	db := s.open(t)
	for i, body := range []string{
		`{"content":"` + strings.Repeat("word ", 4000) + `"}`,
		`{"content":"` + strings.Repeat("a", 8001) + `"}`,                               // no multiple of four
		`{"content":"` + strings.Repeat("a", 8001) + `B=="}`,                            // bits left over
		`{"content":"see ` + strings.Repeat("abcd", 2000) + ` there"}`,                  // part of a text
		`{"content":"data:image/png;base64,` + strings.Repeat("abcd", 2000) + ` more"}`, // the same
		`{"content":"` + strings.Repeat("abcd", 1000) + `"}`,                            // short
	} {
		id := string(rune('a' + i))
		commit(t, db,
			store.Batch{Thread: &store.Thread{ID: id},
				Messages: []store.MessageRow{{N: 1, ID: "m", Body: []byte(body)}}})
		same(t, "body", string(must.Get(db.Message(t.Context(), id, 1))(t).Body), body)
	}
	same(t, "blobs", blobsOf(t, db), [2]int64{})
}

func (s suite) CheckFindsWhatIsWrongWithBlobs(t *testing.T) {
	db := s.open(t)
	for _, id := range []string{"gone", "damaged"} {
		commit(t, db,
			store.Batch{Thread: &store.Thread{ID: id},
				Messages: []store.MessageRow{{N: 1, ID: "m", Body: pictureMessage("m", picture(1, 9<<10))}}})
	}
	for _, damage := range []string{
		`DELETE FROM blob WHERE thread = 'gone'`,
		`UPDATE blob SET data = CAST('0' AS {bytes}) WHERE thread = 'damaged'`,
		`INSERT INTO blob(thread, hash, data) VALUES ('damaged', CAST('another' AS {bytes}), CAST('0' AS {bytes}))`,
		`INSERT INTO blob_use(thread, kind, name, n, hash) VALUES ('gone', 'run', 'nothing', 0, CAST('1' AS {bytes}))`,
	} {
		must.Do(t, db.Exec(t.Context(), damage))
	}
	found := strings.Join(must.Get(db.Check(t.Context()))(t), "\n")
	for _, want := range []string{"Thread gone needs blob", "of thread damaged is damaged.",
		"Nothing refers to 1 blobs.", "1 blobs are kept for rows that are gone."} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is not in:\n%s", want, found)
		}
	}
	if _, err := db.Message(t.Context(), "gone", 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a message without its picture: %v", err)
	}
	must.Get(db.Repair(t.Context()))(t)
	same(t, "what is left to say", len(must.Get(db.Check(t.Context()))(t)), 2)
}
