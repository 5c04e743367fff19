package postgres

import (
	"strconv"
	"strings"
)

// words are PostgreSQL's words. Its migrations define our functions.
var words = strings.NewReplacer(
	"{greatest}", "greatest",
	"{list}", "(SELECT json_array_elements_text(as_json(?)))",
	"{values}", "json_array_elements_text(as_json(?))",
	"{object}", "json_object_agg",
	"{array}", "json_build_array",
	"{json}", "as_json(", "{json end}", ")",
	"{day}", "to_char(to_timestamp((", "{day end}", ") / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
	"{text}", "body_text(", "{text end}", ")",
	"{lock}", " FOR NO KEY UPDATE",
	"{held}", "EXISTS (SELECT 1 FROM thread JOIN node ON node.id = thread.hold WHERE thread.id = run.thread)",
	"{living}", "EXISTS (SELECT 1 FROM node WHERE node.id = run.node)",
	"{boxed}", `EXISTS (SELECT 1 FROM thread JOIN node ON node.id = thread.box
		WHERE thread.id = ?2 AND thread.box <> nullif(`, "{boxed end}", ", 0))",
	"{tail from}", "run.tail_from",
	"{gone}", "NOT EXISTS (SELECT 1 FROM node WHERE node.id = tail_node(tail.id))",
	"{elsewhere}", `EXISTS (SELECT 1 FROM run JOIN node ON node.id = run.node
		WHERE run.thread = thread.id AND run.front = 1 AND run.status = 'running' AND node.id <> ?)`,
	"{like}", "ILIKE",
	"{position}", "strpos",
	"{bytes}", "bytea",
	"{number}", "CAST(", "{number end}", " AS bigint)",
	"{ranges}", "LATERAL json_array_elements(as_json(c.card) -> 'messages')",
	"{versions}", "LATERAL json_each_text(as_json(c.card) -> 'fields')",
	"{words}", "passage_words(", "{words end}", ")",
	"{unindex}", "DELETE FROM passage_word WHERE rowid = ?1 AND words = passage_words(?2)",
	"{found}", "words @@ passage_query(?1)",
	"{rank}", "-ts_rank(words, passage_query(?1), 1)",
	"{unindexed}", "",
)

// numbered writes the parameters ? and ?1 of a statement as $1: a plain one has the number after the
// greatest before it.
func numbered(query string) string {
	var b strings.Builder
	b.Grow(len(query) + 16)
	last, quote := 0, byte(0)
	for i := 0; i < len(query); i++ {
		c := query[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			end := i + 1
			for end < len(query) && '0' <= query[end] && query[end] <= '9' {
				end++
			}
			n := last + 1
			if end > i+1 {
				n, _ = strconv.Atoi(query[i+1 : end]) // digits
			}
			last = max(last, n)
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			i = end - 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
