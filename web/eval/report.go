package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"fawn/web/client"
)

// Outcome is the result of one question.
type Outcome struct {
	Question Question `json:"question"`
	Answer   Answer   `json:"answer"`
	Measures Measures `json:"measures"`
	Kept     bool     `json:"-"` // it had been answered before
}

// Totals are sums over questions. Shares are between 0 and 1, and nil if there is nothing to share.
type Totals struct {
	Questions int                `json:"questions"`
	Failed    int                `json:"failed"` // runs without an answer
	Held      int                `json:"citations_held"`
	Citations int                `json:"citations"`
	Foreign   int                `json:"citations_not_allowed"`
	HeldShare *float64           `json:"citations_held_share"`
	Coverage  *float64           `json:"coverage"` // mean of the questions
	Forbidden int                `json:"forbidden"`
	Uncited   int                `json:"uncited"`
	Tokens    int                `json:"total_tokens"`
	Costs     map[string]float64 `json:"costs"` // by currency
	Unpriced  int                `json:"unpriced"`
	Seconds   float64            `json:"seconds"`
	// Shares by the judge, if there was one.
	JudgeHeld     *float64 `json:"judge_citations_held_share,omitempty"`
	JudgeCoverage *float64 `json:"judge_coverage,omitempty"`
	JudgeTokens   int      `json:"judge_tokens,omitempty"`
}

