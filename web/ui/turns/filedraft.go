package turns

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"fawn/sandbox/files"
	"fawn/views"
)

// writeTool is the tool whose files are shown while they are written.
const writeTool = "write_file"

// maxWriting limits the shown part of a file being written, in bytes.
const maxWriting = 256 << 10

// Writing is a file in the arguments of a call, as far as the model has written it.
type Writing struct {
	Path  string // clean and virtual
	Text  string
	units int // length of text as browsers count
}

// contentReader reads the string field content out of JSON arguments that arrive piece by
// piece. Its work for a piece depends on the piece.
type contentReader struct {
	depth     int
	inString  bool
	isKey     bool // the next string of the object is a key
	escape    []byte
	key       []byte
	capturing bool
	high      rune // first half of a surrogate pair
	text      strings.Builder
	units     int
	full      bool
}

func (r *contentReader) feed(s string) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case !r.inString:
			r.structure(c)
		case len(r.escape) > 0:
			r.escaped(c)
		case c == '\\':
			r.escape = append(r.escape, c)
		case c == '"':
			r.inString, r.capturing = false, false
		default:
			r.put(c)
		}
	}
}

func (r *contentReader) structure(c byte) {
	switch c {
	case '{', '[':
		r.depth++
		r.isKey = c == '{'
	case '}', ']':
		r.depth--
	case ',':
		r.isKey = true
	case ':':
		r.isKey = false
	case '"':
		r.inString = true
		if r.isKey && r.depth == 1 {
			r.key = r.key[:0]
		}
		r.capturing = !r.isKey && r.depth == 1 && string(r.key) == "content"
	}
}

// escaped takes a byte of an escape sequence.
func (r *contentReader) escaped(c byte) {
	r.escape = append(r.escape, c)
	if r.escape[1] == 'u' && len(r.escape) < 6 {
		return
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(r.escape)+`"`), &s) != nil {
		s = "\uFFFD"
	}
	if r.escape[1] == 'u' && r.capturing {
		r.unit(r.escape[2:])
	} else {
		for i := range len(s) {
			r.put(s[i])
		}
	}
	r.escape = r.escape[:0]
}

// unit parses one \u escape, two of which may form a character.
func (r *contentReader) unit(hex []byte) {
	var u rune
	for _, c := range hex {
		u <<= 4
		switch {
		case c >= '0' && c <= '9':
			u |= rune(c - '0')
		case c|32 >= 'a' && c|32 <= 'f':
			u |= rune(c|32-'a') + 10
		}
	}
	if utf16.IsSurrogate(u) && r.high == 0 {
		r.high = u
		return
	}
	if r.high != 0 {
		u = utf16.DecodeRune(r.high, u)
		r.high = 0
	}
	for _, c := range []byte(string(u)) {
		r.put(c)
	}
}

// put takes a byte of a string.
func (r *contentReader) put(c byte) {
	switch {
	case r.isKey:
		if len(r.key) < 64 {
			r.key = append(r.key, c)
		}
	case r.capturing && !r.full:
		if r.full = r.text.Len() >= maxWriting && utf8.RuneStart(c); r.full {
			return
		}
		r.text.WriteByte(c)
		if utf8.RuneStart(c) {
			r.units++
		}
		if c >= 0xf0 { // outside of the plane that one unit reaches
			r.units++
		}
	}
}

// read takes a piece of the arguments and reports whether a file can be shown.
func (c *openCall) read(args string) bool {
	if c.name != writeTool {
		return false
	}
	c.content.feed(args)
	if c.path == "" && c.content.text.Len() > 0 {
		var a struct {
			Path string `json:"path"`
		}
		if json.Unmarshal(wholeFields(c.args), &a) == nil && a.Path != "" {
			if clean, err := files.Clean(a.Path); err == nil {
				c.path = strings.TrimPrefix(clean, "/")
			}
		}
	}
	return c.path != ""
}

// Writing returns the file that the model writes now, or has written and the tool not yet.
func (b *Builder) Writing() (w Writing) {
	if c := b.writes; c != nil {
		w = Writing{Path: c.path, Text: c.content.text.String(), units: c.content.units}
	}
	return w
}

// Growth returns the change of a growing file since was, nil if nothing changed.
func Growth(was, now Writing) *views.FileGrowth {
	switch {
	case now.Path == "" && was.Path != "":
		return &views.FileGrowth{Path: was.Path, At: -1}
	case now.Path == "":
		return nil
	case now.Path != was.Path || len(now.Text) < len(was.Text):
		return &views.FileGrowth{Path: now.Path, Text: now.Text}
	case len(now.Text) > len(was.Text):
		return &views.FileGrowth{Path: now.Path, At: was.units, Text: now.Text[len(was.Text):]}
	}
	return nil
}
