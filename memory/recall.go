package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// How facts are chosen.
const (
	sure   = 0.15 // of the best match's score, for a confidence of 1
	recent = 0.10 // the same, for a fact of today
	weak   = 0.25 // of the best match's score: lower ones are irrelevant
	spare  = 3    // divisor of the share of places for unrelated facts
)

// Question is a request that something may be known about.
type Question struct {
	Owner, Agent, Thread string
	Text                 string
	Told                 []string // ids of facts and summaries that the conversation already contains
}

// Recalled is the memory text for a model.
type Recalled struct {
	Text string
	IDs  []string // ids of the facts and summaries; those of summaries begin with [SummaryID]
}

// SummaryID is the id prefix of a summary's version.
const SummaryID = "summary:"

// Recall finds facts relevant to a request that the conversation lacks. It is empty if memory is switched off.
func (s *Service) Recall(ctx context.Context, q Question) (Recalled, error) {
	rules := s.Rules()
	if !rules.Enabled || !rules.Inject {
		return Recalled{}, nil
	}
	if muted, err := s.Muted(ctx, q.Owner); muted || err != nil {
		return Recalled{}, err
	}
	off, project, err := s.place(ctx, q.Thread)
	if off || err != nil {
		return Recalled{}, err
	}
	scope := Scope{q.Owner, []string{q.Owner}}
	if project != "" {
		scope, err = s.scope(ctx, q.Owner, q.Thread)
	}
	if err != nil {
		return Recalled{}, err
	}
	var all Recalled
	for _, owner := range scope.Read { // each uses the budget left by the previous one
		b, err := s.snapshot(ctx, owner)
		if err != nil {
			return Recalled{}, err
		}
		r := s.render(rules, b, q)
		rules.InjectTokens -= tokens(r.Text)
		rules.InjectFacts -= min(rules.InjectFacts, len(r.IDs))
		all.Text = strings.TrimPrefix(all.Text+"\n"+r.Text, "\n")
		all.IDs = append(all.IDs, r.IDs...)
	}
	all.Text = strings.TrimSuffix(all.Text, "\n")
	return all, nil
}

// render writes the chosen facts within the budget.
func (s *Service) render(rules Rules, b *snapshot, q Question) (r Recalled) {
	left := rules.InjectTokens
	summary := s.summary(b)
	if id := SummaryID + hash(summary); summary != "" && !slices.Contains(q.Told, id) && tokens(summary) <= left {
		r.Text, r.IDs = summary, append(r.IDs, id)
		left -= tokens(summary)
	}
	var lines []string
	for _, f := range rules.choose(b.index(q.Agent), q, s.now()) {
		line := s.line(f)
		if cost := tokens(line) + 1; cost <= left {
			left -= cost
			lines, r.IDs = append(lines, line), append(r.IDs, f.ID)
		}
	}
	if len(lines) > 0 {
		r.Text = strings.TrimPrefix(r.Text+"\nFacts:\n"+strings.Join(lines, "\n"), "\n")
	}
	return r
}

// summary writes the summaries there are.
func (s *Service) summary(b *snapshot) string {
	var parts []string
	for _, group := range []struct {
		title    string
		sections [][2]string
	}{
		{"User Context:", [][2]string{{"Work", "user.workContext"}, {"Personal", "user.personalContext"},
			{"Current Focus", "user.topOfMind"}}},
		{"History:", [][2]string{{"Recent", "history.recentMonths"}, {"Earlier", "history.earlierContext"},
			{"Background", "history.longTermBackground"}}},
	} {
		var lines []string
		for _, sec := range group.sections {
			if text := b.sections[sec[1]].Summary; text != "" {
				lines = append(lines, "- "+sec[0]+": "+s.Escape(text))
			}
		}
		if lines != nil {
			parts = append(parts, group.title+"\n"+strings.Join(lines, "\n"))
		}
	}
	return strings.Join(parts, "\n")
}

func (s *Service) line(f Fact) string {
	line := fmt.Sprintf("- [%s | %.2f] %s", s.Escape(f.Category), f.Confidence, s.Escape(f.Content))
	if f.Avoid != "" {
		line += " (avoid: " + s.Escape(f.Avoid) + ")"
	}
	return line
}

// choose selects facts for a request: those of guaranteed categories first, up to their own budget and half of the
// places, then the best matches. At the start of a conversation it adds a few with high confidence.
func (r Rules) choose(x *index, q Question, now time.Time) []Fact {
	scores, best := x.scores(q.Text), 0.0
	for _, v := range scores {
		best = math.Max(best, v)
	}
	taken := map[int]bool{}
	for i, f := range x.facts {
		if slices.Contains(q.Told, f.ID) {
			taken[i] = true
		}
	}
	first := len(taken) == 0
	var fit, guaranteed []int
	for _, i := range x.trusted {
		switch {
		case taken[i]:
		case slices.Contains(r.Guaranteed, x.facts[i].Category):
			guaranteed = append(guaranteed, i)
		case scores[i] > 0 && (first || scores[i] >= weak*best):
			fit = append(fit, i)
		}
	}
	weight := func(i int) float64 {
		days := math.Max(now.Sub(x.facts[i].Updated).Hours()/24, 0)
		return scores[i] + best*(sure*x.facts[i].Confidence+recent/(1+days/30))
	}
	byWeight := func(a, b int) int { return cmp.Compare(weight(b), weight(a)) }
	slices.SortStableFunc(guaranteed, byWeight)
	slices.SortStableFunc(fit, byWeight)
	var out []Fact
	take := func(i int) {
		taken[i] = true
		out = append(out, x.facts[i])
	}
	left := r.GuaranteedTokens
	for _, i := range guaranteed[:min(len(guaranteed), (r.InjectFacts+1)/2)] {
		if left -= tokens(x.facts[i].Content); left < 0 {
			break
		}
		take(i)
	}
	for _, i := range fit[:min(len(fit), r.InjectFacts-len(out))] {
		take(i)
	}
	if !first {
		return out
	}
	more := min(r.InjectFacts-len(out), r.InjectFacts/spare)
	for _, i := range x.trusted {
		if more <= 0 {
			break
		}
		if !taken[i] {
			take(i)
			more--
		}
	}
	return out
}

// tokens estimates the tokens of a text: one per four letters, or per character of other scripts.
func tokens(s string) int {
	letters, others := 0, 0
	for _, r := range s {
		if r < 0x80 {
			letters++
		} else {
			others++
		}
	}
	return (letters+3)/4 + others
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
