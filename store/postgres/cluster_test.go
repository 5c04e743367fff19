package postgres

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/store/pgtest"
)

// TestAClaimWalksAlongIndexes, and sorts nothing, whether the database knows how many rows there are or not: what it
// costs is to depend on how much is claimed, not on how much waits.
func TestAClaimWalksAlongIndexes(t *testing.T) {
	url, ctx := pgtest.URL(t), t.Context()
	openEngine(t, Config{URL: url, Cluster: true})
	conn := connectTo(t, url)
	plans := func(when string) {
		for name, c := range map[string]struct{ query, types, values, index string }{
			"waiting": {claimWaiting, "bigint, bigint", "1, 1", "run_waiting"},
			"orphans": {claimOrphans, "bigint, bigint", "1, 1", "run_handed"},
			"shares":  {claimShares, "bigint, bigint, text[], bigint[]", "1, 1, '{a}', '{1}'", "run_waiting_of"},
			"owners":  {waitersQuery, "text, bigint, bigint", "'', 64, 1", "run_waiting_of"},
		} {
			plan := explain(t, conn, c.query, c.types, "EXPLAIN EXECUTE claim("+c.values+")")
			if strings.Contains(plan, "Sort") || strings.Contains(plan, "Seq Scan") ||
				strings.Contains(plan, "Bitmap") || strings.Contains(plan, "hashed") ||
				!strings.Contains(plan, "using "+c.index+" ") {
				t.Errorf("%s, %s:\n%s", when, name, plan)
			}
		}
	}
	plans("empty")
	copyRows := func(first, last int, table, changes, from string) {
		var columns string
		err := conn.QueryRow(ctx, `SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
			WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, table).Scan(&columns)
		if err == nil {
			_, err = conn.Exec(ctx, `INSERT INTO `+table+`(`+columns+`) SELECT `+columns+` FROM generate_series($1::int, $2::int) i,
				LATERAL (SELECT (jsonb_populate_record(r, jsonb_build_object(`+changes+`))).* FROM `+table+` r WHERE `+from+`) made`, first, last)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	addRow(t, conn, "thread", map[string]string{"id": "'t0'"})
	addRow(t, conn, "run", map[string]string{"id": "'run of t0'", "thread": "'t0'", "owner": "'one'", "status": "'pending'",
		"front": "1", "line": "1", "created_at": "1"})
	copyRows(1, 39, "thread", `'id', 't' || i`, `r.id = 't0'`)
	copyRows(1, 39, "run", `'id', 'run of t' || i, 'thread', 't' || i`, `r.id = 'run of t0'`)
	plans("some wait")
	must.Get(conn.Exec(ctx, "ANALYZE"))(t)
	plans("they were counted")
	if n := touched(t, conn, waitersQuery, "text, bigint, bigint", "'', 64, 2"); n > 20 {
		t.Errorf("for one owner with 40 runs %d rows were read", n)
	}
	// 20,000 more of that owner, and one of each of 99 others.
	copyRows(1, 20099, "thread", `'id', 'x' || i`, `r.id = 't0'`)
	copyRows(1, 20099, "run", `'id', 'run of x' || i, 'thread', 'x' || i,
		'owner', CASE WHEN i > 20000 THEN 'other' || i ELSE r.owner END`, `r.id = 'run of t0'`)
	plans("many wait")
	many := touched(t, conn, waitersQuery, "text, bigint, bigint", "'', 64, 2")
	if many > 64*16 {
		t.Errorf("for 64 owners %d rows were read", many)
	}
	if n := touched(t, conn, claimShares, "bigint, bigint, text[], bigint[]", "1, 2, '{other20001,other20002}', '{1,1}'"); n > 60 {
		t.Errorf("for two runs of two owners %d rows were read", n)
	}
	must.Get(conn.Exec(ctx, "ANALYZE"))(t)
	plans("many were counted")
	if n := touched(t, conn, waitersQuery, "text, bigint, bigint", "'', 64, 2"); n > many {
		t.Errorf("once they were counted, %d rows were read, and %d before", n, many)
	}
}

// addRow writes a row with values, and with what is empty in all other columns that need one.
func addRow(t *testing.T, conn *pgx.Conn, table string, values map[string]string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT attname::text, CASE WHEN atttypid IN ('text'::regtype, 'bytea'::regtype)
		THEN '''''' ELSE '0' END FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
		AND attnotnull AND NOT atthasdef AND attgenerated = ''`, table)
	if err != nil {
		t.Fatal(err)
	}
	var name, empty string
	if _, err := pgx.ForEachRow(rows, []any{&name, &empty}, func() error {
		if _, ok := values[name]; !ok {
			values[name] = empty
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var names, all []string
	for name, value := range values {
		names, all = append(names, name), append(all, value)
	}
	if _, err := conn.Exec(t.Context(), `INSERT INTO `+table+`(`+strings.Join(names, ", ")+`) VALUES (`+
		strings.Join(all, ", ")+`)`); err != nil {
		t.Fatal(err)
	}
}

// touched is how many rows the parts of a plan have given when it was carried out.
func touched(t *testing.T, conn *pgx.Conn, query, types, values string) (n int) {
	t.Helper()
	plan := explain(t, conn, query, types, "EXPLAIN (ANALYZE, TIMING OFF) EXECUTE claim("+values+")")
	for _, part := range regexp.MustCompile(`actual rows=([\d.]+) loops=(\d+)`).FindAllStringSubmatch(plan, -1) {
		rows, err := strconv.ParseFloat(part[1], 64)
		loops, err2 := strconv.Atoi(part[2])
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		n += int(rows * float64(loops))
	}
	if n == 0 {
		t.Errorf("nothing was read:\n%s", plan)
	}
	return n
}

// explain is the plan of a claim, as it is chosen behind the fence.
func explain(t *testing.T, conn *pgx.Conn, query, types, how string) string {
	t.Helper()
	ctx := t.Context()
	run := func(sql string) error {
		_, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	must.Do(t, errors.Join(run("BEGIN"), run(indexesOnly), run("PREPARE claim("+types+") AS "+query)))
	rows := must.Get(conn.Query(ctx, how, pgx.QueryExecModeSimpleProtocol))(t)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must.Do(t, errors.Join(err, run("ROLLBACK"), run("DEALLOCATE claim")))
	return strings.Join(lines, "\n")
}
