package config

import (
	"fmt"
	"sort"
	"strings"

	"fawn/agent/config/syntax"
)

// ParseEnv reads the lines NAME=value of a .env file. A value may be in 'single quotes', taken literally, or in "double
// quotes" with the escapes \n, \r, \t, \", \\ and \$; both may span lines. "export" before a name and comments after #
// are allowed. Invalid lines are returned as problems and skipped. Values are never expanded.
func ParseEnv(file string, data []byte) (map[string]string, []Problem) {
	p := envParser{rest: strings.TrimPrefix(string(data), "\uFEFF"), line: 1, file: file, out: map[string]string{}}
	for p.rest != "" {
		p.entry()
	}
	return p.out, p.problems
}

type envParser struct {
	rest     string
	line     int
	file     string
	out      map[string]string
	problems []Problem
}

// takeLine removes and returns the rest of the line.
func (p *envParser) takeLine() string {
	line, rest, found := strings.Cut(p.rest, "\n")
	p.rest = rest
	if found {
		p.line++
	}
	return strings.TrimSuffix(line, "\r")
}

func (p *envParser) bad(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{File: p.file, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (p *envParser) entry() {
	at := p.line
	full, _, _ := strings.Cut(p.rest, "\n")
	trimmed := strings.TrimSpace(full)
	if trimmed == "" || strings.HasPrefix(trimmed, "#") {
		p.takeLine()
		return
	}
	head, _, found := strings.Cut(full, "=")
	name := strings.TrimSpace(head)
	if after, ok := strings.CutPrefix(name, "export "); ok {
		name = strings.TrimSpace(after)
	}
	if !found || !syntax.IsVariable(name) {
		p.takeLine()
		p.bad(at, "the line is not NAME=value and is skipped")
		return
	}
	p.rest = strings.TrimLeft(p.rest[len(head)+1:], " \t")
	value := ""
	if p.rest != "" && (p.rest[0] == '"' || p.rest[0] == '\'') {
		quote := p.rest[0]
		inner, used, ok := quoted(p.rest)
		if !ok {
			p.takeLine()
			p.bad(at, "the value of %s has no closing %c and is skipped", name, quote)
			return
		}
		p.line += strings.Count(p.rest[:used], "\n")
		p.rest = p.rest[used:]
		if tail := strings.TrimSpace(p.takeLine()); tail != "" && !strings.HasPrefix(tail, "#") {
			p.bad(at, "there is text after the closing quote of %s; it is ignored", name)
		}
		value = inner
	} else {
		value = p.takeLine()
		if strings.HasPrefix(value, "#") {
			value = ""
		}
		for i := 1; i < len(value); i++ {
			if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') {
				value = value[:i]
				break
			}
		}
		value = strings.TrimSpace(value)
	}
	if strings.ContainsRune(value, 0) {
		p.bad(at, "the value of %s contains a zero byte and is skipped", name)
		return
	}
	p.out[name] = value
}

// quoted reads a quoted text at the start of s and returns its value and its length with the quotes.
func quoted(s string) (value string, used int, ok bool) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == quote:
			return b.String(), i + 1, true
		case c == '\\' && quote == '"' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '$':
				b.WriteByte(s[i])
			default:
				b.WriteByte('\\')
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

// FormatEnv writes values so that ParseEnv reads them back, sorted by name. Names that are not
// variables and values with a zero byte are left out.
func FormatEnv(values map[string]string) []byte {
	names := make([]string, 0, len(values))
	for name, v := range values {
		if syntax.IsVariable(name) && !strings.ContainsRune(v, 0) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s=\"%s\"\n", name, escape.Replace(values[name]))
	}
	return []byte(b.String())
}
