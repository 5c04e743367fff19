package pool

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"fawn/sandbox"
)

const (
	// Output is shown in pieces of this size, or after this time.
	pieceBytes = 8 << 10
	pieceTime  = 50 * time.Millisecond
	// Background processes may hold the output open; later output belongs to them.
	LastWords = 100 * time.Millisecond
	// Linux allows larger pipes to root only.
	pipeBytes = 1 << 20
)

// pump reads both outputs of a command and stores each. It shows them combined in order of arrival, and continues
// reading while background processes write, which would die otherwise.
type pump struct {
	streams  [2]*stream // standard output and standard error
	finished chan struct{}

	limit  sync.Mutex
	detach time.Time // guarded by limit; set when the command has ended

	mu      sync.Mutex
	clean   *replacer    // masks texts that span both outputs; guarded by mu, like the fields below
	show    func([]byte) // may be nil
	all     io.Writer    // may be nil
	budget  int64        // bytes left to show
	pending []byte
	flushAt time.Time // zero while nothing is pending
}

// stream is one of the outputs. One goroutine reads it.
type stream struct {
	r     *os.File
	clean *replacer
	kept  *keeper
	total int64  // bytes read
	part  []byte // the start of a character
}

// newPump returns a pump and the pipe ends for the command's output. Listed texts are replaced in the output.
func newPump(list []replacement, req sandbox.ExecReq, p sandbox.Policy) (_ *pump, ends [2]*os.File, err error) {
	u := &pump{clean: newReplacer(req.Secrets), all: req.All, budget: p.StreamBytes, finished: make(chan struct{})}
	for i := range u.streams {
		r, w, err := os.Pipe()
		if err != nil {
			for _, s := range u.streams[:i] {
				err = errors.Join(err, s.r.Close(), ends[0].Close())
			}
			return nil, ends, err
		}
		ends[i] = w
		u.streams[i] = &stream{r: r, clean: newReplacer(req.Secrets, list...), kept: newKeeper(p.OutputChars)}
	}
	if req.OnOutput != nil {
		u.show = func(b []byte) { req.OnOutput(sandbox.StreamOutput, b) }
	}
	return u, ends, nil
}

// run returns when all writers are gone, or over is closed.
func (u *pump) run(over <-chan struct{}) {
	var reading sync.WaitGroup
	for _, s := range u.streams {
		reading.Go(func() { u.collect(s) })
	}
	reading.Wait()
	u.merge(nil, true)
	close(u.finished)
	read := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-read:
		case <-over:
			for _, s := range u.streams {
				_ = s.r.SetReadDeadline(time.Now())
			}
		}
	})
	for _, s := range u.streams {
		// Every writer is gone, or the time is up; the error doesn't matter.
		reading.Go(func() { _, _ = io.Copy(io.Discard, s.r) })
	}
	reading.Wait()
	close(read)
	watch.Wait()
	for _, s := range u.streams {
		_ = s.r.Close()
	}
}

func (u *pump) collect(s *stream) {
	buf := make([]byte, 32<<10)
	for {
		last := u.deadline(s)
		n, err := s.r.Read(buf)
		u.take(s, buf[:n], false)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !late {
			break // all writers have closed it
		}
		if !last.IsZero() && !time.Now().Before(last) {
			u.rest(s, buf)
			break
		}
		if late {
			u.flush()
		}
	}
	u.take(s, nil, true)
	// The other output may be silent for long.
	u.flush()
	u.limit.Lock()
	defer u.limit.Unlock()
	// A file without a poller, which no pipe is, would refuse.
	_ = s.r.SetReadDeadline(time.Time{})
}

// rest reads the command's remaining output from the pipe: on a busy machine, or with a slow reader, there may be more
// than was read in time. Background processes may add to it, up to a limit.
func (u *pump) rest(s *stream, buf []byte) {
	_ = s.r.SetReadDeadline(time.Time{})
	for most := pipeBytes; most > 0; {
		n := readNow(s.r, buf)
		if n <= 0 {
			return
		}
		u.take(s, buf[:n], false)
		most -= n
	}
}

// deadline arms the next read and returns when to stop.
func (u *pump) deadline(s *stream) time.Time {
	u.mu.Lock()
	flush := u.flushAt
	u.mu.Unlock()
	u.limit.Lock()
	defer u.limit.Unlock()
	at := u.detach
	if !flush.IsZero() && (at.IsZero() || flush.Before(at)) {
		at = flush
	}
	_ = s.r.SetReadDeadline(at)
	return u.detach
}

// take stores output and passes on complete characters: the two outputs must not interrupt each other's.
func (u *pump) take(s *stream, p []byte, last bool) {
	s.total += int64(len(p))
	p = s.clean.next(p, last)
	_, _ = s.kept.Write(p)
	if len(s.part) > 0 {
		p = append(s.part, p...)
	}
	n := len(p)
	if !last {
		n = whole(p)
	}
	s.part = append([]byte(nil), p[n:]...)
	u.merge(p[:n], false)
}

// merge shows output when enough has accumulated, or all of it at the end.
func (u *pump) merge(p []byte, last bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p = u.clean.next(p, last); len(p) > 0 && u.all != nil {
		_, _ = u.all.Write(p)
	}
	if u.show == nil || u.budget <= 0 {
		return
	}
	if len(p) > 0 && len(u.pending) == 0 {
		u.flushAt = time.Now().Add(pieceTime)
	}
	u.pending = append(u.pending, p...)
	if last || len(u.pending) >= pieceBytes {
		u.flushLocked()
	}
}

func (u *pump) flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.flushLocked()
}

// flushLocked shows pending output.
func (u *pump) flushLocked() {
	u.flushAt = time.Time{}
	n := len(u.pending)
	if n == 0 {
		return
	}
	if int64(n) > u.budget {
		n = whole(u.pending[:u.budget])
		u.budget = int64(n) // the rest is never shown
	}
	u.budget -= int64(n)
	u.show(valid(u.pending[:n]))
	u.pending = nil
}

// finish waits for the remaining output after the end of the command.
func (u *pump) finish() {
	u.limit.Lock()
	u.detach = time.Now().Add(LastWords)
	for _, s := range u.streams {
		_ = s.r.SetReadDeadline(u.detach)
	}
	u.limit.Unlock()
	<-u.finished
}

// total returns the number of bytes read. Call it after finish, like texts.
func (u *pump) total() int64 { return u.streams[0].total + u.streams[1].total }

// texts returns a result's text of both outputs.
func (u *pump) texts() (out, errs []byte, truncated bool) {
	a, b := u.streams[0].kept, u.streams[1].kept
	forOut, forErrs := share(a.chars, a.total, b.total)
	out, cut := a.text(forOut)
	errs, also := b.text(forErrs)
	return out, errs, cut || also
}
