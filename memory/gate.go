package memory

import (
	"math"
	"slices"
	"time"
)

// maxDays is the longest time for which a fact may be declared valid.
const maxDays = 36500

// gate applies a model's answer to a snapshot as far as the rules allow.
type gate struct {
	rules   Rules
	now     time.Time
	agent   string
	thread  string
	message string   // the person's last message, the default source of facts
	stale   []string // ids of facts that were up for review
}

// outcome counts the results of an answer.
type outcome struct{ added, confirmed, removed, rejected int }

func (g gate) apply(b *snapshot, a answer) (o outcome) {
	o.rejected = a.rejected
	g.summaries(b, a)
	for _, id := range a.reinforce {
		if i := b.find(g.agent, id); i >= 0 {
			g.confirm(b, i, b.facts[i].Confidence)
			o.confirmed++
		}
	}
	landed := map[int]string{} // index in the answer -> id of the fact
	for i, n := range a.facts {
		switch id, fresh := g.admit(b, n); {
		case n == nil: // counted already
		case id == "":
			o.rejected++
		case fresh:
			landed[i] = id
			o.added++
		default:
			landed[i] = id
			o.confirmed++
		}
	}
	b.trim(g.agent, g.rules.MaxFacts)
	o.removed = g.corrections(b, a, landed) + g.review(b, a)
	return o
}

// summaries applies summaries that describe the person as they are.
func (g gate) summaries(b *snapshot, a answer) {
	for _, name := range SectionNames() {
		c, ok := a.sections[name]
		text := clean(c.Summary)
		if !ok || !c.Should || c.Scope != "user" || c.Authority != "descriptive" || text == "" ||
			len(text) > maxSummary || text == b.sections[name].Summary {
			continue
		}
		b.sections[name] = Section{text, stamp(g.now)}
	}
}

// admit takes a fact that passes and returns its id; fresh is false if it was known.
func (g gate) admit(b *snapshot, n *newFact) (id string, fresh bool) {
	if n == nil || n.Scope != "user" || n.Durability != "durable" || n.Authority != "descriptive" ||
		!(n.Confidence >= g.rules.Confidence) {
		return "", false
	}
	f := Fact{ID: newID(), Content: n.Content, Category: n.Category, Confidence: n.Confidence, Source: g.thread,
		Message: n.message, Avoid: clean(n.Avoid),
		ValidDays: g.lifetime(n.ValidDays), Agent: g.agent, Created: g.now, Updated: g.now}
	if f.Message == "" {
		f.Message = g.message
	}
	if f.check() != nil {
		return "", false
	}
	if i := b.same(g.agent, f.Content); i >= 0 {
		g.confirm(b, i, f.Confidence)
		return b.facts[i].ID, false
	}
	b.facts = append(b.facts, f)
	return f.ID, true
}

// lifetime limits the validity of a new fact.
func (g gate) lifetime(days int) int {
	most := int(math.Min(float64(g.rules.StaleDays)*g.rules.StaleLifetime, maxDays))
	return max(0, min(days, most))
}

// confirm records that a fact was said again.
func (g gate) confirm(b *snapshot, i int, confidence float64) {
	f := b.facts[i]
	f.Confidence, f.Updated = math.Max(f.Confidence, confidence), g.now
	b.facts[i] = f
}

// corrections removes facts that the answer contradicts if their replacement was admitted.
func (g gate) corrections(b *snapshot, a answer, landed map[int]string) (n int) {
	for _, r := range a.remove {
		if r.Scope != "user" {
			continue
		}
		by := ""
		if r.Replacement != nil {
			if by = landed[*r.Replacement]; by == "" || by == r.ID || b.find(g.agent, by) < 0 {
				continue
			}
		}
		if i := b.find(g.agent, r.ID); i >= 0 {
			b.remove(i)
			n++
		}
	}
	return n
}

// review removes expired facts, and extends others.
func (g gate) review(b *snapshot, a answer) (n int) {
	for _, id := range a.staleGone {
		i := b.find(g.agent, id)
		if n == g.rules.StaleMost || i < 0 || !slices.Contains(g.stale, id) {
			continue
		}
		b.remove(i)
		n++
	}
	for _, e := range a.staleLater {
		i := b.find(g.agent, e.ID)
		if i < 0 || e.Days <= 0 || !slices.Contains(g.stale, e.ID) {
			continue
		}
		f := b.facts[i]
		age := int(g.now.Sub(f.Created).Hours() / 24)
		f.ValidDays = min(age+min(e.Days, maxDays), g.rules.StaleExtend)
		f.Updated = g.now
		b.facts[i] = f
	}
	return n
}

// stale returns an agent's facts past their expected validity, if there are enough for a review.
func (r Rules) stale(b *snapshot, agent string, now time.Time) []Fact {
	if !r.Review {
		return nil
	}
	var list []Fact
	for _, f := range b.of(agent) {
		since, days := f.Updated, r.StaleDays
		if f.ValidDays > 0 {
			since, days = f.Created, f.ValidDays
		}
		if !slices.Contains(r.StaleKeep, f.Category) && now.Sub(since) > time.Duration(days)*24*time.Hour {
			list = append(list, f)
		}
	}
	if len(list) < r.StaleLeast {
		return nil
	}
	return list
}
