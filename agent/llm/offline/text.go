package offline

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is a candidate for a summary.
type sentence struct {
	text  string
	line  int // where it begins
	order int
	score float64
}

// heading is a line of an outline.
type heading struct {
	text  string
	level int
	line  int
}

// digest describes a text by its outline and its key sentences.
func digest(c *conversation, d document) string {
	var b strings.Builder
	headings, sentences, letters := scanText(d.text)
	where := placesOf(d.text)
	fmt.Fprintf(&b, c.pick("**%s** has %s and about %s", "**%s** 有 %s，约 %s"), cell(path.Base(d.path)),
		c.number(d.lines, "line", "行"), c.number(letters, "word", "字词"))
	if d.partial {
		b.WriteString(c.pick(" in the part that was read; the file is longer", "（仅限读到的部分；文件更长）"))
	}
	b.WriteString(c.pick(".", "。"))
	if len(headings) > 0 {
		fmt.Fprintf(&b, "\n\n**%s**\n", c.pick("Outline", "大纲"))
		top := 6
		for _, h := range headings {
			top = min(top, h.level)
		}
		for i, h := range headings {
			if i == 40 {
				fmt.Fprintf(&b, c.pick("\n- … %d more", "\n- … 另有 %d 项"), len(headings)-i)
				break
			}
			fmt.Fprintf(&b, "\n%s- %s (%s)", strings.Repeat("  ", h.level-top), cell(h.text), where.at(h.line))
		}
	}
	if key := best(sentences, 5); len(key) > 0 {
		fmt.Fprintf(&b, "\n\n**%s**\n", c.pick("Key sentences, word for word", "关键句（原文）"))
		for _, s := range key {
			fmt.Fprintf(&b, "\n- %s %s", quoteText(s.text), where.cite(d.path, s.line))
		}
	}
	return b.String()
}

// quoteText keeps a sentence readable and harmless as Markdown.
func quoteText(s string) string {
	return strings.NewReplacer("<", "&lt;", "`", "'", "\n", " ").Replace(clip(s, 400))
}

// scanText finds headings and sentences. Code, tables and front matter don't count as sentences.
func scanText(text string) (headings []heading, sentences []sentence, words int) {
	line, fence, matter := 0, "", false
	var paragraph strings.Builder
	begin := 0
	flush := func() {
		sentences = cutSentences(sentences, paragraph.String(), begin)
		paragraph.Reset()
	}
	previous := ""
	for raw := range strings.Lines(text) {
		line++
		s := strings.TrimSpace(strings.TrimPrefix(raw, "\ufeff"))
		words += countWords(s)
		switch {
		case line == 1 && s == "---":
			matter = true
			continue
		case matter:
			matter = s != "---"
			continue
		case fence != "":
			if strings.HasPrefix(s, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~"):
			flush()
			fence = s[:3]
			continue
		case s == "" || strings.HasPrefix(s, "|") || strings.HasPrefix(s, "<!--"):
			flush()
			previous = ""
			continue
		}
		level := len(s) - len(strings.TrimLeft(s, "#"))
		if level > 0 && level <= 6 && len(s) > level && s[level] == ' ' {
			flush()
			headings = append(headings, heading{strings.Trim(s[level:], " #"), level, line})
			previous = ""
			continue
		}
		if (strings.Trim(s, "=") == "" || strings.Trim(s, "-") == "") && len(s) >= 3 {
			if previous != "" && paragraph.Len() <= len(previous)+1 { // the line above is a heading
				level := 1
				if s[0] == '-' {
					level = 2
				}
				headings = append(headings, heading{previous, level, line - 1})
				paragraph.Reset()
			}
			flush()
			previous = ""
			continue
		}
		item := strings.TrimLeft(s, "-*+>• ")
		if item != s {
			flush()
		}
		if paragraph.Len() == 0 {
			begin = line
		} else {
			paragraph.WriteByte('\n')
		}
		paragraph.WriteString(item)
		previous = s
	}
	flush()
	return headings, sentences, words
}

// countWords counts words; each Chinese character counts as one.
func countWords(s string) int {
	n, inside := 0, false
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			n, inside = n+1, false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if !inside {
				n++
			}
			inside = true
		default:
			inside = false
		}
	}
	return n
}

// cutSentences appends the sentences of a paragraph which begins at a line.
func cutSentences(out []sentence, paragraph string, line int) []sentence {
	from, at := 0, line
	end := func(to int) {
		whole := paragraph[from:to]
		s := strings.TrimSpace(whole)
		lead := strings.Count(whole[:len(whole)-len(strings.TrimLeft(whole, " \n"))], "\n")
		if n := countWords(s); n >= 5 && len(s) <= 1200 {
			out = append(out, sentence{text: strings.Join(strings.Fields(s), " "), line: at + lead, order: len(out)})
		}
		at += strings.Count(paragraph[from:to], "\n")
		from = to
	}
	for i, r := range paragraph {
		next := i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？':
			end(next)
		case '.', '!', '?':
			if next < len(paragraph) && (paragraph[next] == ' ' || paragraph[next] == '\n') {
				end(next)
			}
		}
	}
	if from < len(paragraph) {
		end(len(paragraph))
	}
	return out
}

// best returns the n highest-scoring sentences in text order. A word scores the logarithm of its frequency; very short
// words score nothing.
func best(list []sentence, n int) []sentence {
	if len(list) > 20_000 {
		list = list[:20_000]
	}
	frequency := map[string]int{}
	for _, s := range list {
		for w := range terms(s.text) {
			frequency[w]++
		}
	}
	for i := range list {
		sum, count := 0.0, 0
		for w := range terms(list[i].text) {
			if f := frequency[w]; f > 1 && f*3 < len(list)*2+6 {
				sum += math.Log(float64(f) + 1)
			}
			count++
		}
		list[i].score = sum / math.Sqrt(float64(count)+8)
		if list[i].order < 2 {
			list[i].score *= 1.3 // texts usually start with their subject
		}
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	out = out[:min(n, len(out))]
	slices.SortFunc(out, func(a, b sentence) int { return cmp.Compare(a.order, b.order) })
	return out
}

// terms returns the different words of a sentence, pairs of characters in Chinese.
func terms(s string) map[string]bool {
	out := map[string]bool{}
	var word []rune
	var han rune
	flush := func() {
		if len(word) > 3 {
			out[string(word)] = true
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(s) {
		switch {
		case unicode.Is(unicode.Han, r):
			flush()
			if han != 0 {
				out[string([]rune{han, r})] = true
			}
			han = r
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word = append(word, r)
		default:
			flush()
		}
		han = 0
	}
	flush()
	return out
}
