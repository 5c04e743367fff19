package convert

import (
	"strings"
	"unicode"
)

// formula writes one of Word's and PowerPoint's formulas as pages and models read them, in the
// language of TeX.
func formula(n *node) string {
	return oneLine(strings.TrimSpace(texOf(n)))
}

// texOf writes the content of a formula's element.
func texOf(n *node) string {
	var b strings.Builder
	for _, k := range n.kids {
		s := texElement(k)
		// A command ends where a letter begins.
		if tail := b.String(); s != "" && endsInCommand(tail) && startsWithLetter(s) {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	return b.String()
}

func endsInCommand(s string) bool {
	i := strings.LastIndexByte(s, '\\')
	return i >= 0 && i+1 < len(s) && strings.TrimFunc(s[i+1:], func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}) == ""
}

func startsWithLetter(s string) bool { return s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z' }

func texElement(k *node) string {
	in := func(name string) string { return "{" + texOf(k.kid(name)) + "}" }
	switch k.name {
	case "", "rPr", "ctrlPr", "del", "moveFrom":
		return ""
	case "r":
		return texRun(k)
	case "t":
		return texText(k.content())
	case "f":
		switch k.kid("fPr", "type").attr("val") {
		case "lin":
			return in("num") + "/" + in("den")
		case "noBar":
			return `\genfrac{}{}{0pt}{}` + in("num") + in("den")
		}
		return `\frac` + in("num") + in("den")
	case "sSup":
		return powerBase(k) + "^" + in("sup")
	case "sSub":
		return powerBase(k) + "_" + in("sub")
	case "sSubSup":
		return powerBase(k) + "_" + in("sub") + "^" + in("sup")
	case "sPre":
		return "{}_" + in("sub") + "^" + in("sup") + powerBase(k)
	case "rad":
		if degree := texOf(k.kid("deg")); degree != "" && k.kid("radPr", "degHide").name == "" {
			return `\sqrt[` + degree + "]" + in("e")
		}
		return `\sqrt` + in("e")
	case "nary":
		return texBig(k)
	case "d":
		return texFence(k)
	case "func":
		return texFunction(k.kid("fName")) + " " + texOf(k.kid("e"))
	case "limLow":
		return texFunction(k.kid("e")) + "_" + in("lim")
	case "limUpp":
		return texFunction(k.kid("e")) + "^" + in("lim")
	case "acc":
		chr := k.kid("accPr", "chr").attr("val")
		for _, a := range []struct{ sign, name string }{{"\u0303", "tilde"}, {"\u0304", "bar"}, {"\u0305", "overline"},
			{"\u0307", "dot"}, {"\u0308", "ddot"}, {"\u030C", "check"}, {"\u0306", "breve"}, {"\u0301", "acute"},
			{"\u0300", "grave"}, {"\u20D7", "vec"}, {"→", "vec"}} {
			if chr == a.sign {
				return `\` + a.name + in("e")
			}
		}
		return `\hat` + in("e")
	case "bar":
		if k.kid("barPr", "pos").attr("val") == "top" {
			return `\overline` + in("e")
		}
		return `\underline` + in("e")
	case "groupChr":
		if k.kid("groupChrPr", "pos").attr("val") == "top" {
			return `\overbrace` + in("e")
		}
		return `\underbrace` + in("e")
	case "borderBox":
		return `\boxed` + in("e")
	case "m":
		var rows []string
		for _, r := range k.named("mr") {
			rows = append(rows, texCells(r.named("e"), " & "))
		}
		return `\begin{matrix}` + strings.Join(rows, ` \\ `) + `\end{matrix}`
	case "eqArr":
		rows := strings.ReplaceAll(texCells(k.named("e"), ` \\ `), `\&`, "") // they align them
		return `\begin{matrix}` + rows + `\end{matrix}`
	}
	if strings.HasSuffix(k.name, "Pr") {
		return ""
	}
	return texOf(k)
}

func texCells(list []*node, between string) string {
	var all []string
	for _, e := range list {
		all = append(all, texOf(e))
	}
	return strings.Join(all, between)
}

// powerBase returns the base of a power or index: in braces unless it is a single character.
func powerBase(k *node) string {
	s := texOf(k.kid("e"))
	if len([]rune(s)) == 1 || texFunctionName(strings.TrimPrefix(s, `\`)) {
		return s
	}
	return "{" + s + "}"
}

func texRun(r *node) string {
	var b strings.Builder
	for _, t := range r.named("t") {
		b.WriteString(t.content())
	}
	s := b.String()
	props := r.kid("rPr")
	if props.kid("nor").name != "" && props.kid("nor").attr("val") != "0" && strings.ContainsFunc(s, unicode.IsLetter) {
		return `\text{` + strings.NewReplacer(`\`, "", "{", "", "}", "", "$", "").Replace(s) + "}"
	}
	if texFunctionName(s) {
		return `\` + s
	}
	return texText(s)
}

func texFunctionName(s string) bool {
	switch s {
	case "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "log", "ln", "lg",
		"exp", "lim", "max", "min", "sup", "inf", "det", "dim", "gcd", "ker", "arg", "deg":
		return true
	}
	return false
}

// texText writes signs that mean something in TeX so that they are themselves.
func texText(s string) string {
	return strings.NewReplacer(`\`, `\backslash `, "{", `\{`, "}", `\}`, "#", `\#`, "$", `\$`, "%", `\%`, "&", `\&`, "_", `\_`,
		"^", `\hat{}`, "~", `\sim `, "\u2061", "", "\u2062", "", "\u2063", "", "\u2064", "").Replace(s)
}

// texBig returns a sum, an integral or another large sign with its limits.
func texBig(k *node) string {
	sign := k.kid("naryPr", "chr").attr("val")
	if sign == "" {
		sign = "∫"
	}
	out := sign
	for _, s := range []struct{ sign, name string }{{"∑", `\sum`}, {"∏", `\prod`}, {"∐", `\coprod`}, {"∫", `\int`},
		{"∬", `\iint`}, {"∭", `\iiint`}, {"∮", `\oint`}, {"⋃", `\bigcup`}, {"⋂", `\bigcap`}, {"⋁", `\bigvee`},
		{"⋀", `\bigwedge`}} {
		if sign == s.sign {
			out = s.name
		}
	}
	if sub := texOf(k.kid("sub")); sub != "" {
		out += "_{" + sub + "}"
	}
	if sup := texOf(k.kid("sup")); sup != "" {
		out += "^{" + sup + "}"
	}
	return out + " " + texOf(k.kid("e"))
}

// texFence writes content between brackets.
func texFence(k *node) string {
	props := k.kid("dPr")
	sign := func(name, usual string) string {
		s := usual
		if c := props.kid(name); c.name != "" {
			s = c.attr("val")
		}
		switch s {
		case "":
			return "."
		case "{", "}":
			return `\` + s
		case "‖":
			return `\|`
		case "⟨", "〈":
			return `\langle `
		case "⟩", "〉":
			return `\rangle `
		case "⌊":
			return `\lfloor `
		case "⌋":
			return `\rfloor `
		case "⌈":
			return `\lceil `
		case "⌉":
			return `\rceil `
		}
		if !strings.ContainsAny(s, "()[]|/") {
			return "."
		}
		return s
	}
	between := "|"
	if c := props.kid("sepChr"); c.name != "" {
		between = texText(c.attr("val"))
	}
	return `\left` + sign("begChr", "(") + texCells(k.named("e"), between) + `\right` + sign("endChr", ")")
}

// texFunction returns the name of a function, perhaps with an index.
func texFunction(n *node) string {
	s := strings.TrimSpace(texOf(n))
	if strings.HasPrefix(s, `\`) {
		return s
	}
	if len([]rune(s)) > 1 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return `\operatorname{` + s + "}"
	}
	return s
}

// texOfMathML writes a formula in the language of pages and of OpenDocument.
func texOfMathML(n *node) string {
	var kids []*node
	for _, k := range n.kids {
		if k.name != "" && k.name != "annotation" && k.name != "annotation-xml" {
			kids = append(kids, k)
		}
	}
	part := func(i int) string {
		if i < len(kids) {
			return "{" + texOfMathML(kids[i]) + "}"
		}
		return "{}"
	}
	switch n.name {
	case "mi", "mn", "mo":
		s := strings.TrimSpace(n.content())
		if texFunctionName(s) {
			return `\` + s + " "
		}
		return texText(s)
	case "mtext", "ms":
		if s := strings.TrimSpace(n.content()); s != "" {
			return `\text{` + strings.NewReplacer(`\`, "", "{", "", "}", "", "$", "").Replace(s) + "}"
		}
		return " "
	case "mspace", "mphantom":
		return " "
	case "mfrac":
		return `\frac` + part(0) + part(1)
	case "msqrt":
		return `\sqrt{` + texOfAll(kids) + "}"
	case "mroot":
		return `\sqrt[` + strings.Trim(part(1), "{}") + "]" + part(0)
	case "msup", "mover":
		return bare(part(0)) + "^" + part(1)
	case "msub", "munder":
		return bare(part(0)) + "_" + part(1)
	case "msubsup", "munderover":
		return bare(part(0)) + "_" + part(1) + "^" + part(2)
	case "mtable":
		var rows []string
		for _, r := range kids {
			var cells []string
			for _, c := range r.kids {
				if c.name == "mtd" {
					cells = append(cells, texOfMathML(c))
				}
			}
			rows = append(rows, strings.Join(cells, " & "))
		}
		return `\begin{matrix}` + strings.Join(rows, ` \\ `) + `\end{matrix}`
	}
	return texOfAll(kids)
}

// bare returns a single sign without its braces.
func bare(s string) string {
	if r := []rune(s); len(r) == 3 {
		return string(r[1])
	}
	return s
}

func texOfAll(list []*node) string {
	var b strings.Builder
	for _, k := range list {
		b.WriteString(texOfMathML(k))
	}
	return b.String()
}
