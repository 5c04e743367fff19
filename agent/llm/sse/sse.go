// Package sse reads event streams as written by model providers and gateways. The adapters interpret the events.
package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// MaxEvent limits one event, in bytes.
const MaxEvent = 16 << 20

// ErrLong means that an event is longer than [MaxEvent].
var ErrLong = errors.New("an event of the stream is longer than 16 MiB")

// Reader cuts an event stream into the payloads of its events. Comments, blank lines and
// fields other than data are dropped, the data lines of one event are joined, and lines
// that are bare JSON objects count as data, because gateways write errors that way.
type Reader struct {
	r          io.Reader
	onRead     func() // called before a read that follows a payload
	buf        []byte
	pos        int    // buf[pos:] is unread
	seen       int    // buf[pos:pos+seen] has no line end
	data       []byte // data of the open event; points into buf or is joined
	open       bool   // data belongs to an unfinished event
	joined     bool   // data is a copy, not part of buf
	failed     bool   // the open event is named error
	nextFailed bool   // next is an error
	next       []byte // a line held back while an event without an end was returned
	waiting    bool   // a payload was returned since the last read of r
	fresh      bool   // nothing was read yet: a byte order mark may follow
	cr         bool   // the last line ended with CR: a following LF belongs to it
	err        error
}

// New reads r. onRead is called before each wait that follows an event.
func New(r io.Reader, onRead func()) *Reader {
	return &Reader{r: r, onRead: onRead, fresh: true, buf: make([]byte, 0, 2<<10)}
}

// Event is the payload of one event, valid until the next call of Read.
type Event struct {
	Data   []byte
	Failed bool // the event is an error
}

// Read returns the next event; io.EOF after the last.
func (f *Reader) Read() (Event, error) {
	if f.next != nil {
		f.data, f.open, f.joined, f.next = f.next, true, true, nil
		if f.nextFailed {
			f.failed, f.nextFailed = true, false
			return f.take(), nil
		}
	}
	for {
		line, err := f.line()
		if err != nil {
			if f.open && err == io.EOF {
				return f.take(), nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if f.open && len(f.data) > 0 {
				return f.take(), nil
			}
			f.open, f.failed = false, false
			continue
		}
		payload, ok := dataOf(line)
		switch {
		case ok && !f.open:
			f.data, f.open, f.joined = payload, true, false
		case ok && json.Valid(f.data):
			// no blank line between two whole events
			f.next = bytes.Clone(payload)
			return f.take(), nil
		case ok && len(f.data)+len(payload) > MaxEvent:
			return Event{}, ErrLong
		case ok:
			f.keep()
			f.data = append(append(f.data, '\n'), payload...)
		case bytes.HasPrefix(line, []byte("error:")): // a separate field, as llama.cpp once wrote
			what := bytes.TrimLeft(line[len("error:"):], " \t")
			if f.open {
				f.next, f.nextFailed = bytes.Clone(what), true
				return f.take(), nil
			}
			f.data, f.open, f.joined, f.failed = bytes.Clone(what), true, true, true
			return f.take(), nil
		case bytes.Equal(line, []byte("event: error")) || bytes.Equal(line, []byte("event:error")):
			f.failed = true
		}
	}
}

func (f *Reader) take() Event {
	out := Event{f.data, f.failed}
	f.waiting = true
	f.data, f.open, f.joined, f.failed = nil, false, false, false
	return out
}

// keep moves the open event's data out of the buffer, which is about to change.
func (f *Reader) keep() {
	if f.open && !f.joined {
		f.data, f.joined = bytes.Clone(f.data), true
	}
}

func dataOf(line []byte) ([]byte, bool) {
	if len(line) >= 5 && string(line[:5]) == "data:" {
		line = line[5:]
		for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			line = line[1:]
		}
		return line, true
	}
	if line[0] == '{' {
		return line, true
	}
	return nil, false
}

// mark is the byte order mark some servers begin with.
const mark = "\uFEFF"

// line returns the next line without its end, LF, CR or both; it points into buf.
func (f *Reader) line() ([]byte, error) {
	for {
		rest := f.buf[f.pos:]
		if f.fresh && len(rest) >= len(mark) {
			f.fresh = false
			if bytes.HasPrefix(rest, []byte(mark)) {
				f.pos += len(mark)
				rest = rest[len(mark):]
			}
		}
		if f.cr && len(rest) > 0 {
			f.cr = false
			if rest[0] == '\n' {
				f.pos++
				rest = rest[1:]
			}
		}
		i := bytes.IndexByte(rest[f.seen:], '\n')
		until := rest[f.seen:]
		if i >= 0 {
			until = until[:i]
		}
		if j := bytes.IndexByte(until, '\r'); j >= 0 {
			i = j
		}
		if i >= 0 {
			line := rest[:f.seen+i]
			f.cr = rest[f.seen+i] == '\r'
			f.pos += f.seen + i + 1
			f.seen = 0
			return line, nil
		}
		f.seen = len(rest)
		if len(rest) > MaxEvent {
			return nil, ErrLong
		}
		if f.err != nil {
			if f.err == io.EOF && len(rest) > 0 {
				f.pos, f.seen = len(f.buf), 0
				return bytes.TrimPrefix(rest, []byte(mark)), nil
			}
			return nil, f.err
		}
		f.fill()
	}
}

// fill makes room after the unread bytes and reads once.
func (f *Reader) fill() {
	if f.waiting {
		f.waiting = false
		f.onRead()
	}
	if len(f.buf) == cap(f.buf) || f.pos == len(f.buf) {
		f.keep()
		rest := f.buf[f.pos:]
		if cap(f.buf)-len(rest) < cap(f.buf)/2 {
			grown := make([]byte, len(rest), 2*cap(f.buf))
			copy(grown, rest)
			f.buf = grown
		} else {
			f.buf = f.buf[:copy(f.buf, rest)]
		}
		f.pos = 0
	}
	n, err := f.r.Read(f.buf[len(f.buf):cap(f.buf)])
	f.buf, f.err = f.buf[:len(f.buf)+n], err
}
