package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// Output is shown in pieces of this size, or after this time.
	pieceBytes = 8 << 10
	pieceTime  = 50 * time.Millisecond
	// Processes in the background may hold the output open; what they write after
	// this time is theirs.
	lastWords = 100 * time.Millisecond
	// Linux lets nobody but root have a larger pipe.
	pipeBytes = 1 << 20
)

// pump reads the output of one command, keeps and shows it, and goes on reading
// afterwards for as long as a background process writes, which would die
// otherwise. One goroutine runs it.
type pump struct {
	r      *os.File
	clean  *replacer
	kept   *keeper
	show   func([]byte) // may be nil
	all    io.Writer    // may be nil
	budget int64        // bytes that may still be shown
	total  int64        // bytes read

	mu     sync.Mutex
	detach time.Time // guarded by mu; set when the command has ended

	pending  []byte
	flushAt  time.Time // zero while nothing is pending
	finished chan struct{}
}

func newPump(r *os.File, clean *replacer, req ExecReq, p Policy) *pump {
	u := &pump{r: r, clean: clean, kept: newKeeper(p.OutputChars), all: req.All, budget: p.StreamBytes, finished: make(chan struct{})}
	if req.OnOutput != nil {
		u.show = func(b []byte) { req.OnOutput(StreamOutput, b) }
	}
	return u
}

// run returns once nobody can write any more, or over is closed.
func (u *pump) run(over <-chan struct{}) {
	u.collect()
	close(u.finished)
	read := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-read:
		case <-over:
			_ = u.r.SetReadDeadline(time.Now())
		}
	})
	// Every writer is gone, or the time is over; there is nobody to tell.
	_, _ = io.Copy(io.Discard, u.r)
	close(read)
	watch.Wait()
	_ = u.r.Close()
}

func (u *pump) collect() {
	buf := make([]byte, 32<<10)
	for {
		last := u.deadline()
		n, err := u.r.Read(buf)
		u.total += int64(n)
		u.take(u.clean.next(buf[:n], false))
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !late {
			break // nobody can write any more
		}
		if !last.IsZero() && !time.Now().Before(last) {
			u.rest(buf)
			break
		}
		if late {
			u.flush(false)
		}
	}
	u.take(u.clean.next(nil, true))
	u.flush(true)
	u.mu.Lock()
	defer u.mu.Unlock()
	// A file without a poller, which no pipe is, would refuse.
	_ = u.r.SetReadDeadline(time.Time{})
}

// rest takes what the command has left in the pipe: on a busy machine, or behind somebody
// slow who is shown the output, that is more than was read in time. A process in the
// background may add to it, but not for ever.
func (u *pump) rest(buf []byte) {
	_ = u.r.SetReadDeadline(time.Time{})
	for most := pipeBytes; most > 0; {
		n := readNow(u.r, buf)
		if n <= 0 {
			return
		}
		u.total += int64(n)
		u.take(u.clean.next(buf[:n], false))
		most -= n
	}
}

// deadline arms the next read and returns when to stop.
func (u *pump) deadline() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.detach
	if !u.flushAt.IsZero() && (at.IsZero() || u.flushAt.Before(at)) {
		at = u.flushAt
	}
	_ = u.r.SetReadDeadline(at)
	return u.detach
}

// take keeps output and shows it when enough has come together.
func (u *pump) take(p []byte) {
	if len(p) == 0 {
		return
	}
	_, _ = u.kept.Write(p)
	if u.all != nil {
		_, _ = u.all.Write(p)
	}
	if u.show == nil || u.budget <= 0 {
		return
	}
	if len(u.pending) == 0 {
		u.flushAt = time.Now().Add(pieceTime)
	}
	u.pending = append(u.pending, p...)
	if len(u.pending) >= pieceBytes {
		u.flush(false)
	}
}

// flush shows what is pending up to the last whole character.
func (u *pump) flush(last bool) {
	u.flushAt = time.Time{}
	n := len(u.pending)
	if !last {
		n = whole(u.pending)
	}
	if u.show == nil || n == 0 {
		return
	}
	if int64(n) > u.budget {
		n = whole(u.pending[:u.budget])
		u.budget = int64(n)
		last = true // the rest is never shown
	}
	u.budget -= int64(n)
	u.show(valid(u.pending[:n]))
	if last || u.budget <= 0 {
		u.pending = nil
		return
	}
	u.pending = append([]byte(nil), u.pending[n:]...)
	if len(u.pending) > 0 {
		u.flushAt = time.Now().Add(pieceTime)
	}
}

// finish is called when the command has ended, and waits for its last words.
func (u *pump) finish() {
	u.mu.Lock()
	u.detach = time.Now().Add(lastWords)
	_ = u.r.SetReadDeadline(u.detach)
	u.mu.Unlock()
	<-u.finished
}
