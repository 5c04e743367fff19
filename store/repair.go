package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"fawn/store/postgres"
)

// Repair fixes everything that can be fixed without losing visible content, after copying a database file, and returns
// sentences about its changes: it deletes unreachable rows, replaces a missing head with the newest checkpoint, clears
// a missing parent, and corrects counters and statuses. Damaged content stays.
func (db *DB) Repair(ctx context.Context) ([]string, error) {
	copied := filepath.Join(db.dir, "fawn-before-repair-"+time.Now().UTC().Format("20060102T150405.000")+".db")
	err := db.Backup(ctx, copied)
	if err != nil && !errors.Is(err, postgres.ErrNoFile) {
		return nil, err
	}
	isFile := err == nil
	var did []string
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		did = nil
		for _, o := range owned {
			if err := w.mend(&did, "deleted %d rows of "+o.table+" whose thread does not exist",
				`DELETE`+without(o.table, o.loose)); err != nil {
				return err
			}
		}
		for _, m := range []struct{ did, query string }{
			{"deleted %d values of threads that do not exist", `DELETE` + strayValues},
			{"gave %d threads the newest checkpoint there is as their head",
				`UPDATE thread SET head = coalesce(
					(SELECT max(c.id) FROM checkpoint c WHERE c.thread = thread.id AND c.ns = ''), '')
				WHERE head <> '' AND NOT EXISTS
				(SELECT 1 FROM checkpoint c WHERE c.thread = thread.id AND c.ns = '' AND c.id = thread.head)`},
			{"made %d checkpoints whose parent is gone first ones",
				`UPDATE checkpoint SET parent = '' WHERE parent <> '' AND NOT EXISTS
				(SELECT 1 FROM checkpoint p
					WHERE p.thread = checkpoint.thread AND p.ns = checkpoint.ns AND p.id = checkpoint.parent)`},
			{"raised the event counters of %d threads",
				`UPDATE thread SET seq = (SELECT max(e."to") FROM event e WHERE e.thread = thread.id)
				WHERE seq < (SELECT max(e."to") FROM event e WHERE e.thread = thread.id)`},
			{"raised the message counters of %d threads",
				`UPDATE thread SET top = (SELECT max(m.n) FROM message m WHERE m.thread = thread.id)
				WHERE top < (SELECT max(m.n) FROM message m WHERE m.thread = thread.id)`},
			{"forgot %d blobs of rows that are gone", `DELETE` + unusedUses},
			{"deleted %d blobs that nothing refers to", `DELETE` + unusedBlobs},
			{"took %d runs out of line that have ended", `UPDATE run SET line = 0, front = 0, due_at = 0
				WHERE (line > 0 OR due_at > 0) AND status NOT IN ('pending', 'running')`},
			{"put %d runs to the front of their lines", `UPDATE run SET front = 1 WHERE line > 0 AND id IN
				(SELECT id FROM run r WHERE NOT EXISTS (SELECT 1 FROM run f WHERE f.thread = r.thread AND f.front = 1)
				AND line = (SELECT min(l.line) FROM run l WHERE l.thread = r.thread AND l.line > 0))`},
			{"set %d busy threads to idle on which nothing runs", `UPDATE thread AS t SET status = 'idle'` + idleBusy},
		} {
			if err := w.mend(&did, m.did, m.query); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("repair store: %w", err)
	}
	if isFile {
		did = append(did, "a copy from before is "+copied)
	}
	return did, nil
}

// mend runs one statement and records its changes.
func (w *writer) mend(did *[]string, what, query string) error {
	n, err := w.change(query)
	if err == nil && n > 0 {
		*did = append(*did, fmt.Sprintf(what, n))
	}
	return err
}
