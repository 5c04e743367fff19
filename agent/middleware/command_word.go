package middleware

import (
	"strconv"
	"strings"
)

// writer collects a word.
type writer struct {
	strings.Builder
	subst []subst
}

func (w *writer) add(at int, cmds []simple) { w.subst = append(w.subst, subst{at, cmds}) }

// word reads up to what ends a word.
func (l *lexer) word() word {
	var w writer
	c := l.peek(0)
	bare := c != '\'' && c != '"' && c != '\\' && c != '$'
	for l.step() && l.pos < len(l.src) {
		switch c := l.src[l.pos]; c {
		case ' ', '\t', '\r', '\n', ';', '&', '|', ')':
			return word{w.String(), bare, w.subst}
		case '<', '>':
			if l.peek(1) != '(' {
				return word{w.String(), bare, w.subst}
			}
			l.script(&w, 2)
		case '(':
			if !bare || !strings.HasSuffix(w.String(), "=") {
				return word{w.String(), bare, w.subst}
			}
			l.array(&w)
		case '\\':
			if l.pos++; l.pos < len(l.src) {
				if l.peek(0) != '\n' {
					w.WriteByte(l.src[l.pos])
				}
				l.pos++
			}
		case '\'':
			text, _, found := strings.Cut(l.src[l.pos+1:], "'")
			if !found {
				l.fail()
				break
			}
			w.WriteString(text)
			l.pos += len(text) + 2
		case '"':
			l.pos++
			l.quoted(&w, '"')
		case '`':
			l.backticks(&w)
		case '$':
			l.dollar(&w, false)
		default:
			w.WriteByte(c)
			l.pos++
		}
	}
	return word{w.String(), bare, w.subst}
}

// quoted reads to the closing quote, or to the end when there is none to come.
func (l *lexer) quoted(w *writer, end byte) {
	for l.step() && l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == end:
			l.pos++
			return
		case c == '\\' && strings.IndexByte("$`\"\\\n", l.peek(1)) >= 0 && l.peek(1) != 0:
			if l.peek(1) != '\n' {
				w.WriteByte(l.peek(1))
			}
			l.pos += 2
		case c == '`':
			l.backticks(w)
		case c == '$':
			l.dollar(w, true)
		default:
			w.WriteByte(c)
			l.pos++
		}
	}
	if end != 0 {
		l.fail()
	}
}

// dollar reads what begins with "$".
func (l *lexer) dollar(w *writer, quoted bool) {
	from := l.pos
	switch {
	case l.has("$(("):
		var in writer
		l.pos += 3
		if l.closeArithmetic(&in) {
			for _, s := range in.subst {
				w.add(w.Len()+1, s.cmds)
			}
			w.WriteString(l.since(from))
			return
		}
		if l.failed {
			return
		}
		l.pos = from
		l.script(w, 2)
	case l.has("$("):
		l.script(w, 2)
	case l.has("${"):
		l.braces(w, quoted)
	case l.has("$'") && !quoted:
		l.pos += 2
		l.ansi(w)
	case l.has(`$"`) && !quoted:
		l.pos++
	default:
		w.WriteByte('$')
		l.pos++
	}
}

// script reads a substitution whose opening has n bytes.
func (l *lexer) script(w *writer, n int) {
	from, at := l.pos, w.Len()
	l.pos += n
	cmds := l.commands(true)
	w.add(at, cmds)
	w.WriteString(l.since(from))
}

// closeArithmetic reads to "))". It returns false where something else comes.
func (l *lexer) closeArithmetic(w *writer) bool {
	for open := 0; l.step() && l.pos < len(l.src); {
		switch c := l.src[l.pos]; {
		case c == '(':
			open++
			l.pos++
		case c == ')' && open > 0:
			open--
			l.pos++
		case c == ')':
			if l.peek(1) != ')' {
				return false
			}
			l.pos += 2
			return true
		case c == '\\':
			l.pos += 2
		case c == '"':
			l.pos++
			l.quoted(w, '"')
		case c == '`':
			l.backticks(w)
		case c == '$':
			l.dollar(w, true)
		default:
			l.pos++
		}
	}
	return false
}

