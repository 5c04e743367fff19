package skilltool

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // answers the queries
)

// maxShown limits the rows of a result.
const maxShown = 50

// queryTime limits one query.
const queryTime = 5 * time.Minute

// tableName returns the name of a table in queries.
func tableName(file, sheet string, several bool) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if several {
		name += "_" + sheet
	}
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127 {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	name = b.String()
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "t" + name
	}
	return name
}

// quoted returns a name as SQL has it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// query runs an SQL query.
func query(c call) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTime)
	defer cancel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, file := range c.args[1:] {
		list, err := load(file, c.sheet)
		if err != nil {
			return err
		}
		for _, g := range list {
			if err := fill(ctx, db, tableName(file, g.name, len(list) > 1), g); err != nil {
				return fmt.Errorf("load %s: %w", file, err)
			}
		}
	}
	answer, err := ask(ctx, db, c.args[0])
	if err != nil {
		return err
	}
	if c.to != "" {
		return saveTables(c, c.to, []grid{answer})
	}
	fmt.Fprintln(c.out, strings.Join(answer.head, " | "))
	for _, row := range answer.rows[:min(len(answer.rows), maxShown)] {
		fmt.Fprintln(c.out, strings.Join(row, " | "))
	}
	if more := len(answer.rows) - maxShown; more > 0 {
		fmt.Fprintf(c.out, "… and %d more rows; --out FILE.csv has them all\n", more)
	}
	return nil
}

// fill creates a table.
func fill(ctx context.Context, db *sql.DB, name string, g grid) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	columns, marks := make([]string, len(g.head)), make([]string, len(g.head))
	numeric := make([]bool, len(g.head))
	for i, h := range g.head {
		_, numeric[i] = g.numbers(i)
		columns[i], marks[i] = quoted(h), "?"
	}
	if _, err = tx.ExecContext(ctx, "CREATE TABLE "+quoted(name)+" ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	add, err := tx.PrepareContext(ctx, "INSERT INTO "+quoted(name)+" VALUES ("+strings.Join(marks, ", ")+")")
	if err != nil {
		return err
	}
	for _, row := range g.rows {
		values := make([]any, len(row))
		for i, cell := range row {
			values[i] = value(cell, numeric[i])
		}
		if _, err = add.ExecContext(ctx, values...); err != nil {
			return errors.Join(err, add.Close())
		}
	}
	if err = add.Close(); err != nil {
		return err
	}
	return tx.Commit()
}

// value returns a cell as SQL has it: empty ones are NULL.
func value(cell string, numeric bool) any {
	s := strings.TrimSpace(cell)
	switch {
	case s == "":
		return nil
	case !numeric:
		return cell
	}
	if n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64); err == nil {
		return n
	}
	v, _ := number(s) // the column has numbers only
	return v
}

func ask(ctx context.Context, db *sql.DB, question string) (g grid, err error) {
	rows, err := db.QueryContext(ctx, question)
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if g.head, err = rows.Columns(); err != nil {
		return g, err
	}
	for rows.Next() {
		cells := make([]any, len(g.head))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			return g, err
		}
		row := make([]string, len(cells))
		for i, cell := range cells {
			switch v := (*cell.(*any)).(type) {
			case nil:
			case float64:
				row[i] = format(v)
			case []byte:
				row[i] = string(v)
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		g.rows = append(g.rows, row)
		if len(g.rows)*max(len(row), 1) > maxCells {
			return g, fmt.Errorf("the result has more than %d cells", maxCells)
		}
	}
	return g, rows.Err()
}
