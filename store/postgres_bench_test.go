package store_test

import (
	"fmt"
	"testing"

	"fawn/store"
	"fawn/store/pgtest"
)

// BenchmarkPostgreSQLCommit is one step of a run after the other, with a delta before it or without.
func BenchmarkPostgreSQLCommit(b *testing.B) {
	url := pgtest.URL(b)
	for _, deltas := range []int64{0, 1} {
		b.Run(fmt.Sprint("deltas=", deltas), func(b *testing.B) {
			db := openPostgres(b, url, b.TempDir())
			newThread(b, db, "t")
			l := db.OpenLane("t", nil)
			seq := int64(0)
			for b.Loop() {
				from := seq + 1
				for range deltas {
					seq++
					l.Append(seq, []byte("a few words of text"))
				}
				seq++
				if err := l.Commit(b.Context(), store.Batch{ThreadID: "t",
					Events: []store.Event{{Seq: from, To: seq, Data: []byte("step")}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
