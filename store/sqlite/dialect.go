package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

// Statements are written once in SQLite's form. Parts that differ between databases are in braces, and bind substitutes
// the words of the database.
var words = strings.NewReplacer(
	"{greatest}", "max", // maximum of its arguments, not of rows
	"{list}", "(SELECT value FROM json_each(?))", // strings of a JSON array
	"{values}", "json_each(?)", // strings of a JSON array as rows with a value
	"{object}", "json_group_object", // object of the rows' names and values
	"{array}", "json_array", // array of its arguments
	"{json}", "", "{json end}", "", // parses text as JSON
	"{day}", "strftime('%Y-%m-%d', (", // date of a time in milliseconds
	"{day end}", ") / 1000, 'unixepoch')",
	"{text}", "CAST(", "{text end}", " AS TEXT)", // text of bytes
	"{lock}", "", // locks the selected rows
	"{held}", "FALSE", // a living server holds the run's thread
	"{living}", "(node > 0)", // the run's server is alive
	"{boxed}", "(0 > coalesce(", "{boxed end}", ", 0))", // another living server has the sandbox of thread ?2
	"{tail from}", "0", // see the migration 22 of PostgreSQL
	"{gone}", "FALSE", // a tail row of a dead server
	"{elsewhere}", "(? < 0)", // a thread's run is active on a server other than the parameter
	"{like}", "LIKE", // case-insensitive match
	"{position}", "instr", // position of a text in another, from 1
	"{bytes}", "BLOB", // the column type
	"{number}", "", "{number end}", "", // number extracted from JSON
	"{ranges}", "json_each(c.card, '$.messages')", // ranges of a card c, one row each
	"{versions}", "json_each(c.card, '$.fields')",
	// The index of passages.
	"{words}", "", "{words end}", "",
	"{unindex}", "INSERT INTO passage_word(passage_word, rowid, words) VALUES ('delete', ?1, ?2)",
	"{found}", "passage_word MATCH ?1",
	"{rank}", "rank", // of search results, lowest is best
	"{unindexed}", "+", // a column excluded from index use
)

// mergeFunction registers merged_members for SQLite connections opened from then on.
var mergeFunction = sync.OnceValue(func() error {
	return sqlite.RegisterDeterministicScalarFunction("merged_members", 3,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			var raw [3][]byte
			for i, a := range args {
				switch a := a.(type) {
				case string:
					raw[i] = []byte(a)
				case []byte:
					raw[i] = a
				}
			}
			return mergedMembers(raw[0], raw[1], raw[2])
		})
})

// mergedMembers merges over into have, and fills in absent members from fresh.
func mergedMembers(have, fresh, over []byte) (string, error) {
	all, err := Members(fresh)
	if err != nil {
		return "", err
	}
	for _, raw := range [][]byte{have, over} {
		m, err := Members(raw)
		if err != nil {
			return "", err
		}
		maps.Copy(all, m)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(out.Bytes())), nil
}

// Members decodes the members of a JSON object; nothing and null have none.
func Members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	m := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	if m == nil { // null
		m = map[string]json.RawMessage{}
	}
	return m, nil
}
