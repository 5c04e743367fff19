package eval

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Cited is a statement of an answer and the address it names for it.
type Cited struct {
	Claim string   `json:"claim"`           // the sentence, without marks
	Parts []string `json:"parts,omitempty"` // of a sentence with several citations: the parts this one may support
	URL   string   `json:"url"`
}

// reading is a parsed answer.
type reading struct {
	sentences []string
	cited     []Cited
	uncited   []string // sentences with a number and no citation
}

// Marks represent citations while sentences are split: the first mark plus the number of the citation.
const (
	firstMark = 0xF0000
	lastMark  = 0xFFFFD
)

func mark(r rune) bool { return r >= firstMark && r <= lastMark }

var (
	citations = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`!?\[(\[?(?:[^\[\]]|\[[^\[\]]*\])*\]?)\]\(<?(https?://[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+"[^"]*")?\)` +
			`|\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]|<(https?://[^\s<>]+)>|(https?://[^\s<>()\[\]]+)`)
	})
	sourceLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:[-*]\s+)?(?:\[\^?(\d{1,3})\]:?|(\d{1,3})[.)])\s+(.*)$`)
	})
	sourceHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:#{1,6}\s+|\*\*)(?:sources|references|bibliography|works cited|citations|quellen|literatur|sources cited|fuentes|来源|参考资料|参考文献|资料来源|引用)[\s:：*]*$`)
	})
	address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s<>()\[\]"]+`) })
	marking = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[*_`~]{1,3}|^#{1,6} |^> ?|^[-*+] |^\\d{1,3}[.)] ") })
)

// readAnswer parses an answer in Markdown.
func readAnswer(texts ...string) (out reading) {
	seen := map[[2]string]bool{}
	for _, text := range texts {
		one := readText(text)
		out.sentences = append(out.sentences, one.sentences...)
		for _, c := range one.cited {
			if id := [2]string{c.Claim, key(c.URL)}; !seen[id] {
				seen[id] = true
				out.cited = append(out.cited, c)
			}
		}
		for _, s := range one.uncited {
			if !slices.Contains(out.uncited, s) {
				out.uncited = append(out.uncited, s)
			}
		}
	}
	return out
}

func readText(text string) (out reading) {
	text = strings.Map(func(r rune) rune {
		if mark(r) {
			return -1
		}
		return r
	}, text)
	blocks, list := blocksOf(text)
	for _, b := range blocks {
		out.block(b, list)
	}
	return out
}

// blocksOf returns the paragraphs, items and rows of a text, and the addresses of its list of sources by their numbers.
func blocksOf(text string) (blocks []string, list map[int]string) {
	list = map[int]string{}
	var now []string
	flush := func() {
		if len(now) > 0 {
			blocks = append(blocks, strings.Join(now, " "))
			now = nil
		}
	}
	fence, sources := "", false
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		bare := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~") {
			flush()
			fence = bare[:3]
			continue
		}
		if strings.HasPrefix(bare, "#") || sourceHead().MatchString(bare) {
			flush()
			sources = sourceHead().MatchString(bare)
			continue
		}
		if m := sourceLine().FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1] + m[2])
			if at := address().FindString(m[3]); err == nil && at != "" && (sources || m[1] != "") {
				if list[n] == "" {
					list[n] = strings.TrimRight(at, ".,;")
				}
				continue
			}
		}
		switch {
		case sources:
		case bare == "" || strings.Trim(bare, "-=*_ ") == "":
			flush()
		case strings.HasPrefix(bare, "|"):
			flush()
			if strings.Trim(bare, "|-: ") != "" {
				blocks = append(blocks, strings.Trim(bare, "| "))
			}
		case strings.HasPrefix(bare, "- "), strings.HasPrefix(bare, "* "), strings.HasPrefix(bare, "+ "), sourceLine().MatchString(line):
			flush()
			now = []string{bare}
		default:
			now = append(now, bare)
		}
	}
	flush()
	return blocks, list
}

// block finds the statements of a block with their citations.
func (out *reading) block(text string, list map[int]string) {
	var urls []string
	put := func(u string) string {
		urls = append(urls, strings.TrimRight(u, ".,;:"))
		return string(rune(firstMark + len(urls) - 1))
	}
	text = citations().ReplaceAllStringFunc(text, func(s string) string {
		m := citations().FindStringSubmatch(s)
		switch {
		case strings.HasPrefix(s, "!"):
			return ""
		case m[2] != "":
			label := strings.Trim(m[1], "[]")
			if _, err := strconv.Atoi(label); err == nil || strings.HasPrefix(label, "citation:") || strings.HasPrefix(label, "http") {
				return put(m[2])
			}
			return label + put(m[2])
		case m[3] != "":
			all := ""
			for n := range strings.FieldsFuncSeq(m[3], func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) }) {
				i, err := strconv.Atoi(n)
				if err != nil || list[i] == "" {
					return s // no citation
				}
				all += put(list[i])
			}
			return all
		}
		return put(m[4] + m[5])
	})
	if len(urls) > lastMark-firstMark {
		return
	}
	first := len(out.sentences)
	for _, s := range sentences(text) {
		// Citations at the start of a sentence belong to the previous one.
		rest := strings.TrimLeftFunc(s, func(r rune) bool { return mark(r) || unicode.IsSpace(r) || strings.ContainsRune("()[]。.", r) })
		lead := s[:len(s)-len(rest)]
		if n := len(out.sentences); n > first {
			for _, r := range lead {
				if mark(r) {
					out.cited = append(out.cited, Cited{Claim: out.sentences[n-1], URL: urls[r-firstMark]})
					out.uncited = slices.DeleteFunc(out.uncited, func(u string) bool { return u == out.sentences[n-1] })
				}
			}
		} else {
			rest = s
		}
		out.sentence(rest, urls)
	}
}

func (out *reading) sentence(s string, urls []string) {
	clean := tidyText(s)
	if clean == "" {
		return
	}
	out.sentences = append(out.sentences, clean)
	groups, parts := partsOf(s)
	for i, group := range groups {
		for _, r := range group {
			c := Cited{Claim: clean, URL: urls[r-firstMark]}
			for _, p := range parts[i] {
				if p = tidyText(p); p != clean && claims(p) && !slices.Contains(c.Parts, p) {
					c.Parts = append(c.Parts, p)
				}
			}
			out.cited = append(out.cited, c)
		}
	}
	if len(groups) == 0 && len(claimOf(clean, names{loose: true}).numbers) > 0 {
		out.uncited = append(out.uncited, clean)
	}
}

// Where a part of a sentence may end.
var (
	closed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[\s()]*(?:[,;:.，；：。、|)]|(?:and|but|while|whereas|und|aber|et|y)\s|[和而但])`)
	})
	commas       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[,;]\s|[，；|]`) })
	conjunctions = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\s(?:and|but|while|whereas|und|aber|et|y)\s|[和而但]`)
	})
)

