package store

// Spaces of the key-value table that begin like this belong to threads: their keys are
// a thread's id, or that, a space and more, and their owner is [Global]. They go with the thread.
const threadSpaces = "thread_"

// conversations is the namespace of items that say where conversations of OpenAI's API stand. They name their thread, and
// some quote its answers.
const conversations = "fawn.conversations"

// ChangesSpace holds the file changes of runs, by [ChangesKey].
const ChangesSpace = threadSpaces + "changes"

// ChangesKey returns where the changes of a run are.
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

// removeHistory leaves the thread its head with the rows that needs. Runs stay as they are
// listed, without their events.
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
