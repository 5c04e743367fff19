package store

import (
	"strings"
	"unicode/utf8"
)

// stmt is one statement of a batch. A batch is planned as a list of them without reading
// anything, so that every kind of database carries out the same, in a savepoint or as a pipeline.
type stmt struct {
	what, of string // for errors: "write messages of thread", and the thread
	sql      string // constant; SELECT checks whether a row exists
	args     []any
	must     error // error if no row was changed or found, nil if that is fine
	wipe     bool  // overwrite the row's old content, not only free it
	found    *bool // set to whether a row was changed or found; may be nil
	more     *bool // set to true if a row was changed or found
}

// told reports the number of rows that a statement changed or found.
func (s *stmt) told(rows int64) error {
	if s.found != nil {
		*s.found = rows > 0
	}
	if s.more != nil && rows > 0 {
		*s.more = true
	}
	if rows == 0 {
		return s.must
	}
	return nil
}

// Plan is a batch as the writer and the engines see it: statements, and what they change in the tail.
type Plan struct {
	stmts        []stmt
	target       string // thread that is changed, "" for none
	to           int64  // its greatest event number, 0 for none
	folds        int64  // afterwards tail frames up to this number are unneeded
	removes      bool   // the thread is deleted, and the tail must forget it
	frees        bool   // much is deleted
	bytes, items int    // approximate size of its writes
	of           any    // what it was planned from, for a [Watcher]
}

// measure adds up about how many bytes a plan of some rows writes.
func (p *Plan) measure(items int) {
	p.items, p.bytes = items, 256*items
	for _, s := range p.stmts {
		for _, a := range s.args {
			switch a := a.(type) {
			case string:
				p.bytes += len(a)
			case []byte:
				p.bytes += len(a)
			}
		}
	}
}

// clean returns s in a form that all databases accept: U+0000 and invalid UTF-8 are replaced. Bodies
// are bytes and stay unchanged.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func cleanAll(args []any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			if c := clean(a); len(c) != len(a) || c != a {
				args[i] = c
			}
		case *string:
			if a != nil {
				args[i] = clean(*a)
			}
		case bool: // columns have numbers
			args[i] = 0
			if a {
				args[i] = 1
			}
		}
	}
}
