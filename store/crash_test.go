package store_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

const crashDir = "FAWN_STORE_CRASH_DIR"

func TestMain(m *testing.M) {
	if url := os.Getenv(nodeURL); url != "" {
		os.Exit(nodeChild(url, os.Getenv(nodeDir), os.Getenv(nodeTime)))
	}
	if dir := os.Getenv(crashDir); dir != "" {
		if err := crashChild(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crashChild writes on four threads until it is killed and prints a line for
// everything it was told is durable: "delta thread seq" and "step thread number".
// It goes on where an earlier child was killed, after folding what that one left.
func crashChild(dir string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Dir: dir})
	if err != nil {
		return err
	}
	tail, err := db.Tail(ctx)
	if err != nil {
		return err
	}
	for thread, deltas := range tail {
		last := deltas[len(deltas)-1].Seq
		err := db.Commit(ctx,
			store.Batch{ThreadID: thread, Events: []store.Event{{Seq: deltas[0].Seq, To: last, Kind: "recovered"}}})
		if err != nil {
			return err
		}
	}
	if err := db.ClearTail(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	errs := make(chan error, 4)
	for i := range 4 {
		go func() { errs <- crashThread(ctx, db, fmt.Sprint("t", i), uint64(i), say) }()
	}
	return <-errs
}

func crashThread(ctx context.Context, db *store.DB, id string, seed uint64, say func(string, ...any)) error {
	if _, err := db.Thread(ctx, id); err != nil {
		if err := db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: id}, NewThread: true}); err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(seed, 1))
	seq, err := db.LastSeq(ctx, id)
	if err != nil {
		return err
	}
	step, err := db.MaxMessage(ctx, id)
	if err != nil {
		return err
	}
	l := db.OpenLane(id, func(seq int64) { say("delta %s %d", id, seq) })
	for {
		from := seq + 1
		for range 1 + r.IntN(30) {
			seq++
			l.Append(seq, fmt.Appendf(nil, "%s/%d", id, seq))
			if r.IntN(4) == 0 {
				time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
			}
		}
		if err := l.Wait(ctx, 1<<10); err != nil {
			return err
		}
		step++
		head := fmt.Sprintf("c%08d", step)
		b := store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Head: &head},
			Messages: []store.MessageRow{{N: step, ID: head, Body: crashBody(head, step, r)}},
			Fields:   []store.FieldRow{{Name: "f", Version: step, Body: []byte("{}")}},
			Checkpoints: []store.Checkpoint{
				{ID: head, Card: store.Card{Messages: []store.Range{{From: 1, To: step}},
					Fields: map[string]int64{"f": step}}},
			},
			Events: []store.Event{{Seq: from, To: seq, Kind: "step"}}}
		if step > 1 {
			b.Checkpoints[0].Parent = fmt.Sprintf("c%08d", step-1)
		}
		if err := l.Commit(ctx, b); err != nil {
			return err
		}
		say("step %s %d", id, step)
	}
}

var crashPictures = sync.OnceValue(func() []string {
	return []string{picture(0, 5<<10), picture(1, 5<<10), picture(2, 5<<10)}
})

// crashBody is a message, each fourth one with a picture.
func crashBody(id string, step int64, r *rand.Rand) []byte {
	if step%4 == 0 {
		return pictureMessage(id, crashPictures()[step%3])
	}
	return make([]byte, r.IntN(3000))
}

// TestKilledProcessLosesNothingItWasToldIsDurable kills a writing process at ten
// random moments or more and looks at what it left each time.
func TestKilledProcessLosesNothingItWasToldIsDurable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r := rand.New(rand.NewPCG(7, 11))
	deltas, steps := map[string]int64{}, map[string]int64{}
	// A slow machine may need some more before every thread got somewhere.
	for i := 0; i < 10 || i < 200 && len(steps)+len(deltas) < 8; i++ {
		killChild(t, dir, time.Duration(30+r.IntN(300))*time.Millisecond, deltas, steps)
		db := openAt(t, dir)
		checkClean(t, db)
		for thread, want := range steps {
			if got := must.Get(db.MaxMessage(t.Context(), thread))(t); got < want {
				t.Errorf("%s has %d steps, %d were durable", thread, got, want)
			}
			snap := must.Get(db.Snapshot(t.Context(), thread, ""))(t)
			if int64(len(snap.Messages)) < want {
				t.Errorf("%s: the head has %d messages, %d were durable", thread, len(snap.Messages), want)
			}
			for _, m := range snap.Messages {
				if m.N%4 == 0 && !bytes.Equal(m.Body, crashBody(m.ID, m.N, nil)) {
					t.Errorf("%s: the picture of message %d is not as it was", thread, m.N)
				}
			}
		}
		tail := must.Get(db.Tail(t.Context()))(t)
		for thread, want := range deltas {
			got := must.Get(db.LastSeq(t.Context(), thread))(t)
			if got < want {
				t.Errorf("%s ends at %d, %d was durable", thread, got, want)
			}
			if next := must.Get(db.Standing(t.Context(), thread))(t).Next; next != got+1 {
				t.Errorf("%s ends at %d, and goes on at %d", thread, got, next)
			}
			everyNumberOnce(t, thread, must.Get(db.Events(t.Context(), thread, 0, 0, 0))(t), tail[thread], want)
		}
		must.Do(t, db.Close())
	}
	if len(steps) != 4 || len(deltas) != 4 {
		t.Errorf("only %d threads got to a step, %d to a delta", len(steps), len(deltas))
	}
}

// everyNumberOnce checks that events and tail cover 1..want without hole or
// overlap, and that the tail's bodies are those written.
func everyNumberOnce(t *testing.T, thread string, events []store.Event, tail []store.Delta, want int64) {
	t.Helper()
	next := int64(1)
	for _, e := range events {
		if e.Seq != next {
			t.Errorf("%s: event at %d where %d is due", thread, e.Seq, next)
		}
		next = e.To + 1
	}
	for _, d := range tail {
		if d.Seq != next || string(d.Data) != fmt.Sprintf("%s/%d", thread, d.Seq) {
			t.Errorf("%s: delta %d %q where %d is due", thread, d.Seq, d.Data, next)
		}
		next = d.Seq + 1
	}
	if next <= want {
		t.Errorf("%s ends before %d, %d was durable", thread, next, want)
	}
}

// killChild runs a child for a while after its first word and adds what it said
// before the kill.
func killChild(t *testing.T, dir string, life time.Duration, deltas, steps map[string]int64) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	in := bufio.NewReader(out)
	var timer *time.Timer
	for {
		line, err := in.ReadString('\n')
		if timer == nil {
			timer = time.AfterFunc(life, func() { cmd.Process.Kill() })
		}
		if err == io.EOF {
			break // what follows the last newline was not said to the end
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "error") {
			t.Fatalf("child: %s", line)
		}
		var kind, thread string
		var n int64
		if _, err := fmt.Sscan(line, &kind, &thread, &n); err != nil {
			t.Fatalf("child said %q: %v", line, err)
		}
		m := deltas
		if kind == "step" {
			m = steps
		}
		m[thread] = max(m[thread], n)
	}
	timer.Stop()
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
}
