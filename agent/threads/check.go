package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/eventlog"
	"fawn/store"
)

// maxFindings limits the results of Check.
const maxFindings = 1000

// Check reads all data of threads and describes unreadable parts, one sentence each: messages, fields, requests of
// runs, and events with the rows they reference. The database must not be in use; [store.DB.Check] checks references
// between rows.
func Check(ctx context.Context, db *store.DB) ([]string, error) {
	c := &check{db: db}
	for offset := 0; ; {
		page, _, err := db.Threads(ctx, store.ThreadQuery{SortBy: "thread_id", SortOrder: "asc", Limit: 100,
			Offset: offset})
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if err := c.thread(ctx, t.ID); err != nil {
				return nil, fmt.Errorf("check thread %s: %w", t.ID, err)
			}
		}
		if offset += len(page); len(page) == 0 || len(c.found) >= maxFindings {
			return c.found, nil
		}
	}
}

type check struct {
	db    *store.DB
	found []string
}

func (c *check) add(format string, args ...any) {
	if len(c.found) < maxFindings {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

func (c *check) thread(ctx context.Context, thread string) error {
	db := c.db
	last, err := db.MaxMessage(ctx, thread)
	if err != nil {
		return err
	}
	for n := int64(1); n <= last; n++ {
		row, err := db.Message(ctx, thread, n)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := agent.ParseMessage(row.Body); err != nil {
			c.add("Message %d of thread %s cannot be read: %v.", n, thread, err)
		}
	}
	if err := c.fields(ctx, thread); err != nil {
		return err
	}
	list, err := db.Runs(ctx, thread, "", 0, 0)
	if err != nil {
		return err
	}
	for _, r := range list {
		var req runs.Request
		if err := json.Unmarshal(r.Kwargs, &req); err != nil {
			c.add("The request of run %s of thread %s cannot be read: %v.", r.ID, thread, err)
		}
	}
	return c.events(ctx, thread)
}

func (c *check) fields(ctx context.Context, thread string) error {
	versions, err := c.db.FieldVersions(ctx, thread)
	if err != nil {
		return err
	}
	for name, last := range versions {
		f, known := agent.FieldByName(name)
		for v := int64(1); known && v <= last; v++ {
			body, err := c.db.Field(ctx, thread, name, v)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			var s agent.State
			if err := f.Decode(&s, body); err != nil {
				c.add("Version %d of field %s of thread %s cannot be read: %v.", v, name, thread, err)
			}
		}
	}
	return nil
}

// events reads every event with its references. A dangling reference is damage: rows are only deleted together with the
// events that show them.
func (c *check) events(ctx context.Context, thread string) error {
	for after := int64(0); ; {
		rows, err := c.db.Events(ctx, thread, after, 0, eventlog.ReadBytes)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.To
			switch evs, err := eventlog.Expand(ctx, c.db, row); {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				c.add("Event %d of thread %s cannot be read: %v.", row.Seq, thread, err)
			case len(evs) == 0 || evs[len(evs)-1].To != row.To:
				c.add("Event %d of thread %s does not hold what it says up to %d.", row.Seq, thread, row.To)
			}
		}
	}
}
