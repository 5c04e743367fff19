package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

const (
	maxSpread = 1 << 20 // bytes of a message spread over several lines
	maxTries  = 16      // places in a line where a message may begin
)

// messages reads a server's output as one complete message per line. Other output, such as a banner or log line, goes
// to the server's log and doesn't end the session.
type messages struct {
	io.Closer
	in   *bufio.Reader
	most int // bytes of a message
	log  func(string)

	out    []byte // read and fixed
	spread []byte // the start of a message that continues on the next line
	depth  int    // brackets that are open there
	err    error
}

func newMessages(from io.ReadCloser, most int, log func(string)) *messages {
	return &messages{Closer: from, in: bufio.NewReaderSize(from, 32<<10), most: most, log: log}
}

// Read implements [io.Reader].
func (m *messages) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		var line []byte
		line, m.err = m.line()
		m.take(line)
		if m.err != nil && len(m.spread) > 0 {
			m.strays(m.spread)
			m.spread = nil
		}
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// line reads a line; one above the message limit is an error.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > m.most {
			return nil, errTooLarge
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take searches a line for messages.
func (m *messages) take(line []byte) {
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\uFEFF")))
	if len(line) == 0 {
		return
	}
	if m.all(line) {
		if len(m.spread) > 0 { // the buffered start wasn't a message
			m.strays(m.spread)
			m.spread = nil
		}
		return
	}
	begun := len(m.spread) > 0
	if begun || line[0] == '{' {
		more := m.goesOn(line)
		if begun || more {
			m.spread = append(append(m.spread, line...), '\n')
		}
		switch {
		case more && len(m.spread) <= maxSpread:
			return
		case begun:
			if more || !m.all(m.spread) {
				m.strays(m.spread)
			}
			m.spread = nil
			return
		}
		m.spread = nil
	}
	// a message may follow text without a line end
	for from, tries := 1, 0; from < len(line) && tries < maxTries; from++ {
		at := bytes.IndexByte(line[from:], '{')
		if at < 0 {
			break
		}
		from += at
		if key := bytes.TrimLeft(line[from+1:], " \t"); len(key) == 0 || key[0] != '"' {
			continue
		}
		if tries++; m.all(line[from:]) {
			m.strays(line[:from])
			return
		}
	}
	m.strays(line)
}

// goesOn reports whether a message spread over lines can continue after this one: brackets are open, but no string is.
func (m *messages) goesOn(line []byte) bool {
	if len(m.spread) == 0 {
		m.depth = 0
	}
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			m.depth++
		case c == '}', c == ']':
			m.depth--
		}
	}
	return !quoted && m.depth > 0
}

// all parses a text that consists of one or more messages; false if it doesn't.
func (m *messages) all(text []byte) bool {
	if text[0] != '{' && text[0] != '[' {
		return false
	}
	var found [][]byte
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false
		}
		batch := []json.RawMessage{raw}
		if raw[0] == '[' && json.Unmarshal(raw, &batch) != nil {
			return false
		}
		for _, one := range batch {
			good := healed(one)
			if good == nil {
				return false
			}
			found = append(found, good)
		}
	}
	for _, one := range found {
		if bytes.IndexByte(one, '\n') >= 0 {
			var flat bytes.Buffer
			if json.Compact(&flat, one) == nil {
				one = flat.Bytes()
			}
		}
		m.out = append(append(m.out, one...), '\n')
	}
	return len(found) > 0
}

// strays logs lines that aren't messages.
func (m *messages) strays(text []byte) {
	for line := range strings.Lines(string(text)) {
		m.log(line)
	}
}

// healedBody is an HTTP response with fixed messages: a JSON body, read at once, or events, passed on one by one.
type healedBody struct {
	io.ReadCloser
	events bool
	most   int
	in     *bufio.Reader
	event  []byte // read so far
	large  bool   // above the message limit; the library reports it
	out    []byte
	err    error
}

// Read implements [io.Reader].
func (b *healedBody) Read(p []byte) (int, error) {
	if b.in == nil {
		b.in = bufio.NewReader(b.ReadCloser)
	}
	for len(b.out) == 0 {
		switch {
		case b.err != nil:
			return 0, b.err
		case b.events:
			b.line()
		default:
			if b.out, b.err = io.ReadAll(b.in); b.err == nil {
				b.err = io.EOF
				if good := healed(bytes.TrimSpace(bytes.TrimPrefix(b.out, []byte("\uFEFF")))); good != nil {
					b.out = good
				}
			}
		}
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// line reads a line of an event, or part of one.
func (b *healedBody) line() {
	line, err := b.in.ReadSlice('\n')
	whole := !errors.Is(err, bufio.ErrBufferFull)
	if whole {
		b.err = err
	}
	starts := len(b.event) == 0 || b.event[len(b.event)-1] == '\n'
	last := whole && starts && len(bytes.TrimRight(line, "\r\n")) == 0
	if b.event = append(b.event, line...); len(b.event) > b.most {
		b.large = true
	}
	switch {
	case b.large:
		b.out = bytes.Clone(b.event)
		b.event = b.event[:0]
		b.large = !last
	case last:
		b.out, b.event = healedEvent(b.event), nil
	case b.err != nil:
		b.out, b.event = b.event, nil
	}
}

// healedEvent returns an event with a fixed message. An event without one becomes a comment, which readers skip.
func healedEvent(event []byte) []byte {
	var data []byte
	for line := range bytes.Lines(event) {
		line = bytes.TrimRight(line, "\r\n")
		if name, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			if name = bytes.TrimSpace(name); len(name) > 0 && string(name) != "message" {
				return event
			}
		}
		if part, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimSpace(part)...), '\n')
		}
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return event
	}
	var out []byte
	good := healed(data)
	if good == nil {
		var batch []json.RawMessage
		if data[0] == '[' && json.Unmarshal(data, &batch) == nil && len(batch) > 0 && healed(batch[0]) != nil {
			return event
		}
		return []byte(": no message\n\n")
	}
	for line := range bytes.Lines(event) {
		if !bytes.HasPrefix(line, []byte("data:")) && len(bytes.TrimRight(line, "\r\n")) > 0 {
			out = append(out, line...)
		}
	}
	var flat bytes.Buffer
	if json.Compact(&flat, good) != nil { // it was decoded from JSON
		return event
	}
	return append(append(append(out, "data: "...), flat.Bytes()...), "\n\n"...)
}
