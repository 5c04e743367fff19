package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Spaces of the key-value table that begin like this belong to threads: their keys are
// a thread's id, or that, a space and more, and their owner is [Global]. They go with the thread.
const threadSpaces = "thread_"

// conversations is the namespace of items that hold the state of conversations of OpenAI's API. They name their
// thread, and some quote its answers.
const conversations = "fawn.conversations"

// ChangesSpace holds the file changes of runs, by [ChangesKey].
const ChangesSpace = threadSpaces + "changes"

// ChangesKey returns the key of a run's file changes.
func ChangesKey(thread, run string) string { return thread + " " + run }

// DocumentSpace holds the state of a thread's documents, by the thread's id, a space and the name of the upload. The
// thread need not exist yet.
const DocumentSpace = threadSpaces + "document"

// removeThread deletes every row of the thread. The content is overwritten, because people who delete a conversation
// want it gone from the file.
func (p *batch) removeThread() {
	const what = "delete thread"
	p.add(what, p.ThreadID, `DELETE FROM item WHERE owner = (SELECT owner FROM thread WHERE id = ?1)
		AND namespace = '`+conversations+`' AND {json}value{json end} ->> 'thread' = ?1`, p.ThreadID).Wipe = true
	for _, query := range []string{
		`DELETE FROM channel_in WHERE run IN (SELECT id FROM run WHERE thread = ?)`,
		`DELETE FROM channel_out WHERE run IN (SELECT id FROM run WHERE thread = ?)`,
		`DELETE FROM channel_chat WHERE thread = ?`,
		`DELETE FROM message WHERE thread = ?`, `DELETE FROM field WHERE thread = ?`,
		`DELETE FROM checkpoint WHERE thread = ?`, `DELETE FROM event WHERE thread = ?`,
		`DELETE FROM run WHERE thread = ?`, `DELETE FROM feedback WHERE thread = ?`,
		`DELETE FROM audit WHERE thread = ?`, `DELETE FROM blob WHERE thread = ?`,
		`DELETE FROM blob_use WHERE thread = ?`, `DELETE FROM spending WHERE thread = ?`,
		`DELETE FROM share WHERE thread = ?`, `DELETE FROM span WHERE thread = ?`,
		`DELETE FROM prompt WHERE thread = ?`, `DELETE FROM tree WHERE thread = ?`,
		`DELETE FROM object_use WHERE thread = ?`,
		`DELETE FROM cron_run WHERE cron IN (SELECT id FROM cron WHERE thread = ?)`,
		`DELETE FROM cron WHERE thread = ?`,
		`DELETE FROM thread WHERE id = ?`,
	} {
		p.add(what, p.ThreadID, query, p.ThreadID).Wipe = true
	}
	p.emptyNotes()
	p.add(what, p.ThreadID,
		`DELETE FROM kv WHERE owner = '' AND space >= ? AND space < ? AND (key = ? OR key >= ? AND key < ?)`,
		threadSpaces, threadSpaces+"\x7f", p.ThreadID, p.ThreadID+" ", p.ThreadID+"!").Wipe = true
}

// removeHistory keeps only the thread's head and its rows. Runs stay listed, without their events.
func (p *batch) removeHistory() {
	const what = "delete the history of thread"
	thread := p.ThreadID
	p.add(what, thread, `SELECT 1 FROM thread t JOIN checkpoint c ON c.thread = t.id AND c.ns = '' AND c.id = t.head
		WHERE t.id = ?`, thread).Must = ErrNotFound
	for _, query := range []string{
		`DELETE FROM checkpoint WHERE thread = ?1 AND NOT (ns = '' AND id = (SELECT head FROM thread WHERE id = ?1))`,
		`UPDATE checkpoint SET parent = '' WHERE thread = ?1`,
		`DELETE FROM event WHERE thread = ?1`,
		`UPDATE run SET first_seq = 0, last_seq = 0, base_checkpoint = '' WHERE thread = ?1`,
		// Only the head is left. Its ranges come first, so each message is visited once.
		`DELETE FROM message WHERE thread = ?1 AND n NOT IN (SELECT m.n FROM checkpoint c
			CROSS JOIN {ranges} r CROSS JOIN message m WHERE c.thread = ?1 AND c.ns = '' AND m.thread = ?1
			AND m.n BETWEEN {number}r.value ->> 0{number end} AND {number}r.value ->> 1{number end})`,
		`DELETE FROM field WHERE thread = ?1 AND (name, version) NOT IN (SELECT f.key, {number}f.value{number end} FROM checkpoint c
			CROSS JOIN {versions} f WHERE c.thread = ?1 AND c.ns = '')`,
	} {
		p.add(what, thread, query, thread)
	}
}

// unsentFor is the lifetime of choices for a new chat, such as disabled tools, before its first message.
const unsentFor = 24 * time.Hour

// maxUnsent limits the values that one DropUnsent deletes.
const maxUnsent = 1000

// DropUnsent deletes values of chats opened at least a day before that moment without any message. Their ids, created
// by the page, contain the time.
func (db *DB) DropUnsent(ctx context.Context, now time.Time) error {
	var b Batch
	err := db.each(ctx, `SELECT space, key FROM kv k WHERE owner = '' AND space >= ? AND space < ?
		AND NOT EXISTS (SELECT 1 FROM thread t WHERE t.id = k.key)`, []any{threadSpaces, threadSpaces + "\x7f"},
		func(rows *sql.Rows) (bool, error) {
			kv := KV{Owner: Global}
			err := rows.Scan(&kv.Space, &kv.Key)
			if at, ok := minted(kv.Key); ok && now.Sub(at) >= unsentFor {
				b.KV = append(b.KV, kv)
			}
			return len(b.KV) < maxUnsent, err
		})
	if err == nil && len(b.KV) > 0 {
		err = db.Commit(ctx, b)
	}
	if err != nil {
		return fmt.Errorf("delete values of chats that were never sent: %w", err)
	}
	return nil
}

// unsent reports whether a value's key is the id of a chat that may still get its first message.
func unsent(key string, now time.Time) bool {
	at, ok := minted(key)
	return ok && now.Sub(at) < unsentFor
}

// minted returns when a UUID of version 7 was made; ok is false for any other text.
func minted(id string) (at time.Time, ok bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[14] != '7' || strings.ContainsAny(id, " +_") {
		return at, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil
}
