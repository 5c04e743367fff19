package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

// said is a log that may be read meanwhile.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// standbyLease is that of servers which are to live: a standby may take a minute to answer.
const standbyLease = 5 * time.Minute

// failover is some servers with a PostgreSQL whose standby takes over.
type failover struct {
	first, standby *pgtest.Server
	wires          []*pgtest.Wire
}

// join opens the database at a server that is led to the standby, too.
func (f *failover) join(t *testing.T, log io.Writer, lease time.Duration, lost func(error)) *store.DB {
	t.Helper()
	wire := pgtest.NewWire(t, f.first.URL)
	f.wires = append(f.wires, wire)
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: wire.URL, Schema: nodeSchema,
		Lease: lease, Cluster: true, Lost: lost, Log: slog.New(slog.NewTextHandler(log, nil))}))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

// happen lets the standby take over.
func (f *failover) happen(t *testing.T) {
	t.Helper()
	f.first.Crash(t)
	f.standby.Promote(t)
	for _, w := range f.wires {
		w.Lead(t, f.standby.URL)
		w.Break()
	}
}

// write stores an event and a message with a number.
func write(t *testing.T, db *store.DB, thread string, n int64) {
	t.Helper()
	must.Do(t, tryWrite(t, db, thread, n))
}

func tryWrite(t *testing.T, db *store.DB, thread string, n int64) error {
	return db.Commit(t.Context(), store.Batch{ThreadID: thread, Events: []store.Event{{Seq: n, Kind: "text"}},
		Messages: []store.MessageRow{{N: n, ID: fmt.Sprint("m", n), Body: []byte("{}")}}})
}

// numbers are the last ones of a thread's events and messages.
func numbers(t *testing.T, db *store.DB, thread string) (seq, top int64) {
	t.Helper()
	seq, err := db.LastSeq(t.Context(), thread)
	at, failed := db.Standing(t.Context(), thread)
	must.Do(t, errors.Join(err, failed))
	return seq, at.Top
}

// TestAStandbyThatLacksCommitsGivesNoNumberTwice: servers of which something is lost give up, whether they write or
// not, and one that lacks nothing goes on. Threads go on behind all that anybody was told, also of one that was killed.
func TestAStandbyThatLacksCommitsGivesNoNumberTwice(t *testing.T) {
	waits(t)
	f := &failover{first: pgtest.Start(t)}
	var log, other, more said
	busy, idle, killed := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	a := f.join(t, &other, standbyLease, func(err error) { busy <- err })
	b := f.join(t, &log, standbyLease, func(err error) { t.Error(err) })
	c := f.join(t, &more, standbyLease, func(err error) { idle <- err })
	d := f.join(t, &more, nodeLease, func(err error) { killed <- err })
	lines(t, a, false, "a", "quiet")
	lines(t, b, false, "b")
	lines(t, c, false, "c")
	lines(t, d, false, "d")
	for i, db := range []*store.DB{a, b, c, d} {
		run := store.Run{ID: "run of " + string(rune('a'+i)), ThreadID: string(rune('a' + i)), Status: "running"}
		must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: run.ThreadID, Run: &run}))
		write(t, db, run.ThreadID, 1)
	}
	over := store.Run{ID: "run of quiet", ThreadID: "quiet", Status: "success"}
	must.Do(t, a.Commit(t.Context(), store.Batch{ThreadID: "quiet", Run: &over, Line: &store.Line{}}))
	f.standby = f.first.Standby(t)
	for n := range int64(9) {
		write(t, a, "a", n+2)
		write(t, a, "quiet", n+2)
		write(t, c, "c", n+2)
		write(t, d, "d", n+2)
	}
	f.wires[3].Freeze() // it is not there any more when the other one takes over
	f.happen(t)

	write(t, b, "b", 2)
	if err := tryWrite(t, a, "a", 11); !errors.Is(err, store.ErrFenced) || !errors.Is(<-busy, store.ErrFenced) {
		t.Errorf("a server that lacks its last commit goes on: %v", err)
	}
	if said := other.String(); !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "commits were lost") {
		t.Errorf("it says %s", said)
	}
	if err := <-idle; !errors.Is(err, store.ErrFenced) {
		t.Error(err)
	}
	if err := <-killed; !errors.Is(err, store.ErrFenced) {
		t.Error(err)
	}
	must.Report(t, errors.Join(a.Close(), c.Close(), d.Close()))
	taken := map[string]bool{}
	for end := time.Now().Add(time.Minute); len(taken) < 3; time.Sleep(50 * time.Millisecond) {
		list, err := b.ClaimOrphans(t.Context(), 10)
		if err != nil || time.Now().After(end) {
			t.Fatalf("taken over were %v: %v", taken, err)
		}
		for _, o := range list {
			taken[o.Run] = true
		}
	}
	for _, thread := range []string{"a", "c", "d", "quiet"} {
		seq, top := numbers(t, b, thread)
		if seq <= 10 || top <= 10 {
			t.Errorf("thread %s would give %d and %d twice", thread, seq+1, top+1)
		}
		write(t, b, thread, max(seq, top)+1)
	}
	if seq, top := numbers(t, b, "b"); seq != 2 || top != 2 {
		t.Errorf("a run that lost nothing goes on behind %d and %d", seq, top)
	}
	all := log.String() + other.String() + more.String() // whoever is the first to write
	if !strings.Contains(all, "level=WARN") || strings.Count(all, "PostgreSQL failed over") != 1 {
		t.Errorf("who noticed says %s", all)
	}
	if found, err := b.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}
	must.Report(t, b.Close()) // while the standby is there
}

func TestADatabaseThatKeepsItsTimelineToItselfIsOpened(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := must.Get(pgx.Connect(t.Context(), server.URL))(t)
	defer admin.Close(t.Context())
	must.Get(admin.Exec(t.Context(), `REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC;
		CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain`))(t)
	var log said
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(),
		URL: strings.Replace(server.URL, "fawn@", "plain@", 1), Schema: nodeSchema, Lease: time.Minute, Cluster: true,
		Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	defer db.Close()
	if _, _, err := db.Threads(t.Context(), store.ThreadQuery{}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "read PostgreSQL's timeline") {
		t.Errorf("the log says nothing of it: %s", log.String())
	}
}
