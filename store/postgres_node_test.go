package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

const (
	nodeURL, nodeDir = "FAWN_STORE_NODE_URL", "FAWN_STORE_NODE_DIR"
	nodeTime         = "FAWN_STORE_NODE_LEASE"
	nodeSchema       = "nodes"
	exitFenced       = 75

	nodeLease = 10 * time.Second // of those whose lease ends, but not when they stand still for three seconds
	longLease = time.Minute      // of others, as a busy machine may let nobody renew theirs for seconds
)

// nodeChild is a server that writes message after message until it may not any more, and prints the number of each
// that it was told is durable.
func nodeChild(url, dir, span string) int {
	ctx := context.Background()
	lost := make(chan error, 1)
	first, db := int64(0), (*store.DB)(nil)
	lease, err := time.ParseDuration(span)
	if err == nil {
		db, err = store.Open(ctx, store.Config{Dir: dir, URL: url, Schema: nodeSchema, Lease: lease,
			Log: slog.New(slog.DiscardHandler), Lost: func(err error) { lost <- err }})
	}
	if err == nil {
		first, err = db.MaxMessage(ctx, "t")
	}
	if err == nil && first == 0 {
		err = db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: "t"}})
	}
	for n := first + 1; err == nil; n++ {
		err = db.Commit(ctx, store.Batch{ThreadID: "t",
			Messages: []store.MessageRow{{N: n, ID: fmt.Sprint("child", n), Body: []byte("{}")}}})
		if err == nil {
			fmt.Println(n)
		}
	}
	if !errors.Is(err, store.ErrFenced) || !errors.Is(<-lost, store.ErrFenced) || db.Close() != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return exitFenced
}

// child is a server in a process of its own.
type child struct {
	cmd  *exec.Cmd
	told chan int64 // closed with its output
}

func startChild(t *testing.T, url, dir string, lease time.Duration) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0]), told: make(chan int64, 1<<16)}
	c.cmd.Env = append(os.Environ(), nodeURL+"="+url, nodeDir+"="+dir, nodeTime+"="+lease.String())
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	go func() {
		defer close(c.told)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var n int64
			if _, err := fmt.Sscan(lines.Text(), &n); err == nil {
				c.told <- n
			}
		}
	}()
	for n := range c.told {
		if n >= 20 {
			return c
		}
	}
	t.Fatal("the child has ended")
	return nil
}

// last is the greatest number that the child was told of, once it has ended.
func (c *child) last(after int64) int64 {
	for n := range c.told {
		after = n
	}
	return after
}

func openNode(t *testing.T, url, dir string, lease time.Duration, lost func(error)) *store.DB {
	t.Helper()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: dir, URL: url, Schema: nodeSchema, Lease: lease,
		Lost: lost, Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

// waits lets tests that mostly wait for the end of a lease do so at the same time, each with a database of its own.
func waits(t *testing.T) {
	if os.Getenv("FAWN_TEST_PG") == "" {
		t.Parallel()
	}
}

// leaseLeft is how long the lease of the only server is good, by the database's clock.
func leaseLeft(t *testing.T, url string) time.Duration {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), url))(t)
	defer conn.Close(t.Context())
	var left float64
	must.Do(t, conn.QueryRow(t.Context(), `SELECT extract(epoch FROM expires - clock_timestamp())::float8 FROM `+
		nodeSchema+`.node`).Scan(&left))
	return time.Duration(left * float64(time.Second))
}

func greatest(t *testing.T, db *store.DB) int64 {
	t.Helper()
	n := must.Get(db.MaxMessage(t.Context(), "t"))(t)
	return n
}

