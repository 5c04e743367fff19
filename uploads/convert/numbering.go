package convert

import (
	"strconv"
	"strings"
)

// numbering counts the numbered paragraphs of a Word document: "1.2", "(a)", "第一条".
type numbering struct {
	lists  map[string]*numberedList // by the number used in paragraphs
	counts map[string]*[listLevels]int
	begun  map[string]bool // list levels that restart, by list and level
}

const listLevels = 9

// numberedList is a list as a paragraph refers to it.
type numberedList struct {
	shared string // lists of one kind share the counter
	levels [listLevels]listLevel
}

type listLevel struct {
	start   int
	restart bool // start applies to this list only
	format  string
	text    string // with %1 for the number of the first level
	legal   bool   // all numbers in it are decimal
	again   int    // level below which it restarts; -1 never
	tight   bool   // number and text are adjacent
	style   string // style of this level's paragraphs
	known   bool
}

func (w *wordReader) readNumbering(t *node) {
	n := &w.numbers
	n.lists, n.counts, n.begun = map[string]*numberedList{}, map[string]*[listLevels]int{}, map[string]bool{}
	kinds := map[string]*node{}
	for _, a := range t.all("abstractNum") {
		kinds[a.attr("abstractNumId")] = a
	}
	targets := map[string]string{}
	for _, num := range t.all("num") {
		targets[num.attr("numId")] = num.kid("abstractNumId").attr("val")
	}
	for _, num := range t.all("num") {
		kind := num.kid("abstractNumId").attr("val")
		if link := kinds[kind]; link != nil { // a list may take its levels from a style
			if style := link.kid("numStyleLink").attr("val"); style != "" {
				if to := targets[w.looks[style].list]; kinds[to] != nil {
					kind = to
				}
			}
		}
		l := &numberedList{shared: kind}
		if kinds[kind] != nil {
			l.read(kinds[kind].named("lvl"))
		}
		for _, o := range num.named("lvlOverride") {
			i := number(o.attr("ilvl"))
			if i < 0 || i >= listLevels {
				continue
			}
			if own := o.named("lvl"); len(own) > 0 {
				l.read(own)
			}
			if start := o.kid("startOverride"); start.name != "" {
				l.levels[i].start, l.levels[i].restart = number(start.attr("val")), true
			}
		}
		n.lists[num.attr("numId")] = l
	}
}

func (l *numberedList) read(levels []*node) {
	for _, v := range levels {
		i := number(v.attr("ilvl"))
		if i < 0 || i >= listLevels {
			continue
		}
		level := listLevel{known: true, start: 1, format: v.kid("numFmt").attr("val"), text: v.kid("lvlText").attr("val"),
			again: i, legal: v.kid("isLgl").name != "" && v.kid("isLgl").attr("val") != "0",
			tight: v.kid("suff").attr("val") == "nothing", style: v.kid("pStyle").attr("val")}
		if level.format == "" { // in an extension, for formats unknown to old programs
			for _, f := range v.all("numFmt") {
				level.format = f.attr("val")
				break
			}
		}
		if s := v.kid("start"); s.name != "" {
			level.start = number(s.attr("val"))
		}
		if r := v.kid("lvlRestart"); r.name != "" {
			if level.again = number(r.attr("val")); level.again == 0 {
				level.again = -1
			}
		}
		if v.kid("lvlText").name == "" && level.format != "bullet" && level.format != "none" {
			level.text = "%" + strconv.Itoa(i+1) + "."
		}
		l.levels[i] = level
	}
}

// levelOf finds the level that paragraphs of a style have in a list.
func (l *numberedList) levelOf(style string) int {
	for i, v := range l.levels {
		if v.style != "" && v.style == style {
			return i
		}
	}
	return 0
}

// next counts a list paragraph and returns its label: empty for a bullet. tight means that no space follows.
func (n *numbering) next(list string, level int) (label string, tight bool) {
	l := n.lists[list]
	if l == nil || level < 0 || level >= listLevels || !l.levels[level].known {
		return "", false
	}
	c := n.counts[l.shared]
	if c == nil {
		c = &[listLevels]int{}
		for i, v := range l.levels {
			c[i] = v.start - 1
		}
		n.counts[l.shared] = c
	}
	at := l.levels[level]
	for i := range level { // omitted levels count as their first number
		if c[i] < l.levels[i].start {
			c[i] = l.levels[i].start
		}
	}
	if key := list + " " + strconv.Itoa(level); at.restart && !n.begun[key] {
		n.begun[key] = true
		c[level] = at.start - 1
	}
	c[level]++
	for i := level + 1; i < listLevels; i++ {
		if v := l.levels[i]; v.again > level {
			c[i] = v.start - 1
		}
	}
	if at.format == "bullet" || at.format == "none" && !strings.Contains(at.text, "%") {
		return "", false
	}
	label = at.text
	for i := range level + 1 {
		mark := "%" + strconv.Itoa(i+1)
		if !strings.Contains(label, mark) {
			continue
		}
		format := l.levels[i].format
		if at.legal {
			format = "decimal"
		}
		label = strings.ReplaceAll(label, mark, numeral(c[i], format))
	}
	return oneLine(label), at.tight
}

