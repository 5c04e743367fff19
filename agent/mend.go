package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mendDepth limits the nesting of values in mended text.
const mendDepth = 100

var errMend = errors.New("cannot be read as a JSON object")

// Mend repairs a JSON object as models miswrite it: extra commas, single quotes, unquoted names, Python's True and
// None, line ends and unknown escapes inside strings, a surrounding fence, or a string that holds the object. It never
// invents content: with whole, the caller knows that no text is missing, and brackets left open at the end are closed;
// an open string never is. The result is plain JSON.
func Mend(text string, whole bool) (json.RawMessage, error) {
	text = unfenced(strings.TrimSpace(text))
	m := mender{in: text, whole: whole}
	out, err := m.document()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMend, err)
	}
	if out[0] == '"' { // the object may have been encoded twice
		var inner string
		if json.Unmarshal([]byte(out), &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			m = mender{in: strings.TrimSpace(inner), whole: whole}
			if out, err = m.document(); err != nil {
				return nil, fmt.Errorf("%w: %w", errMend, err)
			}
		}
	}
	if out[0] != '{' {
		return nil, errMend
	}
	return compact([]byte(out))
}

// unfenced removes a code fence that encloses all of the text.
func unfenced(s string) string {
	inner, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return s
	}
	if word, rest, more := strings.Cut(inner, "\n"); more && !strings.ContainsAny(word, "{[\"'") {
		inner = rest
	}
	return strings.TrimSpace(inner)
}

// mender reads tolerantly and writes strictly.
type mender struct {
	in    string
	at    int
	whole bool
	out   strings.Builder
}

func (m *mender) document() (string, error) {
	if err := m.value(0); err != nil {
		return "", err
	}
	m.space()
	if m.at < len(m.in) {
		return "", m.fault("something stands behind the end")
	}
	return m.out.String(), nil
}

func (m *mender) fault(what string) error { return fmt.Errorf("%s at byte %d", what, m.at) }

func (m *mender) space() {
	for m.at < len(m.in) && strings.IndexByte(" \t\r\n", m.in[m.at]) >= 0 {
		m.at++
	}
}

func (m *mender) take(c byte) bool {
	m.space()
	if m.at < len(m.in) && m.in[m.at] == c {
		m.at++
		return true
	}
	return false
}

// end reports whether a list or object may end here although its bracket is missing.
func (m *mender) end() bool {
	m.space()
	return m.whole && m.at >= len(m.in)
}

func (m *mender) value(depth int) error {
	m.space()
	if m.at >= len(m.in) {
		return m.fault("a value is missing")
	}
	if depth > mendDepth {
		return m.fault("too many levels")
	}
	switch c := m.in[m.at]; c {
	case '{':
		return m.members('{', '}', func() error { return m.member(depth) })
	case '[':
		return m.members('[', ']', func() error { return m.value(depth + 1) })
	case '"', '\'':
		return m.text(c)
	}
	return m.word()
}

// members reads the members between two brackets; a trailing comma is ignored.
func (m *mender) members(from, to byte, one func() error) error {
	m.at++
	m.out.WriteByte(from)
	for n := 0; ; n++ {
		if m.take(to) || m.end() {
			break
		}
		if n > 0 {
			m.out.WriteByte(',')
		}
		if err := one(); err != nil {
			return err
		}
		if !m.take(',') && !(m.peek(to) || m.end()) {
			return m.fault("a comma is missing")
		}
	}
	m.out.WriteByte(to)
	return nil
}

func (m *mender) peek(c byte) bool {
	m.space()
	return m.at < len(m.in) && m.in[m.at] == c
}

func (m *mender) member(depth int) error {
	m.space()
	var err error
	if m.at < len(m.in) && (m.in[m.at] == '"' || m.in[m.at] == '\'') {
		err = m.text(m.in[m.at])
	} else if name := m.name(); name != "" {
		m.out.WriteString(strconv.Quote(name)) // letters, digits and _ only
	} else {
		err = m.fault("a name is missing")
	}
	if err != nil {
		return err
	}
	if !m.take(':') {
		return m.fault("a colon is missing")
	}
	m.out.WriteByte(':')
	return m.value(depth + 1)
}

// name reads letters, digits and underscores.
func (m *mender) name() string {
	from := m.at
	for m.at < len(m.in) {
		c := m.in[m.at]
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			m.at++
			continue
		}
		break
	}
	return m.in[from:m.at]
}

// word reads a number or a constant.
func (m *mender) word() error {
	from := m.at
	for m.at < len(m.in) && strings.IndexByte(" \t\r\n,:]}", m.in[m.at]) < 0 {
		m.at++
	}
	word := m.in[from:m.at]
	switch word {
	case "True":
		word = "true"
	case "False":
		word = "false"
	case "None", "undefined", "NaN":
		word = "null"
	}
	if !json.Valid([]byte(word)) {
		m.at = from
		return m.fault("not a JSON value")
	}
	if m.at >= len(m.in) && m.in[m.at-1] <= '9' { // there may have been more of a number
		return m.fault("the text ends inside a number")
	}
	m.out.WriteString(word)
	return nil
}

// text reads a string in quotes of either kind.
func (m *mender) text(quote byte) error {
	m.at++
	m.out.WriteByte('"')
	for m.at < len(m.in) {
		c := m.in[m.at]
		switch {
		case c == quote:
			m.at++
			m.out.WriteByte('"')
			return nil
		case c == '\\':
			m.escape()
		case c == '"':
			m.at++
			m.out.WriteString(`\"`)
		case c < ' ':
			m.at++
			fmt.Fprintf(&m.out, `\u%04x`, c)
		default:
			r, n := utf8.DecodeRuneInString(m.in[m.at:])
			m.at += n
			m.out.WriteRune(r)
		}
	}
	return m.fault("a string has no end")
}

// escape copies a valid JSON escape and keeps any other as plain characters.
func (m *mender) escape() {
	rest := m.in[m.at+1:]
	switch {
	case rest == "":
		m.at++ // the string has no end
	case rest[0] == '\'':
		m.at += 2
		m.out.WriteByte('\'')
	case rest[0] == 'u' && len(rest) >= 5 && json.Valid([]byte(`"\`+rest[:5]+`"`)):
		m.out.WriteString(`\` + rest[:5])
		m.at += 6
	case strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0:
		m.out.WriteString(`\` + rest[:1])
		m.at += 2
	case rest[0] == '\n': // a line continuation
		m.at += 2
	default:
		m.at++
		m.out.WriteString(`\\`)
	}
}
