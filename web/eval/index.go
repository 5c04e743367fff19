package eval

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fawn/agent/community"
)

// BM25 parameters, and the weight of a title's word.
const (
	saturation  = 1.2
	lengthShare = 0.75
	titleWeight = 3
	snippetRoom = 320 // characters
)

// index searches pages by BM25.
type index struct {
	docs  []indexed
	words map[string][]posting
	sum   int // sum of all lengths
}

type indexed struct {
	address string
	page    *webPage
	length  int
}

type posting struct{ doc, count int }

// terms returns the words that a text is found by.
func terms(text string) []string {
	var out []string
	for _, t := range tokens(text) {
		switch {
		case t.kind == number || t.kind == name:
			out = append(out, t.key)
		case t.kind == content:
			out = append(out, t.stem)
		}
	}
	return out
}

func (x *index) add(address string, p *webPage) {
	if x.words == nil {
		x.words = map[string][]posting{}
	}
	count := map[string]int{}
	for _, t := range terms(p.title) {
		count[fold(t)] += titleWeight
	}
	heading := ""
	for _, s := range p.text {
		if s.heading != heading {
			heading = s.heading
			for _, t := range terms(heading) {
				count[fold(t)]++
			}
		}
		for _, t := range terms(s.text) {
			count[fold(t)]++
		}
	}
	doc := indexed{address: address, page: p}
	for w, n := range count {
		doc.length += n
		x.words[w] = append(x.words[w], posting{len(x.docs), n})
	}
	x.sum += doc.length
	x.docs = append(x.docs, doc)
}

// fold returns a word's indexed form: a name in one text may be a plain word in another.
func fold(s string) string { return stem(strings.ToLower(s)) }

// Search finds pages, the best first.
func (w *Web) Search(query string, most int) []community.Hit {
	x := &w.index
	score := map[int]float64{}
	wanted := map[string]bool{}
	for _, t := range terms(query) {
		wanted[fold(t)] = true
	}
	mean := float64(x.sum) / float64(max(1, len(x.docs)))
	for t := range wanted {
		list := x.words[t]
		rare := math.Log(1 + (float64(len(x.docs)-len(list))+0.5)/(float64(len(list))+0.5))
		for _, p := range list {
			n := float64(p.count)
			score[p.doc] += rare * n * (saturation + 1) /
				(n + saturation*(1-lengthShare+lengthShare*float64(x.docs[p.doc].length)/mean))
		}
	}
	found := make([]int, 0, len(score))
	for doc := range score {
		found = append(found, doc)
	}
	slices.SortFunc(found, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(x.docs[a].address, x.docs[b].address))
	})
	var out []community.Hit
	for _, doc := range found[:min(len(found), most)] {
		d := x.docs[doc]
		out = append(out, community.Hit{Title: d.page.title, URL: d.address, Text: d.page.extract(wanted)})
	}
	return out
}

// extract returns the part of a page with most of the words.
func (p *webPage) extract(wanted map[string]bool) string {
	best, at := -1, 0
	for i, s := range p.text {
		n := 0
		for _, t := range terms(s.text) {
			if wanted[fold(t)] {
				n++
			}
		}
		if n > best {
			best, at = n, i
		}
	}
	var b strings.Builder
	for _, s := range p.text[min(at, len(p.text)):] {
		if b.Len() > 0 {
			b.WriteString(" ")
		}
		b.WriteString(s.text)
		if b.Len() > snippetRoom {
			break
		}
	}
	return headOf(b.String(), snippetRoom)
}
