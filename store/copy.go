package store

import "fmt"

// copyThread takes the messages, fields and checkpoints of p.CopyFrom over to the batch's
// thread, up to the checkpoint that is its head.
func (w *writer) copyThread(p *batch) error {
	if p.CopyFrom == "" {
		return nil
	}
	head := ""
	if p.Thread != nil {
		head = p.Thread.Head
	}
	for _, q := range []struct {
		what, sql string
		args      []any
	}{
		{"messages", `INSERT INTO message(thread, n, id, body) SELECT ?, n, id, body FROM message WHERE thread = ?`,
			[]any{p.ThreadID, p.CopyFrom}},
		{"message numbers", `UPDATE thread SET top = (SELECT top FROM thread WHERE id = ?2) WHERE id = ?1`,
			[]any{p.ThreadID, p.CopyFrom}},
		{"fields", `INSERT INTO field(thread, name, version, body)
			SELECT ?, name, version, body FROM field WHERE thread = ?`,
			[]any{p.ThreadID, p.CopyFrom}},
		{"checkpoints", `INSERT INTO checkpoint(thread, ns, id, parent, run, step, source, next, meta, card, at)
			SELECT ?, ns, id, parent, run, step, source, next, meta, card, at
			FROM checkpoint WHERE thread = ? AND id <= ?`,
			[]any{p.ThreadID, p.CopyFrom, head}},
		{"blobs", `INSERT INTO blob(thread, hash, data) SELECT ?1, hash, data FROM blob WHERE thread = ?2
			AND hash IN (SELECT hash FROM blob_use WHERE thread = ?2 AND kind <> 'run')`,
			[]any{p.ThreadID, p.CopyFrom}},
		{"blobs", `INSERT INTO blob_use(thread, kind, name, n, hash) SELECT ?, kind, name, n, hash FROM blob_use
			WHERE thread = ? AND kind <> 'run'`, []any{p.ThreadID, p.CopyFrom}},
	} {
		if err := w.exec(q.sql, q.args...); err != nil {
			return fmt.Errorf("copy the %s of thread %s: %w", q.what, p.CopyFrom, err)
		}
	}
	return nil
}
