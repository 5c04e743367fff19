package eval

import (
	"maps"
	"slices"
)

// Answer is the recorded output of a run. It is stored unmodified, so that a rubric can be changed without asking
// again.
type Answer struct {
	ID       string            `json:"id"` // id of the question
	Key      string            `json:"key"`
	Status   string            `json:"status"` // success, error, timeout, needs_answer, cut_off or cancelled
	Error    string            `json:"error,omitempty"`
	Text     string            `json:"answer"`
	Reports  map[string]string `json:"reports,omitempty"` // presented Markdown files, by path
	Other    []string          `json:"other_files,omitempty"`
	Opened   []Opened          `json:"opened"`
	Seen     string            `json:"seen"` // hash of the opened pages' content
	Searches int               `json:"searches"`
	Usage    Usage             `json:"usage"`
	Cost     *float64          `json:"cost,omitempty"` // nil where no price is known
	Currency string            `json:"currency,omitempty"`
	Seconds  float64           `json:"seconds"`
	Thread   string            `json:"thread_id,omitempty"`
	Judged   *Judged           `json:"judged,omitempty"`
}

// Usage is the token usage of a run.
type Usage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Total  int `json:"total_tokens"`
	Calls  int `json:"model_calls"`
}

// Opened is a page that a run read, or tried to.
type Opened struct {
	URL string `json:"url"`
	OK  bool   `json:"ok"`
}

// Verdict is the judgement of a citation.
type Verdict string

// The verdicts.
const (
	Holds       Verdict = "holds"       // the page was opened and supports it
	Unsupported Verdict = "unsupported" // it was opened, and no passage supports it
	NotOpened   Verdict = "not_opened"  // the run never opened it
	Unreachable Verdict = "unreachable" // it can't be opened: the address is dead, or made up
)

// Citation is a citation with its verdict.
type Citation struct {
	Cited
	Verdict Verdict  `json:"verdict"`
	Allowed bool     `json:"allowed"`           // it is among the sources of the question
	Missing []string `json:"missing,omitempty"` // numbers and names that no passage has
	Quote   string   `json:"quote,omitempty"`   // the passage that fits best
	Judge   *Opinion `json:"judge,omitempty"`
}

// Covered is a point with the sentences that cover it.
type Covered struct {
	Point    string   `json:"point"`
	Weight   float64  `json:"weight"`
	Covered  bool     `json:"covered"`
	Sentence string   `json:"sentence,omitempty"`
	Judge    *Opinion `json:"judge,omitempty"`
}

// Made is a forbidden claim that was made.
type Made struct {
	Claim    string   `json:"claim"`
	Sentence string   `json:"sentence,omitempty"`
	Judge    *Opinion `json:"judge,omitempty"`
}

// Measures are the figures of one answer.
type Measures struct {
	Citations []Citation `json:"citations"`
	Points    []Covered  `json:"points"`
	Forbidden []Made     `json:"forbidden"` // made ones only
	Uncited   []string   `json:"uncited"`   // sentences with a number and no citation
}

// Held returns the number of valid citations, and of all.
func (m Measures) Held() (held, all int) {
	for _, c := range m.Citations {
		if c.Verdict == Holds {
			held++
		}
	}
	return held, len(m.Citations)
}

// Coverage returns the weight of the covered points, and the total.
func (m Measures) Coverage() (covered, all float64) {
	for _, p := range m.Points {
		all += p.Weight
		if p.Covered {
			covered += p.Weight
		}
	}
	return covered, all
}

// Measure judges an answer by its words and numbers.
func Measure(w *Web, q Question, a Answer) (m Measures) {
	texts := []string{a.Text}
	for _, path := range a.paths() {
		texts = append(texts, a.Reports[path])
	}
	read := readAnswer(texts...)
	known := namesOf(append(read.sentences, q.Question)...)
	m.Uncited = read.uncited
	for _, c := range read.cited {
		m.Citations = append(m.Citations, judgeCitation(w, q, a, c, known))
	}
	for _, p := range q.Points {
		s, ok := says(read.sentences, p.Any, p.Point, known, nil)
		m.Points = append(m.Points, Covered{Point: p.Point, Weight: p.Weight, Covered: ok, Sentence: s})
	}
	for _, f := range q.Forbidden {
		if s, ok := says(read.sentences, f.Any, f.Claim, known, f.Unless); ok {
			m.Forbidden = append(m.Forbidden, Made{Claim: f.Claim, Sentence: s})
		}
	}
	return m
}

// paths returns the sorted paths of the reports.
func (a Answer) paths() []string { return slices.Sorted(maps.Keys(a.Reports)) }

func judgeCitation(w *Web, q Question, a Answer, c Cited, known names) Citation {
	at := w.Resolve(c.URL)
	out := Citation{Cited: c, Allowed: q.Allows(at)}
	same := func(o Opened) bool { return w.Resolve(o.URL) == at }
	p := w.page(c.URL)
	switch {
	case p == nil:
		out.Verdict = Unreachable
		return out
	case !slices.ContainsFunc(a.Opened, func(o Opened) bool { return o.OK && same(o) }):
		out.Verdict = NotOpened
		return out
	}
	out.Verdict = Unsupported
	var best fit
	for i, text := range append([]string{c.Claim}, c.Parts...) {
		one := claimOf(text, known)
		if one.empty() {
			continue
		}
		f, quote := one.find(p)
		if f.holds(one) {
			out.Verdict, out.Missing, out.Quote = Holds, nil, headOf(quote, 400)
			return out
		}
		if i == 0 || f.better(best) {
			best, out.Missing, out.Quote = f, f.missing, headOf(quote, 400)
		}
	}
	return out
}
