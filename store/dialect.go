package store

import (
	"math"
	"strings"
)

// Statements are written once, in SQLite's form. What other kinds of databases say with other words
// stands in braces, and bind puts in those of the kind.
var sqliteWords = strings.NewReplacer(
	"{greatest}", "max", // of its arguments, not of rows
	"{list}", "(SELECT value FROM json_each(?))", // the strings of a JSON array
	"{object}", "json_group_object", // of the names and values of rows
	"{day}", "strftime('%Y-%m-%d', (", // of a moment in milliseconds, up to {day end}
	"{day end}", ") / 1000, 'unixepoch')",
)

// noLimit is for a LIMIT that takes all rows.
const noLimit = math.MaxInt
