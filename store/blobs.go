package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// minBlob is the length in bytes from which base64 is stored separately.
const minBlob = 4 << 10

// blobMark precedes, in a stored row, the hash that replaces a base64 value. The rows stay valid JSON. A client's own
// text that looks like it is written with another escape, so that only references match.
const (
	blobMark  = `\u0000blob:`
	otherMark = `\u0000\u0062lob:`
	markLen   = len(blobMark) + 2*sha256.Size
)

// blobRow is content that rows of the batch's thread refer to.
type blobRow struct {
	thread string
	hash   [sha256.Size]byte
	data   []byte
}

// blobUse is a row that refers to a blob.
type blobUse struct {
	thread, kind, name string
	n                  int64
	hash               [sha256.Size]byte
}

// takeBlobs puts references in the place of large base64 in the rows of p.
func (p *batch) takeBlobs() {
	for i, m := range p.Messages {
		if body, ok := p.withoutBlobs(m.Body, blobUse{thread: p.ThreadID, kind: "message", n: m.N}); ok {
			p.Messages = slices.Clone(p.Messages)
			p.Messages[i].Body = body
		}
	}
	for i, f := range p.Fields {
		use := blobUse{thread: p.ThreadID, kind: "field", name: f.Name, n: f.Version}
		if body, ok := p.withoutBlobs(f.Body, use); ok {
			p.Fields = slices.Clone(p.Fields)
			p.Fields[i].Body = body
		}
	}
	if p.Run == nil {
		return
	}
	if body, ok := p.withoutBlobs(p.Run.Kwargs, blobUse{thread: p.Run.ThreadID, kind: "run", name: p.Run.ID}); ok {
		run := *p.Run
		run.Kwargs = body
		p.Run = &run
	}
}

// withoutBlobs returns body with references; ok means that it differs.
func (p *batch) withoutBlobs(body []byte, use blobUse) (out []byte, ok bool) {
	if bytes.Contains(body, []byte(blobMark)) {
		body, ok = bytes.ReplaceAll(body, []byte(blobMark), []byte(otherMark)), true
	}
	done := 0
	for at := 0; ; {
		from, to := longBase64(body, at)
		if from == to {
			break
		}
		at = to
		data := make([]byte, base64.StdEncoding.DecodedLen(to-from))
		n, err := base64.StdEncoding.Strict().Decode(data, body[from:to])
		if err != nil || !blobPlace(body, from, to) {
			continue
		}
		use.hash = sha256.Sum256(data[:n])
		if !slices.Contains(p.uses, use) {
			p.uses = append(p.uses, use)
		}
		if !slices.ContainsFunc(p.blobs, func(b blobRow) bool { return b.thread == use.thread && b.hash == use.hash }) {
			p.blobs = append(p.blobs, blobRow{use.thread, use.hash, data[:n]})
		}
		out = append(append(out, body[done:from]...), blobMark...)
		out = hex.AppendEncode(out, use.hash[:])
		done = to
	}
	if done == 0 {
		return body, ok
	}
	return append(out, body[done:]...), true
}

// blobPlace reports whether base64 is a complete string or the end of a data URL.
func blobPlace(body []byte, from, to int) bool {
	before := body[:from]
	return to < len(body) && body[to] == '"' &&
		(bytes.HasSuffix(before, []byte(`"`)) || bytes.HasSuffix(before, []byte(";base64,")))
}