// numeral writes a number in one of Word's formats.
func numeral(n int, format string) string {
	pick := func(letters string) string {
		if all := []rune(letters); n >= 1 && n <= len(all) {
			return string(all[n-1])
		}
		return strconv.Itoa(n)
	}
	switch format {
	case "none":
		return ""
	case "decimalZero":
		if n >= 0 && n < 10 {
			return "0" + strconv.Itoa(n)
		}
	case "upperRoman":
		return roman(n)
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperLetter":
		return alphabetic(n, 'A')
	case "lowerLetter":
		return alphabetic(n, 'a')
	case "ordinal":
		return strconv.Itoa(n) + ordinalEnd(n)
	case "cardinalText", "ordinalText":
		return inWords(n, format == "ordinalText")
	case "numberInDash":
		return "- " + strconv.Itoa(n) + " -"
	case "hex":
		return strings.ToUpper(strconv.FormatInt(int64(n), 16))
	case "decimalEnclosedCircle", "decimalEnclosedCircleChinese":
		return pick("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳")
	case "decimalEnclosedParen":
		return pick("⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇")
	case "decimalEnclosedFullstop":
		return pick("⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛")
	case "decimalFullWidth", "decimalFullWidth2":
		return digits(n, "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19")
	case "chineseCounting", "chineseCountingThousand", "taiwaneseCounting", "taiwaneseCountingThousand",
		"japaneseCounting", "koreanDigital2":
		return chinese(n, "零一二三四五六七八九", "十百千", true)
	case "ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital":
		return digits(n, "〇一二三四五六七八九")
	case "koreanDigital":
		return digits(n, "영일이삼사오육칠팔구")
	case "chineseLegalSimplified":
		return chinese(n, "零壹贰叁肆伍陆柒捌玖", "拾佰仟", false)
	case "ideographLegalTraditional":
		return chinese(n, "零壹貳參肆伍陸柒捌玖", "拾佰仟", false)
	case "japaneseLegal":
		return chinese(n, "零壱弐参四伍六七八九", "拾百阡", false)
	case "koreanLegal", "koreanCounting":
		return chinese(n, "영일이삼사오육칠팔구", "십백천", true)
	case "ideographTraditional":
		return pick("甲乙丙丁戊己庚辛壬癸")
	case "ideographZodiac":
		return pick("子丑寅卯辰巳午未申酉戌亥")
	case "ideographEnclosedCircle":
		return pick("㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉")
	case "aiueo", "aiueoFullWidth":
		return pick("アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン")
	case "iroha", "irohaFullWidth":
		return pick("イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス")
	case "ganada":
		return pick("가나다라마바사아자차카타파하")
	case "chosung":
		return pick("ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ")
	case "russianLower":
		return pick("абвгдежзиклмнопрстуфхцчшщэюя")
	case "russianUpper":
		return pick("АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЭЮЯ")
	case "hebrew2":
		return pick("אבגדהוזחטיכלמנסעפצקרשת")
	case "arabicAlpha":
		return pick("أبتثجحخدذرزسشصضطظعغفقكلمنهوي")
	case "arabicAbjad":
		return pick("أبجدهوزحطيكلمنسعفصقرشتثخذضظغ")
	case "thaiLetters":
		return pick("กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ")
	case "thaiNumbers":
		return digits(n, "๐๑๒๓๔๕๖๗๘๙")
	case "hindiNumbers":
		return digits(n, "०१२३४५६७८९")
	case "chicago":
		if signs := []rune("*†‡§"); n >= 1 {
			return strings.Repeat(string(signs[(n-1)%4]), min((n-1)/4+1, 50))
		}
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	if n < 1 || n > 4999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, r := range []struct {
		n int
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"},
		{9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= r.n; n -= r.n {
			b.WriteString(r.s)
		}
	}
	return b.String()
}

// alphabetic continues after the last letter by doubling the first, like Word.
func alphabetic(n int, first rune) string {
	if n < 1 || n > 26*50 {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(first+rune((n-1)%26)), (n-1)/26+1)
}

func ordinalEnd(n int) string {
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			return "st"
		case 2:
			return "nd"
		case 3:
			return "rd"
		}
	}
	return "th"
}

// inWords writes small numbers in English, like Word's templates in most languages.
func inWords(n int, ordinal bool) string {
	small := strings.Fields("Zero One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen Fourteen " +
		"Fifteen Sixteen Seventeen Eighteen Nineteen")
	places := strings.Fields("Zeroth First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh " +
		"Twelfth Thirteenth Fourteenth Fifteenth Sixteenth Seventeenth Eighteenth Nineteenth")
	tens := strings.Fields("Twenty Thirty Forty Fifty Sixty Seventy Eighty Ninety")
	ones := small
	if ordinal {
		ones = places
	}
	switch {
	case n < 0 || n > 99:
		if ordinal {
			return strconv.Itoa(n) + ordinalEnd(n)
		}
		return strconv.Itoa(n)
	case n < 20:
		return ones[n]
	case n%10 == 0 && ordinal:
		return strings.TrimSuffix(tens[n/10-2], "y") + "ieth"
	case n%10 == 0:
		return tens[n/10-2]
	}
	return tens[n/10-2] + "-" + strings.ToLower(ones[n%10])
}

// digits writes the digits of a number in another script.
func digits(n int, script string) string {
	all := []rune(script)
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return all[r-'0']
		}
		return r
	}, strconv.Itoa(n))
}

// chinese writes a number below ten thousand with its digits and units. short leaves out the one
// before a leading ten.
func chinese(n int, script, units string, short bool) string {
	if n < 0 || n > 9999 {
		return strconv.Itoa(n)
	}
	one, unit := []rune(script), []rune(units)
	if n == 0 {
		return string(one[0])
	}
	var b strings.Builder
	zero := false
	for i, size := range []int{1000, 100, 10, 1} {
		d := n / size % 10
		if d == 0 {
			zero = b.Len() > 0
			continue
		}
		if zero {
			b.WriteRune(one[0])
			zero = false
		}
		if !short || d != 1 || size != 10 || b.Len() > 0 {
			b.WriteRune(one[d])
		}
		if i < 3 {
			b.WriteRune(unit[2-i])
		}
	}
	return b.String()
}
