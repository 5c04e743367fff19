package command

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxAttempts limits the parsing attempts of a text with errors.
const maxAttempts = 8

// script judges the text of a shell script. Text the parser rejects is judged by [unread], and parsing continues after
// it, as the shell also runs the lines around an error.
func (j *judge) script(text string) {
	defer func() { j.depth-- }()
	if j.depth++; j.depth > maxDepth {
		j.no("too many commands inside commands")
	}
	for attempt := 0; !j.tooComplex(len(text)); attempt++ {
		stmts, at, err := parse(text)
		mended, ok := mend(text, at)
		if err != nil && ok && attempt < maxAttempts {
			text = mended
			continue
		}
		for _, s := range stmts {
			j.node(s)
		}
		if err == nil {
			return
		}
		j.unread(text)
		_, rest, ok := strings.Cut(text[at:], "\n")
		if !ok || attempt >= maxAttempts {
			return
		}
		text = rest
	}
}

// parse reads a script: the statements before an error, and its position.
func parse(text string) (stmts []*syntax.Stmt, at int, err error) {
	for s, bad := range syntax.NewParser().StmtsSeq(strings.NewReader(text)) {
		switch { // the sequence may continue after an error, so keep it consistent
		case bad != nil:
			err = cmp.Or(err, bad)
		case err == nil:
			stmts = append(stmts, s)
		}
	}
	var wrong syntax.ParseError
	var dialect syntax.LangError
	switch {
	case err == nil:
		return stmts, len(text), nil
	case errors.As(err, &wrong):
		at = int(wrong.Pos.Offset())
	case errors.As(err, &dialect):
		at = int(dialect.Pos.Offset())
	}
	return stmts, min(at, len(text)), err
}

// mend fixes text that only the parser rejects: a here-document without its end, and "((" that opens two subshells.
func mend(text string, at int) (string, bool) {
	if rest, ok := strings.CutPrefix(text[at:], "<<"); ok {
		rest = strings.TrimLeft(rest, "- \t")
		if n := strings.IndexAny(rest, " \t\r\n;&|<>()"); n >= 0 {
			rest = rest[:n]
		}
		end := strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(rest)
		return text + "\n" + end + "\n", end != ""
	}
	if n := strings.LastIndex(text[:min(at+2, len(text))], "(("); n >= 0 {
		return text[:n+1] + " " + text[n+1:], true
	}
	return "", false
}

// node judges all that is below a node of the syntax tree.
func (j *judge) node(top syntax.Node) {
	syntax.Walk(top, func(n syntax.Node) bool {
		if n == nil || j.tooComplex(1) {
			return false
		}
		switch n := n.(type) {
		case *syntax.Stmt:
			for _, r := range n.Redirs {
				j.redirect(r, n)
			}
		case *syntax.Redirect:
			j.node(n.Word)
			if n.Hdoc != nil { // its text is data, its expansions are not
				for _, part := range n.Hdoc.Parts {
					j.node(part)
				}
			}
			return false
		case *syntax.CallExpr:
			j.call(j.resolve(n))
		case *syntax.DeclClause:
			j.call(j.declared(n))
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				j.pipe(n)
			}
		case *syntax.ProcSubst:
			if n.Op == syntax.CmdOut {
				j.feeds(n)
			}
		case *syntax.FuncDecl:
			if n.Name != nil && j.startsItself(n.Name.Value, n.Body) {
				j.no(multiplies)
			}
		case *syntax.WhileClause:
			if len(n.Cond) == 1 && forever(n) && waitless(n.Do) {
				j.no(multiplies)
			}
		case *syntax.ForClause:
			if loop, ok := n.Loop.(*syntax.CStyleLoop); ok && loop.Cond == nil && waitless(n.Do) {
				j.no(multiplies)
			}
		case *syntax.Assign:
			if n.Name != nil && !n.Naked && preloads(n.Name.Value+"=") {
				j.no(preloading)
			}
		case *syntax.LetClause, *syntax.TestClause, *syntax.ArithmCmd:
			j.computed(n)
		case *syntax.Word:
			j.text(j.render(n).text)
		}
		return true
	})
}

// computed judges the words that the shell works out as arithmetic.
func (j *judge) computed(top syntax.Node) {
	syntax.Walk(top, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			j.subscripts(j.render(w).text)
			return false
		}
		return n != nil && !j.tooComplex(1)
	})
}