// TestAKilledServerIsReplaced: by one on another folder after the lease and not before it, with all it was told is
// durable; by one on its own folder at once.
func TestAKilledServerIsReplaced(t *testing.T) {
	waits(t)
	url, dir := pgtest.URL(t), t.TempDir()
	c := startChild(t, url, dir, nodeLease)
	must.Do(t, c.cmd.Process.Kill())
	killed, good := time.Now(), leaseLeft(t, url)
	db := openNode(t, url, t.TempDir(), longLease, nil)
	if took := time.Since(killed); good <= 0 || took < good || took > 5*nodeLease {
		t.Errorf("replaced after %v, with a lease that was good for %v", took, good)
	}
	if told, have := c.last(20), greatest(t, db); have < told {
		t.Errorf("message %d was durable, and the last one is %d", told, have)
	}
	must.Do(t, db.Close())
	began := time.Now() // a clean stop leaves nothing to wait for
	c = startChild(t, url, dir, longLease)
	must.Do(t, c.cmd.Process.Kill())
	c.cmd.Wait()
	killed = time.Now()
	openNode(t, url, dir, longLease, nil)
	if took := time.Since(killed); took > longLease/2 {
		t.Errorf("replaced on its own folder after %v; both took %v", took, time.Since(began))
	}
}

// TestAServerThatIsCutOffEnds before anybody else may take over, and writes nothing later. A short cut is a pause.
func TestAServerThatIsCutOffEnds(t *testing.T) {
	waits(t)
	url, lost := pgtest.URL(t), make(chan error, 1)
	wire := pgtest.NewWire(t, url)
	db := openNode(t, wire.URL, t.TempDir(), nodeLease, func(err error) { lost <- err })
	put := func(id string) error { return db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: id}}) }
	must.Do(t, put("t"))
	wire.Freeze()
	time.AfterFunc(500*time.Millisecond, wire.Thaw)
	if err := put("paused"); err != nil {
		t.Errorf("across a pause: %v", err)
	}
	wire.Break()
	if err := put("broken"); err != nil {
		t.Errorf("across broken connections: %v", err)
	}
	wire.Freeze()
	cut := time.Now()
	if err := put("cut off"); !errors.Is(err, store.ErrFenced) || time.Since(cut) > nodeLease {
		t.Errorf("cut off, after %v: %v", time.Since(cut), err)
	}
	if err := <-lost; !errors.Is(err, store.ErrFenced) || !strings.Contains(err.Error(), "couldn't renew the lease") {
		t.Errorf("its owner was told: %v", err)
	}
	next := openNode(t, url, t.TempDir(), longLease, nil)
	wire.Thaw()
	if err := put("late"); !errors.Is(err, store.ErrFenced) {
		t.Errorf("after another has taken over: %v", err)
	}
	must.Report(t, db.Close())
	for id, want := range map[string]error{"t": nil, "paused": nil, "broken": nil, "late": store.ErrNotFound} {
		if _, err := next.Thread(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("thread %s: %v", id, err)
		}
	}
}

// TestAServerOutlivesARestartOfPostgreSQL that is shorter than two thirds of its lease.
func TestAServerOutlivesARestartOfPostgreSQL(t *testing.T) {
	server := pgtest.Start(t)
	lost := make(chan error, 1)
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: server.URL, Lease: time.Minute,
		Log: slog.New(slog.DiscardHandler), Lost: func(err error) { lost <- err }}))(t)
	t.Cleanup(func() { db.Close() })
	ctx := t.Context()
	must.Do(t, db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: "t"}}))
	const messages = 300
	done := make(chan error, 1)
	go func() {
		for n := int64(1); n <= messages; n++ {
			err := db.Commit(ctx, store.Batch{ThreadID: "t",
				Messages: []store.MessageRow{{N: n, ID: fmt.Sprint(n), Body: []byte("{}")}}})
			if err != nil {
				done <- fmt.Errorf("message %d: %w", n, err)
				return
			}
		}
		done <- nil
	}()
	for n := int64(0); n < 10; n = greatest(t, db) {
		time.Sleep(time.Millisecond)
	}
	server.Crash(t)
	server.Run(t)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := greatest(t, db); n != messages || len(lost) > 0 {
		t.Errorf("%d messages are there, lost %d", n, len(lost))
	}
	if s, ok := db.Node(); !ok || s.Lease < 30*time.Second {
		t.Errorf("standing %+v", s)
	}
}