// longBase64 finds the next stretch of base64 that is long enough, padding included, from at on.
func longBase64(body []byte, at int) (from, to int) {
	for at+minBlob <= len(body) {
		i := at + minBlob - 1 // a stretch from at on has this byte
		for i >= at && isBase64(body[i]) {
			i--
		}
		if i >= at {
			at = i + 1
			continue
		}
		from, to = at, at+minBlob
		for to < len(body) && isBase64(body[to]) {
			to++
		}
		for n := 0; n < 2 && to < len(body) && body[to] == '='; n++ {
			to++
		}
		return from, to
	}
	return 0, 0
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// putBlobs writes the blobs of a plan.
func (p *batch) putBlobs() {
	for _, b := range p.blobs {
		p.add("write blob of thread", b.thread, `INSERT INTO blob(thread, hash, data) VALUES (?, ?, ?)
			ON CONFLICT DO NOTHING`, b.thread, b.hash[:], b.data)
	}
	for _, u := range p.uses {
		p.add("write blob of thread", u.thread, `INSERT INTO blob_use(thread, kind, name, n, hash)
			VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, u.thread, u.kind, u.name, u.n, u.hash[:])
	}
}

// unusedUses selects references of deleted rows, unusedBlobs blobs without references.
const (
	unusedUses = ` FROM blob_use WHERE CASE kind
		WHEN 'message' THEN NOT EXISTS (SELECT 1 FROM message m WHERE m.thread = blob_use.thread AND m.n = blob_use.n)
		WHEN 'field' THEN NOT EXISTS (SELECT 1 FROM field f
			WHERE f.thread = blob_use.thread AND f.name = blob_use.name AND f.version = blob_use.n)
		ELSE NOT EXISTS (SELECT 1 FROM run r WHERE r.id = blob_use.name AND r.thread = blob_use.thread) END`
	unusedBlobs = ` FROM blob WHERE (thread, hash) NOT IN (SELECT thread, hash FROM blob_use)`
)

// dropBlobs deletes the thread's unreferenced blobs.
func (p *batch) dropBlobs() {
	const what = "delete blobs of thread"
	p.add(what, p.ThreadID, `DELETE`+unusedUses+` AND thread = ?1`, p.ThreadID)
	p.add(what, p.ThreadID, `DELETE FROM blob
		WHERE thread = ?1 AND hash NOT IN (SELECT hash FROM blob_use WHERE thread = ?1)`, p.ThreadID)
}

// readBlob is the query [filled] needs.
const readBlob = `SELECT data FROM blob WHERE thread = ? AND hash = ?`

// filled returns a stored body of a thread with the base64 itself in the place of references. ErrNotFound if one is
// gone.
func filled(ctx context.Context, one *sql.Stmt, thread string, body []byte) ([]byte, error) {
	if !bytes.Contains(body, []byte(blobMark)) {
		return body, nil
	}
	var out []byte
	for {
		at := bytes.Index(body, []byte(blobMark))
		if at < 0 {
			return append(out, body...), nil
		}
		var hash [sha256.Size]byte
		if len(body) < at+markLen {
			return append(out, body...), nil
		}
		if _, err := hex.Decode(hash[:], body[at+len(blobMark):at+markLen]); err != nil {
			// The body was stored before references existed.
			out, body = append(out, body[:at+len(blobMark)]...), body[at+len(blobMark):]
			continue
		}
		var data sql.RawBytes
		err := eachRow(ctx, one, []any{thread, hash[:]}, func(rows *sql.Rows) (bool, error) {
			if err := rows.Scan(&data); err != nil {
				return false, err
			}
			out = base64.StdEncoding.AppendEncode(append(out, body[:at]...), data)
			body = body[at+markLen:]
			at = -1
			return false, nil
		})
		if err != nil {
			return nil, fmt.Errorf("read blob %x: %w", hash[:4], err)
		}
		if at >= 0 {
			return nil, fmt.Errorf("blob %x: %w", hash[:4], ErrNotFound)
		}
	}
}

// fill is [filled] for a body that query, with args, read outside a view: one with references is read
// again inside one.
func (db *DB) fill(ctx context.Context, thread string, body *[]byte, query string, args ...any) error {
	if !bytes.Contains(*body, []byte(blobMark)) {
		return nil
	}
	return db.view(ctx, []string{query, readBlob}, func(v view) error {
		if err := v.stmts[0].QueryRowContext(ctx, args...).Scan(body); err != nil {
			return translate(err)
		}
		whole, err := filled(ctx, v.stmts[1], thread, *body)
		*body = whole
		return err
	})
}

// fillRuns puts base64 back into the requests of runs. Runs deleted meanwhile are left out.
func (db *DB) fillRuns(ctx context.Context, runs []Run) ([]Run, error) {
	out := runs[:0]
	for _, r := range runs {
		body := []byte(r.Kwargs)
		err := db.fill(ctx, r.ThreadID, &body, `SELECT kwargs FROM run WHERE id = ?`, r.ID)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		r.Kwargs = body
		out = append(out, r)
	}
	return out, nil
}
