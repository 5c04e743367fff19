package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"fawn/agent"
)

// The types below also accept a field of another JSON type: a meaningful value is used, and others count as absent.

// wireWord is a short text: a string, a number in its written form, or nothing.
type wireWord string

// UnmarshalJSON reads any value.
func (w *wireWord) UnmarshalJSON(b []byte) error {
	*w = ""
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(w))
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*w = wireWord(b)
	}
	return nil
}

// wireIndex is a list index, which may be encoded as text.
type wireIndex struct {
	at  int
	set bool
}

// UnmarshalJSON reads any value.
func (w *wireIndex) UnmarshalJSON(b []byte) error {
	*w = wireIndex{}
	if f, ok := number(b); ok && f >= 0 && f < 1<<20 {
		*w = wireIndex{int(f), true}
	}
	return nil
}

// wireCount is a count of tokens.
type wireCount int

// UnmarshalJSON reads any value.
func (w *wireCount) UnmarshalJSON(b []byte) error {
	*w = 0
	if f, ok := number(b); ok && f > 0 && f < math.MaxInt32 {
		*w = wireCount(f)
	}
	return nil
}

// number reads a JSON number, or a text that holds one.
func number(b []byte) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(b), `"`)), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// wireList is a list, or the only element of one, or a map of them.
type wireList[T any] []T

// UnmarshalJSON reads any value. An element of another type than expected is left out.
func (w *wireList[T]) UnmarshalJSON(b []byte) error {
	*w = nil
	var parts []json.RawMessage
	switch b[0] {
	case '[':
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		*w = make(wireList[T], 0, len(parts))
	case '{':
		parts = []json.RawMessage{b}
	}
	for _, raw := range parts {
		var v T
		if json.Unmarshal(raw, &v) == nil && string(raw) != "null" {
			*w = append(*w, v)
		}
	}
	return nil
}

// wireMaybe is an object that counts as empty if it has another type.
type wireMaybe[T any] struct{ v T }

// UnmarshalJSON reads any value.
func (w *wireMaybe[T]) UnmarshalJSON(b []byte) error {
	var v T
	if b[0] != '{' || json.Unmarshal(b, &v) == nil {
		w.v = v
	} else {
		*w = wireMaybe[T]{}
	}
	return nil
}

// wireText is a string, or a list of text blocks as some servers send. A split character at its end is kept until
// [halves] joins the two parts.
type wireText string

// UnmarshalJSON accepts either form; anything else counts as no text.
func (t *wireText) UnmarshalJSON(b []byte) error {
	*t = ""
	switch b[0] {
	case '"':
		if s, ok := unquoted(b); ok {
			*t = wireText(s)
			return nil
		}
		return json.Unmarshal(b, (*string)(t))
	case '[', '{':
		var c agent.Content
		if c.UnmarshalJSON(b) == nil {
			*t = wireText(c.String())
		}
		if *t == "" && b[0] == '{' {
			var one struct {
				Text  wireWord `json:"text"`
				Value wireWord `json:"value"`
			}
			if json.Unmarshal(b, &one) == nil {
				*t = wireText(one.Text + one.Value)
			}
		}
	}
	return nil
}

// unquoted reads a JSON string that contains half of a character, as invalid UTF-8; false for all
// others.
func unquoted(b []byte) (string, bool) {
	inside := b[1 : len(b)-1]
	if !bytes.Contains(inside, []byte(`\ud`)) && !bytes.Contains(inside, []byte(`\uD`)) && utf8.Valid(inside) {
		return "", false
	}
	return unescape(inside, true)
}

// appendUnit appends a UTF-16 unit; half of a pair becomes three bytes of invalid UTF-8.
func appendUnit(to []byte, r rune) []byte {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(to, r)
	}
	return append(to, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
}

// halves joins characters that a server cut in two between pieces of an answer.
type halves struct{ held string }

// join returns the complete characters of the text so far; with last, also an incomplete rest.
func (h *halves) join(s string, last bool) string {
	if h.held == "" && utf8.ValidString(s) {
		return s
	}
	s = h.held + s
	h.held = ""
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			out = append(out, s[i:i+n]...)
			i += n
			continue
		}
		unit, is := unitAt(s[i:])
		low, pair := rune(0), false
		if is && len(s) >= i+6 {
			low, pair = unitAt(s[i+3:])
		}
		if is && pair {
			if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
				out = utf8.AppendRune(out, r)
				i += 6
				continue
			}
		}
		if rest := s[i:]; !last && (is && unit < 0xdc00 && len(rest) < 6 || len(rest) < utf8.UTFMax && !utf8.FullRuneInString(rest)) {
			h.held = rest
			break
		}
		out = utf8.AppendRune(out, utf8.RuneError)
		if i++; is {
			i += 2
		}
	}
	return string(out)
}

// unitAt reads half of a pair as [appendUnit] writes it.
func unitAt(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}
