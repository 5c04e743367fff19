package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Shape is how a database is built and how full it is; nothing of what is in it.
type Shape struct {
	Schema int              `json:"schema"` // number of the last migration
	Bytes  int64            `json:"bytes"`
	Rows   map[string]int64 `json:"rows"` // by table
}

// Shape counts the rows of every table.
func (db *DB) Shape(ctx context.Context) (Shape, error) {
	s := Shape{Rows: map[string]int64{}}
	var err error
	if s.Bytes, err = db.Size(ctx); err != nil {
		return s, err
	}
	if err := db.engine.reads().QueryRowContext(ctx, `PRAGMA user_version`).Scan(&s.Schema); err != nil {
		return s, fmt.Errorf("read the schema: %w", translate(err))
	}
	var tables []string
	err = db.each(ctx, `SELECT name FROM sqlite_master
		WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`,
		nil, func(rows *sql.Rows) (bool, error) {
			var name string
			err := rows.Scan(&name)
			tables = append(tables, name)
			return true, err
		})
	for _, name := range tables {
		if err != nil {
			break
		}
		var n int64
		err = translate(db.engine.reads().QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n))
		s.Rows[name] = n
	}
	if err != nil {
		return s, fmt.Errorf("count rows: %w", err)
	}
	return s, nil
}