// Report is the result of an evaluation.
type Report struct {
	Suite    string    `json:"suite"`
	Model    string    `json:"model"` // "" is the server's choice
	Mode     string    `json:"mode,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Skill    string    `json:"skill,omitempty"`
	Judge    string    `json:"judge,omitempty"`
	Pages    int       `json:"pages"`
	Web      string    `json:"web"` // hash of the pages
	Totals   Totals    `json:"totals"`
	LeftOut  []string  `json:"left_out,omitempty"` // questions whose pages aren't on this machine
	Outcomes []Outcome `json:"outcomes"`
}

func newReport(r *runner, outcomes []Outcome, left []string) *Report {
	out := &Report{Suite: r.suite.Dir, Model: r.Model, Mode: r.Mode, Agent: r.Agent, Skill: r.Skill, Judge: r.Judge,
		Pages: r.suite.Web.Len(), Web: r.suite.Web.Sum(), LeftOut: left, Outcomes: outcomes}
	t := &out.Totals
	t.Costs = map[string]float64{}
	var coverage, judged mean
	var held mean
	for _, o := range outcomes {
		t.Questions++
		if !o.answered() {
			t.Failed++
		}
		h, all := o.Measures.Held()
		t.Held, t.Citations = t.Held+h, t.Citations+all
		for _, c := range o.Measures.Citations {
			if !c.Allowed {
				t.Foreign++
			}
			if c.Judge != nil {
				held.add(c.Judge.Yes)
			}
		}
		covered, weight := o.Measures.Coverage()
		coverage.sum, coverage.n = coverage.sum+covered/weight, coverage.n+1
		for _, p := range o.Measures.Points {
			if p.Judge != nil {
				judged.add(p.Judge.Yes)
			}
		}
		t.Forbidden += len(o.Measures.Forbidden)
		t.Uncited += len(o.Measures.Uncited)
		t.Tokens += o.Answer.Usage.Total
		t.Seconds += o.Answer.Seconds
		if o.Answer.Cost != nil {
			t.Costs[o.Answer.Currency] += *o.Answer.Cost
		} else {
			t.Unpriced++
		}
		if o.Answer.Judged != nil && r.Judge != "" {
			t.JudgeTokens += o.Answer.Judged.Tokens
		}
	}
	if t.Citations > 0 {
		share := float64(t.Held) / float64(t.Citations)
		t.HeldShare = &share
	}
	t.Coverage, t.JudgeHeld, t.JudgeCoverage = coverage.value(), held.value(), judged.value()
	return out
}

// mean accumulates a mean.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(yes bool) {
	m.n++
	if yes {
		m.sum++
	}
}

func (m *mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	v := m.sum / float64(m.n)
	return &v
}

// answered reports whether the run ended with an answer.
func (o Outcome) answered() bool {
	return slices.Contains([]string{string(client.Success), string(client.CutOff)}, o.Answer.Status) && o.Answer.Text != ""
}

// cells returns the columns of the table.
func (o Outcome) cells() []string {
	held, all := o.Measures.Held()
	covered, weight := o.Measures.Coverage()
	return []string{o.Question.ID, o.Answer.Status, part(float64(held), float64(all)), part(covered, weight),
		strconv.Itoa(len(o.Measures.Forbidden)), strconv.Itoa(o.Answer.Usage.Total), money(o.Answer.Cost, o.Answer.Currency),
		fmt.Sprintf("%.0f s", o.Answer.Seconds)}
}

func (o Outcome) line() string {
	c := o.cells()
	text := fmt.Sprintf("· %s: %s, citations %s, points %s, forbidden %s, %s tokens", c[0], c[1], c[2], c[3], c[4], c[5])
	if o.Kept {
		text += " (kept from before)"
	}
	if o.Answer.Error != "" {
		text += ": " + headOf(strings.Join(strings.Fields(o.Answer.Error), " "), 200)
	}
	return text
}

func part(some, all float64) string {
	if all == 0 {
		return "–"
	}
	return fmt.Sprintf("%s/%s %.0f %%", short(some), short(all), 100*some/all)
}

func short(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", *v*100)
}

func money(v *float64, currency string) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 4, 64) + " " + currency
}

func (t Totals) cells() []string {
	costs := "–"
	for _, c := range slices.Sorted(maps.Keys(t.Costs)) {
		costs = money(ptr(t.Costs[c]), c)
	}
	if len(t.Costs) > 1 {
		costs = "several currencies"
	}
	return []string{"all", fmt.Sprintf("%d/%d answered", t.Questions-t.Failed, t.Questions),
		part(float64(t.Held), float64(t.Citations)), percent(t.Coverage), strconv.Itoa(t.Forbidden), strconv.Itoa(t.Tokens),
		costs, fmt.Sprintf("%.0f s", t.Seconds)}
}

func ptr(v float64) *float64 { return &v }

// head names agent, model and suite.
func (r *Report) head() string {
	parts := []string{"model " + cmp.Or(r.Model, "of the configuration")}
	if r.Mode != "" {
		parts = append(parts, "mode "+r.Mode)
	}
	if r.Agent != "" {
		parts = append(parts, "agent "+r.Agent)
	}
	if r.Skill != "" {
		parts = append(parts, "skill "+r.Skill)
	}
	if r.Judge != "" {
		parts = append(parts, "judge "+r.Judge)
	}
	return strings.Join(append(parts, fmt.Sprintf("%d questions, %d pages", len(r.Outcomes), r.Pages)), " · ")
}

func columns() []string {
	return []string{"question", "run", "citations hold", "points", "forbidden", "tokens", "cost", "time"}
}

// Print writes the table.
func (r *Report) Print(out io.Writer) error {
	if _, err := fmt.Fprintf(out, "%s\n\n", r.head()); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rows := [][]string{columns()}
	for _, o := range r.Outcomes {
		rows = append(rows, o.cells())
	}
	for _, row := range append(rows, r.Totals.cells()) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Judge != "" {
		if _, err := fmt.Fprintf(out, "\nthe judge: %s of the citations it saw hold, %s of the points are covered (%d tokens)\n",
			percent(r.Totals.JudgeHeld), percent(r.Totals.JudgeCoverage), r.Totals.JudgeTokens); err != nil {
			return err
		}
	}
	if len(r.LeftOut) > 0 {
		_, err := fmt.Fprintf(out, "\nleft out, as pages that they need are not on this machine: %s\n", strings.Join(r.LeftOut, ", "))
		return err
	}
	return nil
}

// save writes results.json and report.md.
func (r *Report) save(dir string) error {
	if err := writeJSON(filepath.Join(dir, "results.json"), r); err != nil {
		return err
	}
	return replace(filepath.Join(dir, "report.md"), []byte(r.markdown()))
}

// markdown returns the report for people.
func (r *Report) markdown() string {
	var b strings.Builder
	b.WriteString("# Evaluation of research\n\n" + r.head() + "\n\n")
	row := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	row(columns())
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, o := range r.Outcomes {
		row(o.cells())
	}
	row(r.Totals.cells())
	fmt.Fprintf(&b, "\n%d sentences with a number have no citation; %d citations name sources that the question does not allow.\n",
		r.Totals.Uncited, r.Totals.Foreign)
	if r.Judge != "" {
		fmt.Fprintf(&b, "By the judge, %s of the citations that it saw hold and %s of the points are covered.\n",
			percent(r.Totals.JudgeHeld), percent(r.Totals.JudgeCoverage))
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "Left out, as pages that they need are not on this machine: %s.\n", strings.Join(r.LeftOut, ", "))
	}
	for _, o := range r.Outcomes {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", o.Question.ID, quoted(o.Question.Question))
		if o.Answer.Error != "" {
			fmt.Fprintf(&b, "The run failed: %s\n\n", inline(o.Answer.Error))
		}
		for _, p := range o.Measures.Points {
			state := "covered"
			if !p.Covered {
				state = "**missing**"
			}
			fmt.Fprintf(&b, "- point %s: %s%s\n", state, inline(p.Point), p.Judge.words("covered", "missing"))
		}
		for _, m := range o.Measures.Forbidden {
			fmt.Fprintf(&b, "- **forbidden**: %s: “%s”%s\n", inline(m.Claim), inline(m.Sentence), m.Judge.words("made", "not made"))
		}
		for _, c := range o.Measures.Citations {
			fmt.Fprintf(&b, "- citation %s%s: “%s” → <%s>%s%s\n", bold(string(c.Verdict), c.Verdict != Holds), foreign(c.Allowed),
				inline(c.Claim), c.URL, lacks(c.Missing), c.Judge.words("holds", "does not hold"))
		}
		for _, s := range o.Measures.Uncited {
			fmt.Fprintf(&b, "- no citation: “%s”\n", inline(s))
		}
		if o.Answer.Judged != nil && o.Answer.Judged.Error != "" {
			fmt.Fprintf(&b, "- the judge gave no verdict: %s\n", inline(o.Answer.Judged.Error))
		}
		if len(o.Answer.Other) > 0 {
			fmt.Fprintf(&b, "- files that were not read: %s\n", inline(strings.Join(o.Answer.Other, ", ")))
		}
		opened := 0
		for _, p := range o.Answer.Opened {
			opened += map[bool]int{true: 1}[p.OK]
		}
		fmt.Fprintf(&b, "\n%d searches, %d pages opened, %d model calls.\n", o.Answer.Searches, opened, o.Answer.Usage.Calls)
	}
	return b.String()
}

func (o *Opinion) words(yes, no string) string {
	if o == nil {
		return ""
	}
	text := " (judge: " + map[bool]string{true: yes, false: no}[o.Yes]
	if o.Why != "" {
		text += ", " + inline(o.Why)
	}
	return text + ")"
}

func lacks(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return "; no passage has " + inline(strings.Join(missing, ", "))
}

func foreign(allowed bool) string {
	if allowed {
		return ""
	}
	return ", not an allowed source"
}

func bold(s string, yes bool) string {
	if yes {
		return "**" + s + "**"
	}
	return s
}

// inline returns a text on one line without Markdown.
func inline(s string) string {
	s = headOf(strings.Join(strings.Fields(s), " "), 500)
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "<", "\\<", "[", "\\[", "|", "\\|").Replace(s)
}

func quoted(s string) string { return "> " + inline(s) }
