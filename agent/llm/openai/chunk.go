package openai

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// quick is the result of [scan]. The byte slices point into the scanned data.
type quick struct {
	text      string
	reasoning string
	finish    string
	model     []byte
	usage     []byte
}

// scan reads the common form of a chunk, one choice with text or reasoning, without the cost of a general decoder. It
// returns false for anything else, including broken JSON, which encoding/json then decodes.
func scan(data []byte, q *quick) bool {
	s, chosen := scanner{b: data}, false
	ok := s.object(func(key []byte) bool {
		switch string(key) {
		case "model":
			raw, escaped, ok := s.string()
			q.model = raw
			return ok && !escaped
		case "choices":
			if chosen {
				return false // leave duplicate lists to encoding/json
			}
			chosen = true
			return s.choices(q)
		case "usage":
			from := s.i
			if !s.skip() {
				return false
			}
			if q.usage = data[from:s.i]; string(q.usage) == "null" {
				q.usage = nil
			}
			return true
		case "error", "errors", "message", "detail", "extra_content":
			return s.null()
		case "base_resp":
			return false // may hold a failure
		}
		return s.skip()
	})
	if !ok || !chosen { // a chunk without a choice may be an error
		return false
	}
	s.space()
	return s.i == len(data)
}

type scanner struct {
	b []byte
	i int
}

func (s *scanner) choices(q *quick) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	ok := s.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			from := s.i
			return s.literal() && string(s.b[from:s.i]) == "0"
		case "delta":
			return s.delta(q)
		case "finish_reason":
			return s.text(&q.finish)
		case "message", "text", "usage", "error", "extra_content":
			return s.null()
		}
		return s.skip()
	})
	return ok && s.take(']')
}

func (s *scanner) delta(q *quick) bool {
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "content":
			return s.text(&q.text)
		case "reasoning_content", "reasoning":
			return s.text(&q.reasoning)
		case "role":
			return s.skip()
		}
		return s.null()
	})
}

// object walks an object; field reads the value at the scanner. Keys that encoding/json would match in a different case
// are left to it.
func (s *scanner) object(field func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		s.space()
		key, escaped, ok := s.string()
		if !ok || escaped {
			return false
		}
		for _, c := range key {
			if c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
				return false
			}
		}
		if !s.take(':') {
			return false
		}
		s.space()
		if !field(key) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) null() bool {
	if len(s.b)-s.i >= 4 && string(s.b[s.i:s.i+4]) == "null" {
		s.i += 4
		return true
	}
	return false
}

// text reads a string or null. Duplicate fields are left to encoding/json.
func (s *scanner) text(to *string) bool {
	if s.null() {
		return true
	}
	raw, escaped, ok := s.string()
	if !ok || *to != "" {
		return false
	}
	switch {
	case escaped:
		*to, ok = unescape(raw, false)
		return ok
	case !utf8.Valid(raw):
		return false
	}
	*to = string(raw)
	return true
}

// string reads a string and returns the bytes between the quotes.
func (s *scanner) string() (raw []byte, escaped, ok bool) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return nil, false, false
	}
	b, ascii := s.b, true
	for i := s.i + 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			raw = b[s.i+1 : i]
			if !ascii && !utf8.Valid(raw) { // encoding/json repairs it
				return nil, false, false
			}
			s.i = i + 1
			return raw, escaped, true
		case c >= utf8.RuneSelf:
			ascii = false
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// skip skips any value.
func (s *scanner) skip() bool {
	depth := 0
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case '"':
			if _, _, ok := s.string(); !ok {
				return false
			}
		case '{', '[':
			depth++
			s.i++
			continue
		case '}', ']':
			depth--
			s.i++
			if depth < 0 {
				return false
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return false
			}
			s.i++
			continue
		default:
			if !s.literal() {
				return false
			}
		}
		if depth == 0 {
			return true
		}
	}
	return false
}

// literal skips a number, true, false or null.
func (s *scanner) literal() bool {
	from := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E' {
			s.i++
			continue
		}
		break
	}
	return s.i > from
}

// unescape resolves the escapes of a JSON string's inside; false leaves it to encoding/json. With
// halves, half of a character stays, as invalid UTF-8.
func unescape(raw []byte, halves bool) (string, bool) {
	if !halves && !utf8.Valid(raw) {
		return "", false
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++
		if i >= len(raw) {
			return "", false
		}
		switch raw[i] {
		case '"', '\\', '/':
			out = append(out, raw[i])
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, n, ok := unit(raw[i+1:])
			if !ok || utf16.IsSurrogate(r) && !halves {
				return "", false
			}
			i += n
			out = appendUnit(out, r)
		default:
			return "", false
		}
	}
	return string(out), true
}

// unit reads the digits after \u: four, and six bytes more for the second half of a surrogate pair.
func unit(raw []byte) (r rune, n int, ok bool) {
	if r, ok = hex4(raw, 0); !ok || !utf16.IsSurrogate(r) || len(raw) < 6 || raw[4] != '\\' || raw[5] != 'u' {
		return r, 4, ok
	}
	if low, is := hex4(raw, 6); is {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 10, true
		}
	}
	return r, 4, true
}

func hex4(raw []byte, at int) (rune, bool) {
	if at+4 > len(raw) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[at:at+4]), 16, 32)
	return rune(n), err == nil
}
