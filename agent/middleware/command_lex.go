package middleware

import "strings"

// simple is one simple command of a shell script with the operators around it.
type simple struct {
	before, after string // ";", "\n", "&", "&&", "||", "|", "(", ")", "()" or "" at an end of the script
	words         []word
	redirects     []*redirect
}

// word is one word of a command.
type word struct {
	text  string  // quotes and escapes resolved; what the shell would replace is as written
	bare  bool    // it starts without a quote, so it can be a keyword or an assignment
	subst []subst // scripts whose output becomes part of it
}

// subst is a script inside a word: $(…), `…`, <(…) or >(…).
type subst struct {
	at   int // where it stands in the text of its word
	cmds []simple
}

// redirect sends a file, or text given in place, to or from a command.
type redirect struct {
	op     string // as written, without a number in front
	target word
	body   string // of a here-document
}

const (
	maxLexDepth = 40
	maxLexSteps = 400_000
)

// lexer reads shell scripts as far as telling commands from data needs it. It fails on
// what the shell would refuse, such as an unclosed quote, and on nesting or work beyond
// its limits.
type lexer struct {
	src     string
	pos     int
	depth   int
	steps   int
	failed  bool
	pending []*heredoc // here-documents whose text starts at the next line
	kept    int        // top-level commands on lines that are complete
	keptPos int        // where those lines end
}

type heredoc struct {
	end      string
	tabs     bool // <<-: tabs in front of lines do not count
	literal  bool // nothing in it is replaced
	redirect *redirect
}

// lexShell splits a script. When ok is false, cmds are the commands of its complete lines
// and rest is the text that could not be read.
func lexShell(src string) (cmds []simple, rest string, ok bool) {
	l := &lexer{src: src}
	cmds = l.commands(false)
	if l.failed {
		return cmds[:min(l.kept, len(cmds))], src[l.keptPos:], false
	}
	return cmds, "", true
}

func (l *lexer) fail() { l.failed, l.pos = true, len(l.src) }

// peek is the byte n places ahead, 0 at the end.
func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

func (l *lexer) has(prefix string) bool { return strings.HasPrefix(l.src[l.pos:], prefix) }

// step counts work: text that can be read in two ways is read twice at each level.
func (l *lexer) step() bool {
	if l.steps++; l.steps > maxLexSteps {
		l.fail()
	}
	return !l.failed
}

// since is what was read from a place on. Giving up may have left pos behind the end.
func (l *lexer) since(from int) string { return l.src[from:min(l.pos, len(l.src))] }

// commands reads up to the end, or up to the parenthesis that closes a substitution.
func (l *lexer) commands(inner bool) []simple {
	if l.depth++; l.depth > maxLexDepth {
		l.fail()
	}
	defer func() { l.depth-- }()
	var out []simple
	cur, parens := &simple{}, 0
	end := func(op string, n int) {
		cur.after = op
		out = append(out, *cur)
		cur = &simple{before: op}
		l.pos += n
	}
	for l.step() && l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case l.has("\\\n"):
			l.pos += 2
		case c == '\n':
			if len(cur.words)+len(cur.redirects) == 0 && (cur.before == "|" || cur.before == "&&" || cur.before == "||") {
				l.pos++ // the command goes on
				l.heredocs()
				continue
			}
			end("\n", 1)
			l.heredocs()
			if !inner && !l.failed {
				l.kept, l.keptPos = len(out), l.pos
			}
		case c == '#':
			for l.pos < len(l.src) && l.src[l.pos] != '\n' {
				l.pos++
			}
		case c == ';':
			n := 1
			for n < 3 && (l.peek(n) == ';' || l.peek(n) == '&') {
				n++
			}
			end(strings.Repeat(";", min(n, 2)), n)
		case l.has("&>>"), l.has("&>"), l.has("<") && !l.has("<("), l.has(">") && !l.has(">("), l.numbered():
			l.redirect(cur)
		case l.has("&&"), l.has("||"):
			end(l.src[l.pos:l.pos+2], 2)
		case l.has("|&"):
			end("|", 2)
		case c == '&' || c == '|':
			end(string(c), 1)
		case c == '(':
			switch {
			case casePattern(out, cur):
				l.pos++
			case l.function(cur):
				end("()", 0)
			case l.has("((") && l.arithmeticStart(cur) && l.arithmetic(cur):
			default:
				parens++
				end("(", 1)
			}
		case c == ')':
			switch {
			case parens > 0:
				parens--
				end(")", 1)
			case inner && !l.inCase(out, cur):
				l.pos++
				return append(out, *cur)
			default: // the end of a pattern of case
				for cur.before == "|" && len(out) > 0 {
					cur.before = out[len(out)-1].before
					out = out[:len(out)-1]
				}
				cur.words = nil
				end(";", 1)
			}
		default:
			cur.words = append(cur.words, l.word())
		}
	}
	if inner && !l.failed {
		l.fail()
	}
	if !l.failed {
		l.heredocs()
	}
	return append(out, *cur)
}

