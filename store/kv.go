package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// KV returns a value, or ErrNotFound.
func (db *DB) KV(ctx context.Context, owner, space, key string) ([]byte, error) {
	empty, known, gen := db.w.blank.empty(owner, space)
	if empty {
		return nil, fmt.Errorf("%s/%s: %w", space, key, ErrNotFound)
	}
	var body []byte
	if err := db.queryRow(db.brief(ctx), `SELECT body FROM kv WHERE owner = ? AND space = ? AND key = ?`,
		[]any{owner, space, key}, &body); err != nil {
		if db.pg == nil && !known && errors.Is(err, ErrNotFound) {
			db.lookBlank(ctx, owner, space, gen)
		}
		return nil, fmt.Errorf("%s/%s: %w", space, key, err)
	}
	return blob(body), nil
}

// ThreadKV returns the metadata of a thread, its project, and the values of two spaces of [Global] under its id, as of one
// moment; missing ones are empty.
func (db *DB) ThreadKV(ctx context.Context, thread, first, second string) (metadata []byte, project string, a, b []byte,
	err error) {
	const one = `(SELECT body FROM kv WHERE owner = ? AND space = ? AND key = ?)`
	err = db.queryRow(db.brief(ctx), `SELECT (SELECT metadata FROM thread WHERE id = ?),
		coalesce((SELECT project FROM thread WHERE id = ?), ''), `+one+`, `+one,
		[]any{thread, thread, Global, first, thread, Global, second, thread}, &metadata, &project, &a, &b)
	if err != nil {
		return nil, "", nil, nil, fmt.Errorf("read stored values of thread %s: %w", thread, err)
	}
	return metadata, project, a, b, nil
}

// Keys returns the keys of a space in order.
func (db *DB) Keys(ctx context.Context, owner, space string) ([]string, error) {
	keys, err := rowsOf(ctx, db, `SELECT key FROM kv WHERE owner = ? AND space = ? ORDER BY key`, []any{owner, space},
		func(rows scanner) (k string, err error) {
			err = rows.Scan(&k)
			return k, err
		})
	if err != nil {
		return nil, fmt.Errorf("list keys of %s: %w", space, err)
	}
	return keys, nil
}

// KVs returns the values of a space by key prefix, in the order of keys.
func (db *DB) KVs(ctx context.Context, owner, space, prefix string) ([]KV, error) {
	out, err := db.kvs(ctx, owner, space, `substr(key, 1, length(?)) = ? ORDER BY key`, prefix, prefix)
	if err != nil {
		return nil, fmt.Errorf("list values of %s: %w", space, err)
	}
	return out, nil
}

// LastKVs returns the values of a space whose keys begin with prefix, last key first: at most limit, and with before only
// keys before that one. A prefix ends with a space.
func (db *DB) LastKVs(ctx context.Context, owner, space, prefix, before string, limit int) ([]KV, error) {
	end := strings.TrimSuffix(prefix, " ") + "!" // the byte after a space
	if before != "" {
		end = before
	}
	out, err := db.kvs(ctx, owner, space, `key >= ? AND key < ? ORDER BY key DESC LIMIT ?`, prefix, end, limit)
	if err != nil {
		return nil, fmt.Errorf("list the last values of %s: %w", space, err)
	}
	return out, nil
}

func (db *DB) kvs(ctx context.Context, owner, space, where string, args ...any) ([]KV, error) {
	out, err := rowsOf(ctx, db, `SELECT key, body FROM kv WHERE owner = ? AND space = ? AND `+where,
		append([]any{owner, space}, args...), func(rows scanner) (kv KV, err error) {
			kv = KV{Owner: owner, Space: space}
			err = rows.Scan(&kv.Key, &kv.Body)
			kv.Body = blob(kv.Body)
			return kv, err
		})
	return out, err
}

func (p *batch) putKV() {
	for _, kv := range p.KV {
		if kv.Body == nil {
			p.add(kv.Space, kv.Key, `DELETE FROM kv WHERE owner = ? AND space = ? AND key = ?`, kv.Owner,
				kv.Space, kv.Key)
			continue
		}
		p.add(kv.Space, kv.Key, `INSERT INTO kv(owner, space, key, body) VALUES (?, ?, ?, ?)
			ON CONFLICT(owner, space, key) DO UPDATE SET body = excluded.body`, kv.Owner, kv.Space, kv.Key, kv.Body)
	}
}

// putKV writes values inside a job.
func (w *writer) putKV(list []KV) error {
	w.puts = append(w.puts, list...)
	p := batch{Batch: Batch{KV: list}}
	p.putKV()
	return w.engine.Run(p.Stmts)
}

// blanks remembers which spaces of an owner have no values: most are for rarely used switches, and each run reads some
// of them. It is for a database file, which has no other writers.
type blanks struct {
	mu    sync.Mutex
	gen   uint64
	known map[spaceKey]bool // whether the space is empty
}

type spaceKey struct{ owner, space string }

// maxBlanks limits the remembered spaces.
const maxBlanks = 4096

// empty reports whether a space is known to have no values, and returns the generation for keep.
func (b *blanks) empty(owner, space string) (empty, known bool, gen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	empty, known = b.known[spaceKey{owner, space}]
	return empty, known, b.gen
}

// keep remembers the result of a query that began at gen, unless something was written since.
func (b *blanks) keep(owner, space string, empty bool, gen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if gen != b.gen {
		return
	}
	if b.known == nil || len(b.known) >= maxBlanks {
		b.known = map[spaceKey]bool{}
	}
	b.known[spaceKey{owner, space}] = empty
}

// written forgets spaces in which a commit changed values. It is called before the commit is announced.
func (b *blanks) written(list []KV) {
	if len(list) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gen++
	for _, kv := range list {
		delete(b.known, spaceKey{kv.Owner, kv.Space})
	}
}

// lookBlank finds out whether a space has no values, after one was not found in it.
func (db *DB) lookBlank(ctx context.Context, owner, space string, gen uint64) {
	filled := false
	err := db.queryRow(db.brief(ctx), `SELECT EXISTS (SELECT 1 FROM kv WHERE owner = ? AND space = ?)`,
		[]any{owner, space}, &filled)
	if err == nil { // otherwise it is checked again
		db.w.blank.keep(owner, space, !filled, gen)
	}
}
