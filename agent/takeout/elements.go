package takeout

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// elements reads the values of a JSON list one by one and skips oversized ones. The values aren't validated.
type elements struct {
	in    *bufio.Reader
	at    int64 // bytes that were read
	began bool  // a value was read
}

// begin reports whether there is a list, which it enters, or something else.
func (e *elements) begin() (list bool, err error) {
	b, err := e.peek()
	if err != nil || b != '[' {
		if err == nil && b != '{' {
			err = errors.New("neither a list nor an object")
		}
		return false, err
	}
	e.skip(1)
	return true, nil
}

func (e *elements) skip(n int) {
	_, _ = e.in.Discard(n) // discarding peeked bytes can't fail
	e.at += int64(n)
}

// peek returns the next byte that isn't a space.
func (e *elements) peek() (byte, error) {
	for {
		b, err := e.in.Peek(1)
		if err != nil {
			return 0, ended(err)
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(b[0])) {
			return b[0], nil
		}
		e.skip(1)
	}
}

// ended returns the error about JSON that is cut off.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// next returns the next value: of a list, at whose end neither raw nor large is set, or the only one. An oversized
// value has no content.
func (e *elements) next(list bool) (raw []byte, large bool, err error) {
	b, err := e.peek()
	if err != nil {
		return nil, false, err
	}
	if list {
		if b == ']' {
			e.skip(1)
			return nil, false, nil
		}
		if e.began {
			if b != ',' {
				return nil, false, errors.New("a comma is missing between two conversations")
			}
			e.skip(1)
			if b, err = e.peek(); err != nil {
				return nil, false, err
			}
		}
	}
	if bytes.IndexByte([]byte(",:]}"), b) >= 0 {
		return nil, false, errors.New("a value is missing")
	}
	e.began = true
	v, size := value{}, int64(0)
	for {
		if _, err := e.in.Peek(1); err != nil {
			return nil, false, ended(err)
		}
		part, _ := e.in.Peek(e.in.Buffered()) // peeking buffered bytes can't fail
		n, done := v.take(part)
		if size += int64(n); size > maxConversation {
			raw, large = nil, true
		} else {
			raw = append(raw, part[:n]...)
		}
		e.skip(n)
		if done {
			return raw, large, nil
		}
		if size > maxSkipped {
			return nil, false, ErrTooLarge
		}
	}
}

// value finds the end of a value.
type value struct {
	depth           int
	text, backslash bool // in a string, after a backslash
}

// take returns the length of the input that belongs to the value, and whether the value ends there.
func (v *value) take(p []byte) (n int, done bool) {
	for i := 0; i < len(p); i++ {
		if v.backslash {
			v.backslash = false
			continue
		}
		if v.text { // byte by byte: searching for its end would rescan the rest after each backslash
			switch p[i] {
			case '\\':
				v.backslash = true
			case '"':
				if v.text = false; v.depth == 0 {
					return i + 1, true
				}
			}
			continue
		}
		switch p[i] {
		case ',', ' ', '\t', '\r', '\n':
			if v.depth == 0 { // a number or a word
				return i, true
			}
		case '"':
			v.text = true
		case '{', '[':
			v.depth++
		case '}', ']':
			if v.depth == 0 {
				return i, true
			}
			if v.depth--; v.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(p), false
}
