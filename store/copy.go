package store

// copyThread takes the messages, fields and checkpoints of p.CopyFrom over to the batch's
// thread, up to the checkpoint that is its head.
func (p *batch) copyThread() {
	if p.CopyFrom == "" {
		return
	}
	head := ""
	if p.Thread != nil {
		head = p.Thread.Head
	}
	to, from := p.ThreadID, p.CopyFrom
	p.add("copy the messages of thread", from, `INSERT INTO message(thread, n, id, body)
		SELECT ?, n, id, body FROM message WHERE thread = ?`, to, from)
	p.add("copy the message numbers of thread", from, `UPDATE thread SET top = (SELECT top FROM thread WHERE id = ?2)
		WHERE id = ?1`, to, from)
	p.add("copy the fields of thread", from, `INSERT INTO field(thread, name, version, body)
		SELECT ?, name, version, body FROM field WHERE thread = ?`, to, from)
	p.add("copy the checkpoints of thread", from,
		`INSERT INTO checkpoint(thread, ns, id, parent, run, step, source, next,
		meta, card, at) SELECT ?, ns, id, parent, run, step, source, next, meta, card, at
		FROM checkpoint WHERE thread = ? AND id <= ?`, to, from, head)
	p.add("copy the blobs of thread", from, `INSERT INTO blob(thread, hash, data)
		SELECT ?1, hash, data FROM blob WHERE thread = ?2
		AND hash IN (SELECT hash FROM blob_use WHERE thread = ?2 AND kind <> 'run')`, to, from)
	p.add("copy the blobs of thread", from, `INSERT INTO blob_use(thread, kind, name, n, hash)
		SELECT ?, kind, name, n, hash FROM blob_use WHERE thread = ? AND kind <> 'run'`, to, from)
}
