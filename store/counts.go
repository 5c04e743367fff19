package store

import (
	"context"
	"fmt"
)

// Shape describes a database's structure and size, without any content.
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
	var tables []string
	if s.Schema, tables, err = db.engine.Shape(ctx); err != nil {
		return s, fmt.Errorf("read the schema: %w", translate(err))
	}
	for _, name := range tables {
		if err != nil {
			break
		}
		var n int64
		err = translate(db.engine.Reads().QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n))
		s.Rows[name] = n
	}
	if err != nil {
		return s, fmt.Errorf("count rows: %w", err)
	}
	return s, nil
}
