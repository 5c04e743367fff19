package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// takeDuty assigns a duty to a server unless a living server has it. Its holder keeps it by renewing the lease of its
// row in node.
const takeDuty = `INSERT INTO duty(name, node) VALUES ($2, $1) ON CONFLICT (name) DO UPDATE SET node = excluded.node
	WHERE duty.node = excluded.node OR NOT EXISTS (SELECT 1 FROM node WHERE node.id = duty.node) RETURNING 1`

// TakeDuty assigns a duty of a single server to this one, unless another has it, and reports whether this server has
// it. A holder seen within about a second isn't checked again. The duty ends with [DB.LeaveDuty], or with the server's
// right to write. A single server has every duty.
func (db *DB) TakeDuty(ctx context.Context, name string) (mine bool, err error) {
	c := db.cluster()
	if c == nil {
		return true, nil
	}
	if s := c.seen.Load(); s != nil && slices.Contains(s.taken, name) {
		return false, nil
	}
	err = c.claim(ctx, takeDuty, []any{db.w.node, name}, func(pgx.Rows) error {
		mine = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("take the duty %s: %w", name, err)
	}
	return mine, nil
}

// LeaveDuty releases a duty for another server.
func (db *DB) LeaveDuty(ctx context.Context, name string) error {
	c := db.cluster()
	if c == nil {
		return nil
	}
	err := c.claim(ctx, `DELETE FROM duty WHERE node = $1 AND name = $2`, []any{db.w.node, name},
		func(pgx.Rows) error { return nil })
	if err != nil {
		return fmt.Errorf("leave the duty %s: %w", name, err)
	}
	return nil
}

// ServersSeen returns the servers as of the last poll, about a second ago, in the order of their ids.
func (db *DB) ServersSeen(ctx context.Context) ([]int64, error) {
	if c := db.cluster(); c != nil {
		if s := c.seen.Load(); s != nil {
			return slices.Clone(s.servers), nil
		}
	}
	return db.Servers(ctx)
}

// Servers returns the current servers in the order of their ids.
func (db *DB) Servers(ctx context.Context) ([]int64, error) {
	var list []int64
	err := db.each(ctx, `SELECT id FROM node ORDER BY id`, nil, func(rows *sql.Rows) (bool, error) {
		var id int64
		err := rows.Scan(&id)
		list = append(list, id)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	return list, nil
}