// numbered tells whether a redirection with a number in front comes, such as 2>.
func (l *lexer) numbered() bool {
	n := 0
	for c := l.peek(n); c >= '0' && c <= '9'; c = l.peek(n) {
		n++
	}
	return n > 0 && (l.peek(n) == '<' || l.peek(n) == '>')
}

// casePattern tells whether a parenthesis opens a pattern of case.
func casePattern(out []simple, cur *simple) bool {
	if len(cur.words) > 0 {
		return opensCase(*cur)
	}
	before := cur.before
	for i := len(out) - 1; i >= 0 && before == "\n"; i-- {
		if len(out[i].words) > 0 {
			return opensCase(out[i])
		}
		before = out[i].before
	}
	return before == ";;"
}

func opensCase(c simple) bool {
	n := len(c.words)
	return n > 1 && c.words[0].bare && c.words[0].text == "case" && c.words[n-1].text == "in"
}

// inCase tells whether a case has been opened and not closed in this list.
func (l *lexer) inCase(out []simple, cur *simple) bool {
	l.steps += len(out)
	open := 0
	count := func(words []word) {
		for i, w := range words {
			switch {
			case w.bare && w.text == "case" && (i == 0 || keyword(words[i-1])):
				open++
			case w.bare && w.text == "esac" && i == 0:
				open--
			}
		}
	}
	for _, c := range out {
		count(c.words)
	}
	count(cur.words)
	return open > 0
}

// function reads the parentheses of "name ()".
func (l *lexer) function(cur *simple) bool {
	n := 1
	for l.peek(n) == ' ' || l.peek(n) == '\t' {
		n++
	}
	if l.peek(n) != ')' || len(cur.words) == 0 || len(cur.words) > 2 || len(cur.words) == 2 && cur.words[0].text != "function" {
		return false
	}
	l.pos += n + 1
	return true
}

// arithmeticStart tells whether "((" can stand here as a command of its own.
func (l *lexer) arithmeticStart(cur *simple) bool {
	for _, w := range cur.words {
		if !keyword(w) && w.text != "for" {
			return false
		}
	}
	return true
}

// arithmetic reads (( … )), or nothing when it is something else.
func (l *lexer) arithmetic(cur *simple) bool {
	from := l.pos
	var w writer
	l.pos += 2
	if !l.closeArithmetic(&w) {
		if !l.failed {
			l.pos = from
		}
		return false
	}
	cur.words = append(cur.words, word{text: l.since(from), bare: true, subst: w.subst})
	return true
}

// redirect reads an operator with its target.
func (l *lexer) redirect(cur *simple) {
	for c := l.peek(0); c >= '0' && c <= '9'; c = l.peek(0) {
		l.pos++
	}
	op := ""
	for _, o := range []string{"&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">|", ">&", ">"} {
		if l.has(o) {
			op = o
			break
		}
	}
	l.pos += len(op)
	for c := l.peek(0); c == ' ' || c == '\t' || l.has("\\\n"); c = l.peek(0) {
		if c == '\\' {
			l.pos++
		}
		l.pos++
	}
	from := l.pos
	r := &redirect{op: op, target: l.word()}
	cur.redirects = append(cur.redirects, r)
	if op == "<<" || op == "<<-" {
		h := &heredoc{end: r.target.text, tabs: op == "<<-", literal: strings.ContainsAny(l.since(from), `"'\`), redirect: r}
		r.target = word{}
		l.pending = append(l.pending, h)
	}
}

// heredocs reads the texts that start at this line.
func (l *lexer) heredocs() {
	for _, h := range l.pending {
		var body strings.Builder
		for l.pos < len(l.src) && l.step() {
			line, _, found := strings.Cut(l.src[l.pos:], "\n")
			l.pos += len(line)
			if found {
				l.pos++
			}
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				break
			}
			body.WriteString(line + "\n")
		}
		h.redirect.body = body.String()
		if !h.literal {
			in := l.within(h.redirect.body)
			var w writer
			in.quoted(&w, 0)
			h.redirect.target.subst = w.subst
			l.leave(in)
		}
	}
	l.pending = nil
}
