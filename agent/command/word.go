package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command.
type word struct {
	text  string        // quotes and escapes resolved; expansions are abbreviated: $NAME, $(), <()
	leads syntax.Node   // the substitution it begins with
	subst []syntax.Node // its expansions
}

// brings reports whether a word contains the output of programs that shouldn't be executed unseen.
func (j *judge) brings(w word) bool { return slices.ContainsFunc(w.subst, j.risky) }

func (j *judge) risky(top syntax.Node) bool {
	found := false
	syntax.Walk(top, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			found = found || fetches(j.resolve(c).name)
		}
		return n != nil && !found && !j.tooComplex(1)
	})
	return found
}

const (
	maxBraces   = 16   // brace expressions per word; each one multiplies the expansions
	maxExpanded = 1000 // maximum number of expansions of a word
)

// expand returns the words resulting from brace expansion.
func (j *judge) expand(w *syntax.Word) []word {
	braces, several := 0, false
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			braces += strings.Count(lit.Value, "{")
			several = several || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		}
	}
	if braces == 0 || !several {
		return []word{j.render(w)}
	}
	if braces > maxBraces {
		j.no("braces that stand for too many words")
		return nil
	}
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	syntax.SplitBraces(split)
	var out []word
	for one, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(out) == maxExpanded || j.tooComplex(20) {
			break
		}
		out = append(out, j.render(one))
	}
	return out
}

// render resolves the quotes of a word.
func (j *judge) render(w *syntax.Word) word {
	var r renderer
	if w != nil && !j.tooComplex(len(w.Parts)) {
		r.parts(w.Parts, false)
	}
	return word{r.String(), r.leads, r.subst}
}

type renderer struct {
	strings.Builder
	leads syntax.Node
	subst []syntax.Node
}

func (r *renderer) parts(parts []syntax.WordPart, quoted bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			r.literal(p.Value, quoted)
		case *syntax.SglQuoted:
			if p.Dollar {
				r.WriteString(ansi(p.Value))
			} else {
				r.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			r.parts(p.Parts, true)
		case *syntax.ParamExp:
			if text := parameter(p); p.Exp == nil && p.Repl == nil && p.Index == nil && p.Slice == nil {
				r.WriteString(text)
			} else {
				r.replaced(p, text)
			}
		case *syntax.CmdSubst:
			r.replaced(p, "$()")
		case *syntax.ProcSubst:
			r.replaced(p, p.Op.String()+")")
		case *syntax.ArithmExp:
			r.subst = append(r.subst, p)
			r.WriteString("$((0))")
		case *syntax.ExtGlob:
			r.WriteString(p.Op.String() + p.Pattern.Value + ")")
		}
	}
}

func (r *renderer) replaced(n syntax.Node, text string) {
	if r.Len() == 0 && r.leads == nil {
		r.leads = n
	}
	r.subst = append(r.subst, n)
	r.WriteString(text)
}

// literal writes text as it is after the shell removed the backslashes.
func (r *renderer) literal(text string, quoted bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\", text[i+1]) >= 0) {
			i++
		}
		r.WriteByte(text[i])
	}
}

// parameter writes a variable as "$NAME", and a transformed one as "${#NAME}", whose value is unknown. The home folder
// with a default or a stripped suffix still counts as such.
func parameter(p *syntax.ParamExp) string {
	if p.Param == nil {
		return "${#}"
	}
	name := p.Param.Value
	whole := !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0
	switch {
	case name == "IFS", whole && p.Exp == nil:
	case whole && name == "HOME" && p.Exp.Op != syntax.AlternateUnset && p.Exp.Op != syntax.AlternateUnsetOrNull:
	default:
		return "${#" + name + "}"
	}
	return "$" + name
}

// ansi resolves the escapes of $'…', which can spell any character.
func ansi(text string) string {
	var w strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		if i++; c != '\\' || i == len(text) {
			w.WriteByte(c)
			continue
		}
		c = text[i]
		i++
		base, digits, wide := 16, 0, c == 'u' || c == 'U'
		switch c {
		case 'n', 't', 'r':
			w.WriteByte(map[byte]byte{'n': '\n', 't': '\t', 'r': '\r'}[c])
			continue
		case 'x':
			digits = 2
			if hex, _, ok := strings.Cut(text[i:], "}"); ok && strings.HasPrefix(hex, "{") {
				text = text[:i] + hex[1:] + text[i+len(hex)+1:]
				digits = len(hex) - 1
			}
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, digits = 8, 3
			i--
		default:
			w.WriteByte(c)
			continue
		}
		n, value := 0, uint64(0)
		for n < digits && n < len(text)-i {
			v, err := strconv.ParseUint(text[i:i+n+1], base, 32)
			if err != nil {
				break
			}
			value, n = v, n+1
		}
		i += n
		switch {
		case n == 0:
			w.WriteByte('\\')
			w.WriteByte(c)
		case value == 0, !wide && byte(value) == 0:
			return w.String() // the shell stops here, too
		case wide:
			w.WriteRune(rune(value))
		default:
			w.WriteByte(byte(value))
		}
	}
	return w.String()
}

// texts joins words as eval does.
func texts(words []word) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return strings.Join(out, " ")
}