// braces reads ${…}.
func (l *lexer) braces(w *writer, quoted bool) {
	w.WriteString("${")
	for l.pos += 2; l.step() && l.pos < len(l.src); {
		switch c := l.src[l.pos]; {
		case c == '}':
			w.WriteByte('}')
			l.pos++
			return
		case c == '\\':
			l.pos += 2
		case c == '\'' && !quoted:
			text, _, found := strings.Cut(l.src[l.pos+1:], "'")
			if !found {
				l.fail()
				return
			}
			w.WriteString(text)
			l.pos += len(text) + 2
		case c == '"':
			l.pos++
			l.quoted(w, '"')
		case c == '`':
			l.backticks(w)
		case c == '$':
			l.dollar(w, true)
		default:
			w.WriteByte(c)
			l.pos++
		}
	}
	l.fail()
}

// array reads the list of name=(…).
func (l *lexer) array(w *writer) {
	for l.pos++; l.step() && l.pos < len(l.src); {
		switch l.src[l.pos] {
		case ')':
			l.pos++
			return
		case ' ', '\t', '\r', '\n':
			l.pos++
		default:
			from := l.pos
			item := l.word()
			if l.pos == from {
				l.fail()
			}
			w.WriteByte(' ')
			for _, s := range item.subst {
				w.add(w.Len(), s.cmds)
			}
			w.WriteString(item.text)
		}
	}
	l.fail()
}

// backticks reads `…`, where a backslash only escapes what it must.
func (l *lexer) backticks(w *writer) {
	from := l.pos
	var body strings.Builder
	for l.pos++; l.step() && l.pos < len(l.src); l.pos++ {
		c := l.src[l.pos]
		if c == '`' {
			l.pos++
			in := l.within(body.String())
			w.add(w.Len(), in.commands(false))
			w.WriteString(l.since(from))
			l.leave(in)
			return
		}
		if n := l.peek(1); c == '\\' && (n == '`' || n == '\\' || n == '$') {
			l.pos++
			c = n
		}
		body.WriteByte(c)
	}
	l.fail()
}

// within starts on another text under the limits of this one; leave takes over what it used.
func (l *lexer) within(src string) *lexer { return &lexer{src: src, depth: l.depth, steps: l.steps} }

func (l *lexer) leave(in *lexer) {
	if l.steps = in.steps; in.failed {
		l.fail()
	}
}

// ansi reads the rest of $'…', whose escapes can spell any character.
func (l *lexer) ansi(w *writer) {
	for l.step() && l.pos < len(l.src) {
		c := l.src[l.pos]
		l.pos++
		switch {
		case c == '\'':
			return
		case c != '\\' || l.pos == len(l.src):
			w.WriteByte(c)
		default:
			l.escape(w)
		}
	}
	l.fail()
}

// escape reads what follows a backslash in $'…'.
func (l *lexer) escape(w *writer) {
	c := l.src[l.pos]
	l.pos++
	base, digits := 16, 0
	switch c {
	case 'n':
		w.WriteByte('\n')
		return
	case 't':
		w.WriteByte('\t')
		return
	case 'r':
		w.WriteByte('\r')
		return
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '0', '1', '2', '3', '4', '5', '6', '7':
		base, digits = 8, 3
		l.pos--
	default:
		w.WriteByte(c)
		return
	}
	n, value := 0, uint64(0)
	for n < digits && n < len(l.src)-l.pos {
		v, err := strconv.ParseUint(l.src[l.pos:l.pos+n+1], base, 32)
		if err != nil {
			break
		}
		value, n = v, n+1
	}
	l.pos += n
	if c == 'u' || c == 'U' {
		w.WriteRune(rune(value))
		return
	}
	w.WriteByte(byte(value))
}