// text judges a word, or a program in another language, by its content.
func (j *judge) text(s string) {
	if strings.Contains(s, "/dev/tcp/") || strings.Contains(s, "/dev/udp/") {
		j.no("a network connection opened by the shell")
	}
	if environment(s) {
		j.no("reading the environment of a process")
	}
	if preloads(s) {
		j.no(preloading)
	}
}

// pipe judges the data flow between two commands.
func (j *judge) pipe(b *syntax.BinaryCmd) {
	from := b.X
	for in, ok := from.Cmd.(*syntax.BinaryCmd); ok && (in.Op == syntax.Pipe || in.Op == syntax.PipeAll); in,
		ok = from.Cmd.(*syntax.BinaryCmd) {
		from = in.Y
	}
	for c := range j.calls(from) {
		if c.name == "base64" && c.flag("dD", "--decode") {
			j.no("decoded data piped into a program")
		}
	}
	if simple, ok := b.Y.Cmd.(*syntax.CallExpr); ok {
		if c := j.resolve(simple); isShell(c.name) && !slices.Contains(c.through, "xargs") {
			j.no(piped)
		}
	}
	j.feeds(b.Y)
}

const piped = "output piped into a shell"

// feeds judges commands that are fed the output of others.
func (j *judge) feeds(n syntax.Node) {
	for c := range j.calls(n) {
		if c.readsScript() {
			j.no(piped)
		}
	}
}

// calls returns the simple commands of a statement, except those in words and functions.
func (j *judge) calls(top syntax.Node) iter.Seq[call] {
	return func(yield func(call) bool) {
		more := true
		syntax.Walk(top, func(n syntax.Node) bool {
			if n == nil || !more || j.tooComplex(1) {
				return false
			}
			switch n := n.(type) {
			case *syntax.Word, *syntax.Assign, *syntax.Redirect, *syntax.FuncDecl:
				return false
			case *syntax.CallExpr:
				more = yield(j.resolve(n))
			}
			return more
		})
	}
}

// unread judges text that isn't a valid script. It assumes a command wherever one could start: the
// shell may stop reading elsewhere.
func (j *judge) unread(text string) {
	plain := strings.NewReplacer(`"`, "", `'`, "", `\`, "", "`", "$(").Replace(text)
	var last []string
	for before, start, i := byte(0), 0, 0; i <= len(plain); i++ {
		if i < len(plain) && strings.IndexByte(";&|()\n", plain[i]) < 0 {
			continue
		}
		said := strings.Fields(plain[start:i])
		words := make([]word, len(said))
		for n, text := range said {
			words[n].text = text
		}
		for n := range words {
			if j.tooComplex(1) {
				return
			}
			j.guess(words[n:], before, n == 0 || opens(words[n-1].text))
		}
		if before == '(' && fetches(resolve(nil, words).name) && runsNext(last) {
			j.no(unseen)
		}
		last = said
		if i < len(plain) {
			before, start = plain[i], i+1
		}
	}
}

// guess judges words of which the first is probably a program.
func (j *judge) guess(words []word, before byte, start bool) {
	j.text(words[0].text)
	c := resolve(nil, words)
	if reason := destructive(c); reason != "" {
		j.no(reason)
	}
	to := strings.TrimLeft(words[0].text, "0123456789")
	if to, ok := strings.CutPrefix(to, ">"); ok {
		if to = strings.TrimLeft(to, ">|"); to == "" && len(words) > 1 {
			to = words[1].text
		}
		if protected(to) {
			j.no(systemWrite)
		}
	}
	if !start || opens(words[0].text) {
		return
	}
	j.call(c)
	if before == '|' && isShell(c.name) && !slices.Contains(c.through, "xargs") {
		j.no(piped)
	}
}

// runsNext reports whether words before a substitution make its output a program.
func runsNext(said []string) bool {
	if len(said) == 0 || said[len(said)-1] != "$" && said[len(said)-1] != "<" {
		return false
	}
	var words []word
	for _, text := range said[:len(said)-1] {
		if !opens(text) {
			words = append(words, word{text: text})
		}
	}
	c := resolve(nil, words)
	return c.first == nil || c.name == "eval" || c.name == "source" || c.name == "." || isInterpreter(c.name) ||
		slices.Contains(c.through, c.name)
}

// opens reports whether a word only opens a part of a script.
func opens(text string) bool {
	switch text {
	case "{", "!", "if", "then", "elif", "else", "while", "until", "do", "coproc", "time":
		return true
	}
	return false
}
