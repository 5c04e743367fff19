package eval

import (
	"maps"
	"slices"
	"strings"
)

// Shares of a claim's words that a passage must contain, in addition to all its numbers and names.
const (
	shareWithFacts = 0.45 // where the claim has a number or a name
	sharePlain     = 0.6
)

// mostSentences limits the consecutive sentences that support a claim.
const mostSentences = 3

// claim is the statement to find.
type claim struct {
	numbers, names, words []string
	parts                 map[string]token // of numbers such as 5 million
}

// names are the names in the given texts: words capitalized inside a sentence. A sentence's first word is one only if
// it is known from there.
type names struct {
	known map[string]bool
	loose bool // nouns are capitalized, as in German: capitals aren't significant
}

// namesOf learns names from texts.
func namesOf(texts ...string) names {
	n := names{known: map[string]bool{}}
	inside, with := 0, 0
	for _, text := range texts {
		for _, t := range tokens(text) {
			if t.kind == name {
				n.known[t.key] = true
			}
			if !t.first && (t.kind == name || t.kind == content) && !han(t.key) {
				inside++
				if t.kind == name {
					with++
				}
			}
		}
	}
	n.loose = inside > 40 && float64(with) > 0.38*float64(inside)
	return n
}

// claimOf parses a sentence.
func claimOf(text string, n names) claim {
	var c claim
	add := func(to *[]string, s string) {
		if !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	for _, t := range tokens(text) {
		switch {
		case t.kind == number:
			add(&c.numbers, t.key)
			if t.unit != "" {
				if c.parts == nil {
					c.parts = map[string]token{}
				}
				c.parts[t.key] = t
			}
		case !n.loose && (t.kind == name || t.kind == content && t.first && n.known[t.key]):
			add(&c.names, t.key)
		case t.kind == name || t.kind == content:
			add(&c.words, t.stem)
		}
	}
	return c
}

func (c claim) empty() bool { return len(c.numbers)+len(c.names)+len(c.words) == 0 }

// bag holds the words of a passage. Loose are numbers without the following word, 5 of 5 million.
type bag struct {
	numbers, loose, words map[string]bool
}

func newBag(texts ...string) bag {
	b := bag{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, s := range texts {
		b.add(s)
	}
	return b
}

func (b bag) add(text string) {
	for _, t := range tokens(text) {
		if t.kind == number {
			b.numbers[t.key] = true
			if t.unit != "" {
				b.loose[t.raw], b.words[t.unit], b.words[stem(t.unit)] = true, true, true
			}
			continue
		}
		b.words[t.key], b.words[t.stem] = true, true
	}
}

// roughly compares numbers as rubrics write them: 5 is also in 5 million.
func (b bag) roughly() bag {
	all := maps.Clone(b.numbers)
	maps.Copy(all, b.loose)
	return bag{all, nil, b.words}
}

// fit measures how well a passage matches a claim.
type fit struct {
	missing []string // numbers and names that it lacks
	share   float64  // share of the words
}

func (f fit) holds(c claim) bool {
	if len(f.missing) > 0 {
		return false
	}
	if len(c.numbers)+len(c.names) > 0 {
		return f.share >= shareWithFacts
	}
	return f.share >= sharePlain
}

func (f fit) better(g fit) bool {
	if len(f.missing) != len(g.missing) {
		return len(f.missing) < len(g.missing)
	}
	return f.share > g.share
}

// in compares the claim with a passage. Names and words, but not numbers, may also be in the headings above it.
func (c claim) in(passage, above bag) fit { return c.around([]bag{passage}, passage, above) }

// around compares the claim with sentences of a passage: its numbers with each separately, since combining figures of
// several sentences could support false claims; its names and words with the whole passage.
func (c claim) around(each []bag, passage, above bag) (f fit) {
	for i, one := range each {
		var missing []string
		for _, n := range c.numbers {
			p, split := c.parts[n]
			apart := split && one.numbers[p.raw] && (passage.words[p.unit] || above.words[p.unit]) // a table in millions
			if !one.numbers[n] && !apart {
				missing = append(missing, n)
			}
		}
		if i == 0 || len(missing) < len(f.missing) {
			f.missing = missing
		}
	}
	for _, n := range c.names {
		if !passage.words[n] && !above.words[n] {
			f.missing = append(f.missing, n)
		}
	}
	have := 0
	for _, w := range c.words {
		if passage.words[w] || above.words[w] {
			have++
		}
	}
	f.share = 1
	if len(c.words) > 0 {
		f.share = float64(have) / float64(len(c.words))
	}
	return f
}

// find returns the part of a page that best matches the claim.
func (c claim) find(p *webPage) (best fit, quote string) {
	best = fit{missing: append(slices.Clone(c.numbers), c.names...)}
	bags := make([]bag, len(p.text))
	for i, s := range p.text {
		bags[i] = newBag(s.text, s.columns)
	}
	for i, s := range p.text {
		above := newBag(p.title, s.heading, s.columns)
		now := newBag()
		var parts []string
		for j := i; j < min(i+mostSentences, len(p.text)); j++ {
			now.add(p.text[j].text)
			parts = append(parts, p.text[j].text)
			if f := c.around(bags[i:j+1], now, above); f.better(best) || quote == "" {
				best, quote = f, strings.Join(parts, " ")
				if best.holds(c) && best.share == 1 {
					return best, quote
				}
			}
		}
	}
	return best, quote
}

// says reports whether sentences contain one of several texts, within two in a row. A text in any may have parts joined
// by &. A part with a number matches if all its numbers, names and words occur, in any order; another part matches
// literally. Without any, sentences match if they have the numbers and names of text and most of its words.
func says(list []string, any []string, text string, n names, unless []string) (sentence string, ok bool) {
	fits := func(part string) bool {
		return slices.ContainsFunc(any, func(one string) bool { return n.said(one, part) })
	}
	if len(any) == 0 {
		c := claimOf(text, n)
		if c.empty() {
			return "", false
		}
		fits = func(part string) bool { return c.in(newBag(part), newBag()).holds(c) }
	}
	for i := range list {
		for j := i; j < min(i+2, len(list)); j++ {
			part := strings.Join(list[i:j+1], " ")
			if fits(part) && !slices.ContainsFunc(unless, func(w string) bool { return holdsText(part, w) }) {
				return part, true
			}
		}
	}
	return "", false
}

// said reports whether a passage contains a text of a rubric.
func (n names) said(text, passage string) bool {
	have := newBag(passage)
	for part := range strings.SplitSeq(text, "&") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		c := claimOf(part, n)
		if len(c.numbers) == 0 {
			if !holdsText(passage, part) {
				return false
			}
			continue
		}
		if f := c.in(have.roughly(), newBag()); len(f.missing) > 0 || f.share < 1 {
			return false
		}
	}
	return true
}

func holdsText(passage, text string) bool {
	return strings.Contains(strings.ToLower(passage), strings.ToLower(text))
}
