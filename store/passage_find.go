package store

import (
	"cmp"
	"context"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a search.
const (
	maxTerms      = 32 // words of a query
	maxRanked     = 8  // rarest words of a query that decide the order
	maxCandidates = 60 // passages examined closely
	minPrefix     = 4  // least characters of a word used as prefix
)

// FindPassages returns the passages of a thread that match a query best, best first. A non-empty files
// limits it to these.
func (db *DB) FindPassages(ctx context.Context, thread, query string, files []string, limit int) ([]Passage, error) {
	found, err := db.findPassages(ctx, thread, query, files, limit)
	if err != nil || found == nil {
		return nil, err
	}
	list := make([]Passage, 0, len(found))
	for _, r := range found {
		list = append(list, r.Passage)
	}
	return list, nil
}

func (db *DB) findPassages(ctx context.Context, thread, query string, files []string, limit int) ([]Ranked, error) {
	query = clipped(query, 4096)
	words := telling(terms(query, false), names(query))
	wanted, err := db.rank(ctx, thread, words)
	if err != nil {
		return nil, fmt.Errorf("search thread %s: %w", thread, err)
	}
	if wanted == "" {
		return nil, nil
	}
	matches, args := `SELECT rowid, {rank} AS rank FROM passage_word WHERE {found}`, []any{wanted}
	if len(files) > 0 {
		names, err := json.Marshal(files)
		if err != nil {
			return nil, err
		}
		// The plus keeps SQLite from querying the index for one passage at a time.
		matches += ` AND {unindexed}rowid IN (SELECT id FROM passage
			WHERE thread = ? AND file IN {list})`
		args = append(args, thread, string(names))
	}
	found, err := rowsOf(ctx, db, `SELECT p.id, p.file, p.kind, p.page, p.first, p.last, p.heading, p.body, m.rank
		FROM (`+matches+` ORDER BY rank LIMIT ?) m JOIN passage p ON p.id = m.rowid WHERE p.thread = ?`,
		append(args, max(limit, maxCandidates), thread), func(rows scanner) (c Ranked, err error) {
			err = rows.Scan(&c.ID, &c.File, &c.Kind, &c.Page, &c.First, &c.Last, &c.Heading, &c.Text, &c.Rank)
			return c, err
		})
	if err != nil {
		return nil, fmt.Errorf("search thread %s: %w", thread, err)
	}
	for i := range found {
		found[i].Rank *= 1 + 2*inOrder(words, found[i].Heading+"\n"+found[i].Text)
	}
	slices.SortStableFunc(found, func(a, b Ranked) int { return cmp.Compare(a.Rank, b.Rank) })
	return found[:min(len(found), limit)], nil
}

// rank selects the query's most distinctive words among the thread's passages and formats them for the index; nothing
// if no passage contains any. Words in most passages only cost time.
func (db *DB) rank(ctx context.Context, thread string, words []string) (string, error) {
	var all int
	if err := db.queryRow(ctx, `SELECT count(*) FROM passage WHERE thread = ?`, []any{thread}, &all); err != nil ||
		all == 0 {
		return "", err
	}
	type term struct {
		match string
		hits  int
	}
	var list []term
	in := scope(thread)
	seen := map[string]bool{}
	for _, w := range words {
		if seen[w] || len(seen) == maxTerms {
			continue
		}
		seen[w] = true
		t := term{match: `"` + in + w + `"`}
		single := utf8.RuneCountInString(w) == 1 && isDense([]rune(w)[0])
		if single {
			t.match += "*"
		}
		count := func() error {
			return db.queryRow(ctx, `SELECT count(*) FROM passage_word WHERE {found}`,
				[]any{t.match}, &t.hits)
		}
		err := count()
		if err == nil && t.hits == 0 && !single && utf8.RuneCountInString(w) >= minPrefix {
			t.match += "*"
			err = count()
		}
		if err != nil {
			return "", err
		}
		if t.hits > 0 {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b term) int { return cmp.Compare(a.hits, b.hits) })
	var parts []string
	for i, t := range list {
		if i < maxRanked && (i == 0 || 3*t.hits <= all+3) {
			parts = append(parts, t.match)
		}
	}
	return strings.Join(parts, " OR "), nil
}

// telling leaves out words of one or two letters, which are mostly grammar, unless they are names
// or there is little else. Inside a query they would count like any rare word of a short document.
func telling(words []string, names map[string]bool) []string {
	long := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		r, _ := utf8.DecodeRuneInString(w)
		return utf8.RuneCountInString(w) <= 2 && unicode.IsLetter(r) && !isDense(r) && !names[w]
	})
	if len(long) < 2 {
		return words
	}
	return long
}

// names returns the short words, in lower case, that a query writes as a name: "G" in "the budget of project G", "EU"
// or "Q3". In a query all in capitals, or at its beginning, capitals are not significant.
func names(query string) map[string]bool {
	if !strings.ContainsFunc(query, unicode.IsLower) {
		return nil
	}
	list := map[string]bool{}
	for i, w := range strings.FieldsFunc(norm.NFKC.String(query), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) {
		digit := strings.ContainsFunc(w, unicode.IsDigit)
		if utf8.RuneCountInString(w) <= 2 && (digit || i > 0 && w != "I" && !strings.ContainsFunc(w, unicode.IsLower)) {
			list[strings.ToLower(w)] = true
		}
	}
	return list
}

// inOrder returns the share of neighbouring words of a query that are neighbours in a text too.
func inOrder(words []string, text string) float64 {
	if len(words) < 2 {
		return 0
	}
	text = " " + strings.Join(terms(text, false), " ") + " "
	n := 0
	for i := range len(words) - 1 {
		if strings.Contains(text, " "+words[i]+" "+words[i+1]+" ") {
			n++
		}
	}
	return float64(n) / float64(len(words)-1)
}

func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// maxTerm limits a word, in bytes.
const maxTerm = 64

// scope prefixes each word of a thread in the index, so that a search reads and counts only words of its thread. Two
// threads that share one see each other's counts, never passages.
func scope(thread string) string {
	h := fnv.New32a()
	h.Write([]byte(thread))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil))) + "_"
}

// indexed returns the indexed form of a text. It must never change for a given text, since the same form is needed to
// remove it: a migration would have to empty the index.
func indexed(scope, text string) string {
	var b strings.Builder
	for _, t := range terms(text, true) {
		b.WriteString(scope)
		b.WriteString(t)
		b.WriteByte(' ')
	}
	return b.String()
}

// terms returns the words of a text. Scripts without spaces between words produce pairs of characters; tails adds the
// last one of each run, so that a search for a single character finds it there too.
func terms(text string, tails bool) []string {
	var list []string
	var word []rune
	dense := false
	end := func() {
		switch n := len(word); {
		case n == 0:
		case !dense:
			s := string(word)
			for len(s) > maxTerm {
				_, size := utf8.DecodeLastRuneInString(s)
				s = s[:len(s)-size]
			}
			list = append(list, s)
		default:
			for i := range n - 1 {
				list = append(list, string(word[i:i+2]))
			}
			if tails || n == 1 {
				list = append(list, string(word[n-1:]))
			}
		}
		word = word[:0]
	}
	for _, r := range norm.NFKC.String(text) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end()
			continue
		case isDense(r) != dense:
			end()
			dense = !dense
		}
		word = append(word, unicode.ToLower(r))
	}
	end()
	return list
}

// Words returns the words of a text as a search compares them: in lower case, and pairs of characters in scripts that
// set no spaces between words.
func Words(text string) []string { return terms(text, false) }

// isDense reports whether a script has no spaces between words, or is Korean, whose words include grammatical endings.
func isDense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
