package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// noteSetting begins the names of notes in the table of settings. They have version 0, as they aren't settings.
const noteSetting = "note/"

// noteRest is the extra time a note is kept after it expires, since servers' clocks may differ.
const noteRest = time.Hour

// noteSweep is the interval of deleting expired notes, which reads all of them.
const noteSweep = 10 * time.Minute

// boundNotes holds the names of notes that are about a thread.
const boundNotes = threadSpaces + "note"

// boundTime is how long such a note remains valid, without its body, after its thread was deleted.
const boundTime = 24 * time.Hour

// noteHead is the number of bytes before a note's body, which hold its expiry.
const noteHead = 8

// Note is a small value that servers share, such as a sign-in in progress.
type Note struct {
	Name   string
	Body   []byte    // empty once its thread has been deleted
	Until  time.Time // expiry
	Over   bool      // for SwapNotes: it may replace an existing note
	Thread string    // for SwapNotes: the thread it is about
}

// SwapNotes removes notes and adds others atomically, or returns ErrChanged. So only one server can take a note.
// Listeners are woken.
func (db *DB) SwapNotes(ctx context.Context, take []string, leave ...Note) error {
	p := &batch{setting: db.w.setting()}
	names := slices.Sorted(slices.Values(take))
	for _, name := range names {
		p.add("take note", name, `DELETE FROM setting WHERE name = ? AND version = 0`,
			noteSetting+name).Must = ErrChanged
	}
	leave = slices.Clone(leave)
	slices.SortFunc(leave, func(a, b Note) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range leave {
		body := append(noteTime(n.Until), n.Body...)
		if n.Thread != "" {
			p.bindNote(n)
		}
		if names = append(names, n.Name); n.Over {
			p.add("leave note", n.Name, `INSERT INTO setting(name, version, body) VALUES (?, 0, ?)
				ON CONFLICT(name) DO UPDATE SET body = excluded.body`, noteSetting+n.Name, body)
			continue
		}
		p.add("leave note", n.Name, `INSERT INTO setting(name, version, body) VALUES (?, 0, ?)
			ON CONFLICT(name) DO NOTHING`, noteSetting+n.Name, body).Must = ErrChanged
	}
	now := db.Now()
	swept := db.notesSwept.Load()
	sweep := len(leave) > 0 && now.UnixMilli()-swept >= noteSweep.Milliseconds() &&
		db.notesSwept.CompareAndSwap(swept, now.UnixMilli())
	if sweep {
		p.dropOldNotes(now)
	}
	p.measure()
	if err := db.w.do(ctx, &job{batch: p}); err != nil {
		if sweep {
			db.notesSwept.Store(swept)
		}
		return err
	}
	db.Say(WakeNote, 0, names...)
	return nil
}

// dropOldNotes deletes notes that haven't counted for a while, and what bound them to threads.
func (p *batch) dropOldNotes(now time.Time) {
	p.add("delete old notes", "", `DELETE FROM setting WHERE name >= 'note/' AND name < 'note0' AND body < ?`,
		noteTime(now.Add(-noteRest)))
	p.add("delete names of old notes", "", `DELETE FROM kv WHERE owner = '' AND space = ? AND NOT EXISTS (SELECT 1 FROM setting
		WHERE setting.name = '`+noteSetting+`' || substr(kv.key, {position}(kv.key, ' ') + 1))`, boundNotes)
}

// bindNote ties a note to its thread, if that still exists, so that it is emptied with it.
func (p *batch) bindNote(n Note) {
	p.add("bind note", n.Name, `INSERT INTO kv(owner, space, key, body) SELECT '', '`+boundNotes+`', t.id || ' ' || ?,
		CAST('' AS {bytes}) FROM thread t WHERE t.id = ? ON CONFLICT(owner, space, key) DO NOTHING`, n.Name, n.Thread)
}

// emptyNotes empties the notes about the thread of p. Their names are still known.
func (p *batch) emptyNotes() {
	p.add("empty notes about thread", p.ThreadID, `UPDATE setting SET body = ? WHERE version = 0 AND body >= ? AND name IN
		(SELECT '`+noteSetting+`' || substr(key, CAST(? AS INTEGER)) FROM kv WHERE owner = '' AND space = '`+boundNotes+`'
		AND key >= ? AND key < ?)`, noteTime(p.now.Add(boundTime)), noteTime(p.now), utf8.RuneCountInString(p.ThreadID)+2, p.ThreadID+" ",
		p.ThreadID+"!").Wipe = true
}

// Notes returns valid notes by name prefix, in the order of names.
func (db *DB) Notes(ctx context.Context, prefix string) ([]Note, error) {
	var out []Note
	now := db.Now()
	from := noteSetting + prefix
	err := db.each(ctx, `SELECT name, body FROM setting WHERE version = 0 AND name >= ? AND name < ? ORDER BY name`,
		[]any{from, from + "\U0010FFFF"}, func(rows *sql.Rows) (bool, error) {
			var n Note
			err := rows.Scan(&n.Name, &n.Body)
			if err != nil || len(n.Body) < noteHead {
				return true, err
			}
			n.Name = strings.TrimPrefix(n.Name, noteSetting)
			n.Until = time.UnixMilli(int64(binary.BigEndian.Uint64(n.Body)))
			if n.Body = n.Body[noteHead:]; n.Until.After(now) {
				out = append(out, n)
			}
			return true, nil
		})
	if err != nil {
		return nil, fmt.Errorf("read notes %s: %w", prefix, err)
	}
	return out, nil
}

func noteTime(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, noteHead), uint64(max(t.UnixMilli(), 0)))
}
