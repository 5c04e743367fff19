package store

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"fmt"
)

// owned lists the tables whose rows belong to a thread. Those of loose ones may belong to none, with an empty name.
var owned = [...]struct {
	table string
	loose bool
}{{"run", false}, {"message", false}, {"field", false}, {"checkpoint", false}, {"event", false}, {"feedback", false},
	{"audit", true}, {"spending", true}, {"cron", true}, {"share", false}, {"blob", false}, {"blob_use", false},
	{"span", false}, {"prompt", true}, {"channel_chat", true}}

// without selects rows of an owned table without a thread.
func without(table string, loose bool) string {
	where := ` FROM ` + table + ` WHERE thread NOT IN (SELECT id FROM thread)`
	if loose {
		where += ` AND thread <> ''`
	}
	return where
}

// orphans finds rows of missing threads.
func (c *checker) orphans() error {
	for _, o := range owned {
		err := c.each(`SELECT thread, count(*)`+without(o.table, o.loose)+` GROUP BY thread`, nil,
			func(rows *sql.Rows) error {
				var thread string
				var n int
				err := rows.Scan(&thread, &n)
				c.add("Thread %s does not exist but has %d rows in %s.", thread, n, o.table)
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// strayValues selects values that belong to a missing thread. Documents may be uploaded before the
// first message of their thread; DropUnsent deletes such values otherwise.
const strayValues = ` FROM kv WHERE space >= '` + threadSpaces + `' AND space < '` + threadSpaces + "\x7f" +
	`' AND space <> '` + DocumentSpace + `'
	AND CASE WHEN {position}(key, ' ') > 0 THEN substr(key, 1, {position}(key, ' ') - 1) ELSE key END
		NOT IN (SELECT id FROM thread)`

// values finds values stored for missing threads.
func (c *checker) values() error {
	return c.each(`SELECT space, key`+strayValues, nil, func(rows *sql.Rows) error {
		var space, key string
		err := rows.Scan(&space, &key)
		if unsent(key, c.engine.Now()) {
			return err
		}
		c.add("Value %s/%s belongs to a thread that does not exist.", space, key)
		return err
	})
}

// busy threads must have a run that is open.
func (c *checker) busy() error {
	return c.each(`SELECT id FROM thread t`+idleBusy, nil, func(rows *sql.Rows) error {
		var thread string
		err := rows.Scan(&thread)
		c.add("Thread %s is busy, and no run of it is open.", thread)
		return err
	})
}

const idleBusy = ` WHERE status = 'busy' AND NOT EXISTS
	(SELECT 1 FROM run r WHERE r.thread = t.id AND r.status IN ('pending', 'running'))`

// lines must have all open runs that do not wait aside, and one front each.
func (c *checker) lines() error {
	return c.each(`SELECT thread, id, status, line, front, held, due_at > 0, parent <> '' FROM run r
		WHERE CASE WHEN status NOT IN ('pending', 'running') OR parent <> '' OR held = 1 OR due_at > 0
			THEN line > 0 OR front = 1 OR (due_at > 0 AND status <> 'pending') ELSE line = 0 END
		OR line > 0 AND front <> CASE WHEN EXISTS
			(SELECT 1 FROM run o WHERE o.thread = r.thread AND o.line > 0 AND o.line < r.line) THEN 0 ELSE 1 END`, nil,
		func(rows *sql.Rows) error {
			var thread, run, status string
			var line, front, held int
			var due, child bool
			err := rows.Scan(&thread, &run, &status, &line, &front, &held, &due, &child)
			c.add("Run %s of thread %s is %s and stands in line at %d (front %d, held %d, delayed %v, helper %v).", run,
				thread, status, line, front, held, due, child)
			return err
		})
}

// events checks that no event of an ended run is missing, that no number was given twice, and that none can be.
func (c *checker) events() error {
	for _, f := range []func() error{c.gaps, c.doubles, c.counters} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// gaps finds the event numbers that ended runs lack.
func (c *checker) gaps() error {
	type ended struct {
		thread, id  string
		first, last int64
	}
	var list []ended
	err := c.each(`SELECT thread, id, first_seq, last_seq FROM run
		WHERE first_seq > 0 AND status NOT IN ('pending', 'running')
		ORDER BY thread, first_seq`, nil, func(rows *sql.Rows) error {
		var r ended
		err := rows.Scan(&r.thread, &r.id, &r.first, &r.last)
		list = append(list, r)
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range list {
		next := r.first
		err := c.each(`SELECT seq, "to" FROM event WHERE thread = ? AND "to" >= ? AND seq <= ? ORDER BY seq`,
			[]any{r.thread, r.first, r.last}, func(rows *sql.Rows) error {
				var from, to int64
				err := rows.Scan(&from, &to)
				if from > next && from-next < Leap/2 { // otherwise a standby took over meanwhile
					c.gap(r.thread, r.id, next, from-1)
				}
				next = max(next, to+1)
				return err
			})
		if err != nil {
			return err
		}
		if next <= r.last {
			c.gap(r.thread, r.id, next, r.last)
		}
	}
	return nil
}

// doubles finds event numbers that were given twice, and their runs.
func (c *checker) doubles() error {
	type double struct {
		thread, run  string
		from, to, at int64 // range that an earlier row covers too, and the row's end
	}
	var list []double
	err := c.each(`SELECT thread, run, seq, "to", before FROM
		(SELECT thread, run, seq, "to", max("to") OVER (PARTITION BY thread ORDER BY seq, "to"
			ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM event) numbered
		WHERE before >= seq ORDER BY thread, seq, "to"`, nil, func(rows *sql.Rows) error {
		var d double
		var before int64
		err := rows.Scan(&d.thread, &d.run, &d.from, &d.at, &before)
		d.to = min(d.at, before)
		if len(list) < maxFindings {
			list = append(list, d)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range list {
		other := d.run
		err := c.each(`SELECT run FROM event WHERE thread = ? AND "to" >= ? AND seq <= ? AND NOT (seq = ? AND "to" = ?)
			ORDER BY seq, "to" LIMIT 1`, []any{d.thread, d.from, d.from, d.from, d.at}, func(rows *sql.Rows) error {
			return rows.Scan(&other)
		})
		if err != nil {
			return err
		}
		whose := fmt.Sprintf("both times in run %s", d.run)
		if other != d.run {
			whose = fmt.Sprintf("in run %s and in run %s", other, d.run)
		}
		c.add("Thread %s: %s given twice, %s.", d.thread, eventNumbers(d.from, d.to, "was", "were"), whose)
	}
	return nil
}

// counters finds threads that would give a number again.
func (c *checker) counters() error {
	return c.each(`SELECT t.id, t.seq, max(e."to") FROM thread t JOIN event e ON e.thread = t.id
		GROUP BY t.id HAVING max(e."to") > t.seq`, nil, func(rows *sql.Rows) error {
		var thread string
		var seq, last int64
		err := rows.Scan(&thread, &seq, &last)
		c.add("Thread %s counts events up to %d and has one that ends at %d.", thread, seq, last)
		return err
	})
}

func (c *checker) gap(thread, run string, from, to int64) {
	c.add("Run %s of thread %s: %s missing.", run, thread, eventNumbers(from, to, "is", "are"))
}

// eventNumbers names one number or several, with the verb that goes with it.
func eventNumbers(from, to int64, one, many string) string {
	if from == to {
		return fmt.Sprintf("event %d %s", from, one)
	}
	return fmt.Sprintf("events %d to %d %s", from, to, many)
}

// blobs checks that blobs exist and match their hashes.
func (c *checker) blobs() error {
	err := c.each(`SELECT thread, hash FROM blob_use u
		WHERE NOT EXISTS (SELECT 1 FROM blob b WHERE b.thread = u.thread AND b.hash = u.hash)`, nil,
		func(rows *sql.Rows) error {
			var thread string
			var hash sql.RawBytes
			err := rows.Scan(&thread, &hash)
			c.add("Thread %s needs blob %x, which does not exist.", thread, []byte(hash[:min(4, len(hash))]))
			return err
		})
	if err != nil {
		return err
	}
	err = c.each(`SELECT thread, hash, data FROM blob`, nil, func(rows *sql.Rows) error {
		var thread string
		var hash, data sql.RawBytes
		err := rows.Scan(&thread, &hash, &data)
		if sum := sha256.Sum256(data); err == nil && !bytes.Equal(sum[:], hash) {
			c.add("Blob %x of thread %s is damaged.", []byte(hash[:min(4, len(hash))]), thread)
		}
		return err
	})
	if err != nil {
		return err
	}
	var n int
	count := func(rows *sql.Rows) error { return rows.Scan(&n) }
	if err := c.each(`SELECT count(*)`+unusedBlobs, nil, count); err != nil {
		return err
	}
	if n > 0 {
		c.add("Nothing refers to %d blobs.", n)
	}
	if err := c.each(`SELECT count(*)`+unusedUses, nil, count); err != nil {
		return err
	}
	if n > 0 {
		c.add("%d blobs are kept for rows that are gone.", n)
	}
	return nil
}
