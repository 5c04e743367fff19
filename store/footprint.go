package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Footprint is the stored size of a thread's checkpoints and of their rows, in bytes.
type Footprint struct {
	Checkpoints Rows
	Messages    Rows
	Fields      map[string]Rows // all versions, by name
	Blobs       Rows            // large values of messages, fields and runs
}

// Rows is a number of rows with their size.
type Rows struct{ Count, Bytes int64 }

// Footprint measures a thread's state. A missing thread uses nothing.
func (db *DB) Footprint(ctx context.Context, thread string) (Footprint, error) {
	f := Footprint{Fields: map[string]Rows{}}
	err := db.each(ctx, `SELECT 0, '', count(*), coalesce(sum(octet_length(id) + octet_length(parent) +
				octet_length(next) + octet_length(meta) + octet_length(card)), 0)
			FROM checkpoint WHERE thread = ?1
		UNION ALL SELECT 1, '', count(*), coalesce(sum(octet_length(body)), 0) FROM message WHERE thread = ?1
		UNION ALL SELECT 3, '', count(*), coalesce(sum(octet_length(data)), 0) FROM blob WHERE thread = ?1
		UNION ALL SELECT 2, name, count(*), sum(octet_length(body)) FROM field WHERE thread = ?1 GROUP BY name`,
		[]any{thread}, func(rows *sql.Rows) (bool, error) {
			var what int
			var name string
			var r Rows
			if err := rows.Scan(&what, &name, &r.Count, &r.Bytes); err != nil {
				return false, err
			}
			switch what {
			case 0:
				f.Checkpoints = r
			case 1:
				f.Messages = r
			case 3:
				f.Blobs = r
			default:
				f.Fields[name] = r
			}
			return true, nil
		})
	if err != nil {
		return Footprint{}, fmt.Errorf("measure thread %s: %w", thread, err)
	}
	return f, nil
}
