package syntax

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// ErrInvalid is matched by every error about the content of a configuration file.
var ErrInvalid = errors.New("invalid configuration")

// Problem is something to mend at one place of a file.
type Problem struct {
	File    string // in the owner's terms
	Line    int    // from 1; 0 = the file as a whole
	Column  int    // from 1, in characters; 0 = the line as a whole
	Message string // one sentence without a full stop
	Excerpt string // the line itself, secrets masked; may be empty
}

// Place returns file:line:column as far as known.
func (p Problem) Place() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// String returns place and message on one line, then the source line with a caret under the place.
func (p Problem) String() string {
	out := p.Message
	if place := p.Place(); place != "" {
		out = place + ": " + out
	}
	if p.Excerpt == "" {
		return out
	}
	out += "\n    " + p.Excerpt
	if p.Column > 0 && p.Column <= utf8.RuneCountInString(p.Excerpt)+1 {
		out += "\n    " + strings.Repeat(" ", p.Column-1) + "^"
	}
	return out
}

// Invalid is the error for configuration that cannot be used. It matches ErrInvalid.
type Invalid struct {
	Problems []Problem // at least one, in the order found
}

// maxShown limits the problems reported together; later ones usually follow from the first.
const maxShown = 10

// Error lists the problems, one after the other.
func (e *Invalid) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i == maxShown {
			fmt.Fprintf(&b, "\nand %d more", len(e.Problems)-maxShown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *Invalid) Unwrap() error { return ErrInvalid }

// Source is one file that was read.
type Source struct {
	Label string // kind of file, for Origin
	Name  string // path in the owner's terms
	Data  []byte
}

func (s *Source) problem(line, col int, format string, args ...any) Problem {
	return Problem{File: s.Name, Line: line, Column: col, Message: fmt.Sprintf(format, args...),
		Excerpt: s.excerpt(line)}
}

// Fail returns an error about one place.
func (s *Source) Fail(line, col int, format string, args ...any) error {
	return &Invalid{Problems: []Problem{s.problem(line, col, format, args...)}}
}

// maskPairs masks secret values on a line with several keys, and addresses with an embedded password.
func maskPairs(line string) string {
	pair := regexp.MustCompile(`([\w-]+)(["']?\s*:\s+|["']:)("[^"]*"|'[^']*'|[^\s,{}\[\]]+)`)
	return pair.ReplaceAllStringFunc(line, func(found string) string {
		part := pair.FindStringSubmatch(found)
		secret := SecretKey(part[1]) && !strings.HasPrefix(part[3], "$") && part[3] != Mask
		if secret || strings.Contains(part[3], "://") && strings.Contains(part[3], "@") {
			return part[1] + part[2] + Mask
		}
		return found
	})
}

// excerpt returns one line of the file fit for a terminal, with the value of a secret key masked.
func (s *Source) excerpt(line int) string {
	if line < 1 {
		return ""
	}
	rest := string(s.Data)
	for i := 1; i < line; i++ {
		_, after, found := strings.Cut(rest, "\n")
		if !found {
			return ""
		}
		rest = after
	}
	text, _, _ := strings.Cut(rest, "\n")
	text = strings.ToValidUTF8(strings.TrimRight(text, "\r "), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r == '\t' || r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	key, value, found := strings.Cut(text, ":")
	if value = strings.TrimSpace(value); found && value != "" && !strings.HasPrefix(value, "$") &&
		SecretKey(strings.Trim(key, " -\"'{")) {
		text = text[:strings.LastIndex(text, value)] + Mask
	}
	text = maskPairs(text)
	if r := []rune(text); len(r) > 160 {
		text = string(r[:160])
	}
	return text
}
