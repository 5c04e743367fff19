package httpx

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// Heartbeat is the interval of a stream's heartbeats. Clients learn it and reconnect after a few missing ones.
const Heartbeat = 10 * time.Second

// alone is how long the headers wait for a first event, to be sent with it: a new or resumed run has one immediately,
// which saves a packet.
const alone = 20 * time.Millisecond

// heartbeat is one comment line without an empty one after it: a decoder that saw an id would take the empty line for
// an event without data.
var heartbeat = []byte(": heartbeat\n")

// pulse is a heartbeat that scripts of pages hear: a browser keeps comments to itself.
var pulse = []byte("event: beat\ndata: 1\n\n")

// Stream writes server-sent events. Write may be called by several goroutines, each with whole frames.
type Stream struct {
	ctl   *http.ResponseController
	every time.Duration // between two heartbeats
	sign  []byte        // bytes of a heartbeat

	mu    sync.Mutex // guards the fields below
	w     http.ResponseWriter
	timer *time.Timer // timer of the next heartbeat; a stream needs no goroutine to wait for it
	sent  bool        // the headers have left
	alive bool        // the headers were sent, so heartbeats are due
	err   error
}

// NewStream sends the headers, with the first event or alone if none comes at once, lifts the server's write deadline
// and starts the heartbeat. The caller must call Close.
func NewStream(w http.ResponseWriter, beat time.Duration) (*Stream, error) {
	return newStream(w, beat, heartbeat)
}

// NewPageStream is NewStream for a page, whose script receives heartbeats as the event beat.
func NewPageStream(w http.ResponseWriter, beat time.Duration) (*Stream, error) {
	return newStream(w, beat, pulse)
}

func newStream(w http.ResponseWriter, beat time.Duration, sign []byte) (*Stream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform") // a front end that compresses would hold events back
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no")
	s := &Stream{ctl: http.NewResponseController(w), w: w, every: beat, sign: sign}
	if err := s.ctl.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	w.WriteHeader(http.StatusOK)
	if r, ok := w.(*echo.Response); ok { // its books are kept by now, and each event would pass through them
		s.w, s.ctl = r.Writer, http.NewResponseController(r.Writer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(min(alone, beat), s.beat)
	return s, nil
}

// beat sends the headers if nothing took them along in the first moment, and heartbeats from then on.
func (s *Stream) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil { // closed
		return
	}
	switch {
	case !s.sent:
		_ = s.put(nil, true)
	case s.alive:
		_ = s.put(s.sign, true)
	}
	s.alive = true
	if s.err == nil {
		s.timer.Reset(s.every)
	}
}

// Write sends whole frames; with flush they leave the machine now. After an error every
// write fails with it.
func (s *Stream) Write(frames []byte, flush bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(frames, flush)
}

// put is called with mu held.
func (s *Stream) put(b []byte, flush bool) error {
	if s.err == nil && len(b) > 0 {
		_, s.err = s.w.Write(b)
	}
	if s.err == nil && flush {
		s.err = s.ctl.Flush()
		s.sent = true
	}
	return s.err
}

// Close ends the heartbeat: nothing is written after it.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
	s.timer = nil
}

// AppendFrame adds one event. data is JSON; line breaks between its tokens become spaces,
// because clients join several data lines without a separator. A frame without a number has no id.
func AppendFrame(dst []byte, event string, data []byte, id ID) []byte {
	dst = append(append(append(dst, "event: "...), event...), "\ndata: "...)
	from := len(dst)
	dst = append(dst, data...)
	if bytes.IndexByte(data, '\n') >= 0 || bytes.IndexByte(data, '\r') >= 0 {
		for i, c := range dst[from:] {
			if c == '\n' || c == '\r' {
				dst[from+i] = ' '
			}
		}
	}
	if id.Seq > 0 {
		dst = id.append(append(dst, "\nid: "...))
	}
	return append(dst, "\n\n"...)
}

// AppendNumber writes an id and ends a frame after an existing "id: ".
func AppendNumber(dst []byte, id int64) []byte {
	return append(strconv.AppendInt(dst, id, 10), "\n\n"...)
}

// Limiter counts open event streams. The zero value is ready.
type Limiter struct{ open atomic.Int64 }

// Open counts the streams that are open now.
func (l *Limiter) Open() int64 { return l.open.Load() }

// Acquire takes a place among limit ones, or returns a 503 with a time to retry. Call release once.
func (l *Limiter) Acquire(limit int) (release func(), err error) {
	if l.open.Add(1) > int64(limit) {
		l.open.Add(-1)
		d := Errorf(http.StatusServiceUnavailable,
			"%d event streams are open, which is the limit (server.max_readers in the config)", limit)
		d.Header = http.Header{"Retry-After": {"5"}}
		return nil, d
	}
	return func() { l.open.Add(-1) }, nil
}

// Until returns ctx, canceled with cause when stop ends; a nil stop never does. Call done when the work has ended.
func Until(ctx, stop context.Context, cause error) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if stop == nil {
		return ctx, func() { cancel(nil) }
	}
	forget := context.AfterFunc(stop, func() { cancel(cause) })
	return ctx, func() { forget(); cancel(nil) }
}

// Left reports whether a response wasn't written because the client is gone. The connection may report it before the
// request's context does.
func Left(r *http.Request, err error) bool {
	if r.Context().Err() != nil {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	var op *net.OpError
	return ok && errors.As(err, &op) && op.Op == "write" && op.Source != nil && op.Source.String() == local.String()
}

// ID is the id of a server-sent event: the number of the run's event and, for several frames of it, the frame. Its text
// form is "12", and "12.1" for a further frame.
type ID struct {
	Seq  int64
	Part int32
}

// LastPart is greater than the part of any frame.
const LastPart = math.MaxInt32

// Compare orders ids the way their frames are sent.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Seq, other.Seq), cmp.Compare(id.Part, other.Part))
}

// String returns the id as sent; without a number it is "".
func (id ID) String() string { return string(id.append(nil)) }

func (id ID) append(dst []byte) []byte {
	if id.Seq < 1 {
		return dst
	}
	dst = strconv.AppendInt(dst, id.Seq, 10)
	if id.Part > 0 {
		dst = strconv.AppendInt(append(dst, '.'), int64(id.Part), 10)
	}
	return dst
}

// ParseID parses an id sent by a client, also one with a time before it, as in "1795231741539-12". Anything else is the
// zero id, which precedes everything.
func ParseID(s string) ID {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '-'); i > 0 {
		s = s[i+1:]
	}
	number, part, further := strings.Cut(s, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 0 {
		return ID{}
	}
	if !further {
		return ID{Seq: seq}
	}
	n, err := strconv.ParseInt(part, 10, 32)
	if err != nil || n < 0 {
		return ID{}
	}
	return ID{Seq: seq, Part: int32(n)}
}
