package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"fawn/store"
)

// BM25 parameters. Facts are short, so their lengths matter little.
const (
	saturation = 1.2
	lengths    = 0.4
	maxTerms   = 48 // limit of words in a request
)

// index finds an agent's facts by their words.
type index struct {
	facts    []Fact
	postings map[string][]posting
	sizes    []float64
	mean     float64
	trusted  []int // all facts, by confidence, then newest first
}

type posting struct {
	fact  int
	count float64
}

// indexes are the search indexes of a snapshot's agents, built on first use.
type indexes struct {
	mu   sync.Mutex
	made map[string]*index
}

func (b *snapshot) index(agent string) *index {
	b.indexes.mu.Lock()
	defer b.indexes.mu.Unlock()
	x := b.indexes.made[agent]
	if x == nil {
		if x = newIndex(b.of(agent)); b.indexes.made == nil {
			b.indexes.made = map[string]*index{}
		}
		b.indexes.made[agent] = x
	}
	return x
}

func newIndex(facts []Fact) *index {
	x := &index{facts: facts, postings: map[string][]posting{}, sizes: make([]float64, len(facts))}
	for i, f := range facts {
		counts := map[string]float64{}
		for _, w := range stems(f.Content + " " + f.Avoid) {
			counts[w]++
			x.sizes[i]++
		}
		for w, n := range counts {
			x.postings[w] = append(x.postings[w], posting{i, n})
		}
		x.mean += x.sizes[i] / float64(len(facts))
		x.trusted = append(x.trusted, i)
	}
	slices.SortStableFunc(x.trusted, func(a, b int) int {
		return cmp.Or(cmp.Compare(facts[b].Confidence, facts[a].Confidence), facts[b].Updated.Compare(facts[a].Updated))
	})
	return x
}

// scores returns each fact's relevance to a request, 0 for most.
func (x *index) scores(request string) []float64 {
	scores := make([]float64, len(x.facts))
	seen := map[string]bool{}
	for _, w := range stems(request) {
		list := x.postings[w]
		if seen[w] || len(list) == 0 {
			continue
		}
		if seen[w] = true; len(seen) > maxTerms {
			break
		}
		n, all := float64(len(list)), float64(len(x.facts))
		rare := math.Log(1 + (all-n+0.5)/(n+0.5))
		for _, p := range list {
			scores[p.fact] += rare * p.count * (saturation + 1) / (p.count +
				saturation*(1-lengths+lengths*x.sizes[p.fact]/x.mean))
		}
	}
	return scores
}

// stems returns the stemmed words of a text without common ones.
func stems(text string) []string {
	list := store.Words(text)
	out := list[:0]
	for _, w := range list {
		if !common(w) {
			out = append(out, stem(w))
		}
	}
	return out
}

// common reports whether a word doesn't distinguish texts.
func common(w string) bool {
	switch w {
	case "a", "an", "the", "and", "or", "but", "if", "of", "to", "in", "on", "at", "by", "for", "with", "from",
		"as", "is", "are", "was", "were", "be", "been",
		"am", "do", "does", "did", "has", "have", "had", "i", "me", "my", "mine", "you", "your", "we", "our",
		"us", "it", "its", "he", "she", "they", "them", "his", "her", "their",
		"this", "that", "these", "those", "there", "what", "which", "who", "whom", "when", "where", "why", "how", "can",
		"could", "will", "would", "should", "shall", "may", "might",
		"not", "no", "so", "than", "then", "too", "very", "just", "about", "into", "s", "t", "m", "d", "re", "ve", "ll",
		"user", "please", "tell",
		"的", "了", "是", "我", "你", "在", "有", "吗", "呢", "什么", "用户", "户的", "我的", "你的", "一个", "怎么", "是什", "我是", "是我":
		return true
	}
	return false
}

// endings returns suffixes of English words, longest first within a kind: inflections, then derivations. Each leaves
// a minimum number of letters.
func endings() []ending {
	return []ending{
		{"ically", 4}, {"ations", 4}, {"ation", 4}, {"itions", 4}, {"ition", 4}, {"ional", 4}, {"ities", 4}, {"ments", 4}, {"ment", 4},
		{"ness", 4}, {"ical", 4}, {"ists", 4}, {"isms", 4}, {"ings", 4}, {"ions", 4}, {"ives", 4}, {"ally", 4}, {"ity", 4}, {"ist", 4},
		{"ism", 4}, {"ing", 3}, {"ion", 4}, {"ive", 4}, {"ics", 4}, {"ies", 3}, {"ied", 3}, {"ers", 5}, {"ors", 5}, {"ic", 4}, {"er", 5},
		{"or", 5}, {"ly", 4}, {"al", 4}, {"ed", 3}, {"es", 4}, {"s", 3},
	}
}

type ending struct {
	text  string
	least int
}

// stem removes English endings from a word, so that its forms are equal: allergy, allergies, allergic. The stem need
// not be a word.
func stem(w string) string {
	if len(w) < 4 || w[0] < 'a' || w[0] > 'z' || strings.HasSuffix(w, "ss") {
		return w
	}
	for _, e := range endings() {
		s, ok := strings.CutSuffix(w, e.text)
		if !ok || len(s) < e.least {
			continue
		}
		w = s
		if n := len(w); n > 3 && w[n-1] == w[n-2] && strings.IndexByte("bdgmnprt", w[n-1]) >= 0 {
			w = w[:n-1] // running, planned
		}
		break
	}
	if n := len(w); n > 3 && (w[n-1] == 'e' || w[n-1] == 'y' || w[n-1] == 'i') {
		w = w[:n-1]
	}
	return w
}
