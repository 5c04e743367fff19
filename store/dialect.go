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
	"{array}", "json_array", // of its arguments
	"{json}", "", "{json end}", "", // text that is read as JSON
	"{day}", "strftime('%Y-%m-%d', (", // of a moment in milliseconds
	"{day end}", ") / 1000, 'unixepoch')",
	"{text}", "CAST(", "{text end}", " AS TEXT)", // of bytes
	"{like}", "LIKE", // whatever the case of letters is
	"{position}", "instr", // of a text in another, from 1
	"{no bytes}", "x''",
	"{number}", "", "{number end}", "", // out of JSON
	"{ranges}", "json_each(c.card, '$.messages')", // of a card c, a row each
	"{versions}", "json_each(c.card, '$.fields')",
	// The index of passages.
	"{words}", "", "{words end}", "",
	"{unindex}", "INSERT INTO passage_word(passage_word, rowid, words) VALUES ('delete', ?1, ?2)",
	"{found}", "passage_word MATCH ?1",
	"{rank}", "rank", // of what was found, the best having the least
	"{unindexed}", "+", // a column that no index is to be used for
)

// noLimit is for a LIMIT that takes all rows.
const noLimit = math.MaxInt