// partsOf returns the citations of a sentence, adjacent ones combined, and the parts of the sentence that each may
// support. A single one supports the whole sentence. Of several, each supports the text since the previous one, or
// everything so far, and the last one also the rest. A part that continues after its citation, as with an inline link,
// ends where the next one begins.
func partsOf(s string) (groups []string, parts [][]string) {
	var texts []string // before each group, and after the last
	text := ""
	for _, r := range s {
		switch n := len(groups); {
		case !mark(r):
			text += string(r)
		case n > 0 && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '|' }):
			groups[n-1] += string(r)
			text = ""
		default:
			groups, texts, text = append(groups, string(r)), append(texts, text), ""
		}
	}
	texts = append(texts, text)
	parts = make([][]string, len(groups))
	if len(groups) < 2 {
		return groups, parts
	}
	all, since := "", ""
	for i := range groups {
		since += texts[i]
		all += texts[i]
		if i == len(groups)-1 {
			parts[i] = []string{since + texts[i+1]}
			continue
		}
		end := 0 // end of the part, in the text after the citation
		if next := texts[i+1]; !closed().MatchString(next) {
			at := commas().FindAllStringIndex(next, -1)
			if len(at) == 0 {
				at = conjunctions().FindAllStringIndex(next, -1)
			}
			if len(at) == 0 {
				continue // ambiguous
			}
			end = at[len(at)-1][0]
		}
		parts[i] = []string{all + texts[i+1][:end], since + texts[i+1][:end]}
		all += texts[i+1][:end]
		since, texts[i+1] = "", texts[i+1][end:]
	}
	return groups, parts
}

// claims reports whether a part is a statement by itself: a name and a date alone aren't.
func claims(part string) bool {
	list := tokens(part)
	return len(list) >= 3 && (strings.Contains(part, "|") || slices.ContainsFunc(list, func(t token) bool {
		return t.kind == content && !t.first && !slices.Contains(months(), t.key)
	}) || slices.ContainsFunc(list, func(t token) bool { return t.kind == content && han(t.key) }))
}

// tidyText returns a sentence without marks of citations and Markdown.
func tidyText(s string) string {
	s = strings.Map(func(r rune) rune {
		if mark(r) {
			return -1
		}
		return r
	}, s)
	s = marking().ReplaceAllString(strings.TrimSpace(s), "")
	s = strings.NewReplacer("()", "", "[]", "").Replace(s)
	s = strings.Join(strings.Fields(s), " ")
	s = strings.NewReplacer(" .", ".", " ,", ",", " ;", ";", " 。", "。", " ，", "，").Replace(s)
	return strings.Trim(s, "| ")
}
