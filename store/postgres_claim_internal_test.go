package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"fawn/store/pgtest"
)

// TestAClaimWalksAlongIndexes, and sorts nothing, whether the database knows how many rows there are or not: what it
// costs is to depend on how much is claimed, not on how much waits.
func TestAClaimWalksAlongIndexes(t *testing.T) {
	url, ctx := pgtest.URL(t), t.Context()
	db, conn := openAt(t, Config{URL: url, Cluster: true}), connectTo(t, url)
	plans := func(when string) {
		for name, c := range map[string]struct{ query, index string }{
			"waiting": {claimWaiting, "run_waiting"}, "orphans": {claimOrphans, "run_handed"},
		} {
			plan := explain(t, conn, c.query)
			if strings.Contains(plan, "Sort") || strings.Contains(plan, "Seq Scan") ||
				strings.Contains(plan, "Bitmap") || strings.Contains(plan, "hashed") ||
				!strings.Contains(plan, "using "+c.index+" ") {
				t.Errorf("%s, %s:\n%s", when, name, plan)
			}
		}
	}
	plans("empty")
	db.Crowded(true)
	for i := range 40 {
		id := fmt.Sprint("t", i)
		err := db.Commit(ctx, Batch{Thread: &Thread{ID: id}, NewThread: true, NewRun: true, Line: &Line{},
			Run: &Run{ID: "run of " + id, ThreadID: id, Status: "pending"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	plans("some wait")
	if _, err := conn.Exec(ctx, "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	plans("they were counted")
}

// explain is the plan of a claim, as it is chosen behind the fence.
func explain(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	ctx := t.Context()
	run := func(sql string) error {
		_, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	if err := errors.Join(run("BEGIN"), run(indexesOnly), run("PREPARE claim(bigint, bigint) AS "+query)); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(ctx, "EXPLAIN EXECUTE claim(1, 1)", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err := errors.Join(err, run("ROLLBACK"), run("DEALLOCATE claim")); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
