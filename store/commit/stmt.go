package commit

import (
	"strings"
	"unicode/utf8"
)

// Stmt is one statement of a batch. A batch is planned as a list of them without reading
// anything, so that every kind of database carries out the same, in a savepoint or as a pipeline.
type Stmt struct {
	What, Of string // for errors: "write messages of thread", and the thread
	SQL      string // constant; SELECT checks whether a row exists
	Args     []any
	Must     error // error if no row was changed or found, nil if that is fine
	Wipe     bool  // overwrite the row's old content, not only free it
	Found    *bool // set to whether a row was changed or found; may be nil
	More     *bool // set to true if a row was changed or found
}

// Told reports the number of rows that a statement changed or found.
func (s *Stmt) Told(rows int64) error {
	if s.Found != nil {
		*s.Found = rows > 0
	}
	if s.More != nil && rows > 0 {
		*s.More = true
	}
	if rows == 0 {
		return s.Must
	}
	return nil
}

// Plan is a batch as the writer and the engines see it: statements, and what they change in the tail.
type Plan struct {
	Stmts        []Stmt
	Target       string // thread that is changed, "" for none
	To           int64  // its greatest event number, 0 for none
	Folds        int64  // tail frames up to this number are unneeded after the batch
	Removes      bool   // the thread is deleted, and the tail must forget it
	Frees        bool   // much is deleted
	bytes, Items int    // approximate size of its writes
	Of           any    // what it was planned from, for a [Watcher]
}

// Measure adds up about how many bytes a plan of some rows writes.
func (p *Plan) Measure(items int) {
	p.Items, p.bytes = items, 256*items
	for _, s := range p.Stmts {
		for _, a := range s.Args {
			switch a := a.(type) {
			case string:
				p.bytes += len(a)
			case []byte:
				p.bytes += len(a)
			}
		}
	}
}

// Clean returns s in a form that all databases accept: U+0000 and invalid UTF-8 are replaced. Bodies
// are bytes and stay unchanged.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// CleanAll cleans all strings among arguments, and writes truth values as numbers.
func CleanAll(args []any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			if c := Clean(a); len(c) != len(a) || c != a {
				args[i] = c
			}
		case *string:
			if a != nil {
				args[i] = Clean(*a)
			}
		case bool: // columns have numbers
			args[i] = 0
			if a {
				args[i] = 1
			}
		}
	}
}
