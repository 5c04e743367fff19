package runs_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// disk lets no file grow past its limit, which the database takes for a full disk.
type disk struct {
	t   *testing.T
	wal string
	was syscall.Rlimit
	pin *sql.Conn // reads, so that the log never begins again at its start and has room
}

func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, store.FileName)); err != nil {
		t.Skip("the database has a disk of its own")
	}
	d := &disk{t: t, wal: filepath.Join(dir, "fawn.db-wal")}
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &d.was); err != nil {
		t.Skip(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "fawn.db")+"?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if d.pin, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	var busy, n int
	// A log that a pause has let be copied would begin again under the reader: it is emptied first.
	eventually(t, "the log is empty", func() bool { // the store may be copying it, too
		err = d.pin.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &n, &n)
		return err != nil || busy == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.pin.ExecContext(t.Context(), "BEGIN")
	if err = errors.Join(err, d.pin.QueryRowContext(t.Context(), "SELECT count(*) FROM thread").Scan(&n)); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	t.Cleanup(func() { d.grow(); signal.Reset(syscall.SIGXFSZ) })
	return d
}

// fill leaves room for some more bytes.
func (d *disk) fill(room int) {
	info, err := os.Stat(d.wal)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(info.Size()) + uint64(room),
			Max: d.was.Max})
	}
	if err != nil {
		d.t.Error(err)
	}
}

func (d *disk) grow() {
	must.Report(d.t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &d.was))
	if _, err := d.pin.ExecContext(context.Background(), "ROLLBACK"); err == nil {
		d.pin.Close()
	} else if !errors.Is(err, sql.ErrConnDone) { // it is released already
		d.t.Error(err)
	}
}

// FullDiskEndsTheRunAndKeepsWhatWasShown fills the disk while a model speaks and frees
// it when the run is told to stop, as the store's reserve does.
func (s suite) FullDiskEndsTheRunAndKeepsWhatWasShown(t *testing.T) {
	dir := t.TempDir()
	var full *disk
	said := make(chan struct{})
	var w *world
	w = s.open(t, dir, &agent.Agent{Model: modelOf(func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk,
		error) bool) {
		yield(agent.Chunk{Text: "shown "}, nil)
		<-said
		full.fill(50 << 10)
		for range 20 {
			if ctx.Err() != nil || !yield(agent.Chunk{Text: strings.Repeat("lost ", 20<<10)}, nil) {
				break
			}
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), runs.ErrStorage) {
			t.Errorf("cancelled with %v", context.Cause(ctx))
		}
		if err := w.db.Healthy(); !errors.Is(err, store.ErrFull) {
			t.Errorf("store is %v", err)
		}
		full.grow()
		yield(agent.Chunk{}, ctx.Err())
	})})
	full = newDisk(t, dir)
	run := w.start(t, "t1", "hi")
	w.until(t, run, text("shown"))
	close(said)
	w.end(t, run, runs.Failed)
	if f := w.failure(t, run); f.Error != "storage_full" {
		t.Errorf("failure = %+v", f)
	}
	if evs := w.read(t, run.ID, 0); !slices.ContainsFunc(evs, text("shown")) {
		t.Errorf("events: %s", shape(evs)[:100])
	}
	if got := texts(w.state(t, "t1", "")); !strings.HasPrefix(got, "human:hi\nai:shown lost") {
		t.Errorf("messages: %.60s", got)
	}
	w.sound(t)
}

// StepThatCannotBeStoredIsNotShown fills the disk between the last delta and the step.
// The end of the run does not fit either, but its status does; readers get what was stored and
// an end all the same, and the next server gives no number twice.
func (s suite) StepThatCannotBeStoredIsNotShown(t *testing.T) {
	dir := t.TempDir()
	var full *disk
	w := s.open(t, dir, &agent.Agent{
		Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say(strings.Repeat("shown ", 100<<10))}},
		Chain: []agent.Middleware{{AfterModel: func(context.Context, *agent.Turn, *agent.Reply) error {
			full.fill(300 << 10)
			return nil
		}}}})
	full = newDisk(t, dir)
	run := w.start(t, "t1", "hi")
	r := must.Get(w.m.Follow(t.Context(), run.ID))(t)
	var seen []runevent.Event
	for after := int64(0); ; {
		evs := must.Get(r.Next(t.Context(), after))(t)
		if evs == nil {
			break
		}
		seen, after = append(seen, evs...), evs[len(evs)-1].To
	}
	full.grow()
	// Whether the last delta was stored in time depends on the disk.
	got := shape(seen)
	if !strings.HasPrefix(got, "meta step(__input__) msg text(shown") ||
		!strings.HasSuffix(strings.TrimSuffix(got, " finish"), ")") {
		t.Errorf("seen: %.80s … %s", got, got[max(0, len(got)-60):])
	}
	row := w.end(t, run, runs.Failed)
	if row.FirstSeq != 1 || row.LastSeq >= seen[len(seen)-1].To {
		t.Errorf("the row says %d to %d, stored are less than %d", row.FirstSeq, row.LastSeq, seen[len(seen)-1].To)
	}
	if got := shape(w.read(t, run.ID, 0)); got != "meta step(__input__) error end" {
		t.Errorf("stored: %s", got)
	}
	w.close()
	next := s.open(t, dir, parrotAgent())
	if got := texts(next.state(t, "t1", "")); got != "human:hi" {
		t.Errorf("messages: %s", got)
	}
	again := next.start(t, "t1", "more")
	if row := next.end(t, again, runs.Success); row.FirstSeq <= seen[len(seen)-1].To {
		t.Errorf("number %d was given before", row.FirstSeq)
	}
	next.sound(t)
}
