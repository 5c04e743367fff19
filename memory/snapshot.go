package memory

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"fawn/store"
)

// snapshot is all that is remembered about one owner at one revision. It does not change once others can see it.
type snapshot struct {
	revision int64
	updated  time.Time
	sections map[string]Section
	extra    map[string]json.RawMessage
	facts    []Fact // facts of all agents, oldest first
	indexes  *indexes
}

func newID() string { return "fact_" + strings.ToLower(rand.Text()[:16]) }

// clone returns a copy for modification. Sections and facts are values, replaced as a whole.
func (b *snapshot) clone() *snapshot {
	c := *b
	c.sections, c.extra, c.facts = maps.Clone(b.sections), maps.Clone(b.extra), slices.Clone(b.facts)
	return &c
}

// of returns the facts of one agent.
func (b *snapshot) of(agent string) []Fact {
	var list []Fact
	for _, f := range b.facts {
		if f.Agent == agent {
			list = append(list, f)
		}
	}
	return list
}

// find returns the place of an agent's fact, or -1.
func (b *snapshot) find(agent, id string) int {
	return slices.IndexFunc(b.facts, func(f Fact) bool { return f.Agent == agent && f.ID == id })
}

// same returns the index of an agent's fact with the same statement, or -1.
func (b *snapshot) same(agent, content string) int {
	want := folded(content)
	return slices.IndexFunc(b.facts, func(f Fact) bool { return f.Agent == agent && folded(f.Content) == want })
}

func (b *snapshot) remove(i int) { b.facts = slices.Delete(b.facts, i, i+1) }

// trim leaves an agent the facts it is surest of. Of equally sure ones the newer stay. 0 leaves
// all.
func (b *snapshot) trim(agent string, most int) {
	mine := b.of(agent)
	if most <= 0 || len(mine) <= most {
		return
	}
	slices.SortStableFunc(mine, func(x, y Fact) int {
		if x.Confidence != y.Confidence {
			return compare(y.Confidence, x.Confidence)
		}
		return y.Updated.Compare(x.Updated)
	})
	gone := map[string]bool{}
	for _, f := range mine[most:] {
		gone[f.ID] = true
	}
	b.facts = slices.DeleteFunc(b.facts, func(f Fact) bool { return f.Agent == agent && gone[f.ID] })
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// document returns the document for the API: the lead agent's facts.
func (b *snapshot) document() Document {
	return Document{Revision: b.revision, Updated: b.updated, Sections: b.sections, Facts: b.of(""), Extra: b.extra}
}

// read decodes stored memory.
func read(m store.Memory) (*snapshot, error) {
	d, err := Parse(m.Body)
	if err != nil {
		return nil, fmt.Errorf("the stored summaries: %w", err)
	}
	b := &snapshot{revision: m.Revision, updated: m.Updated, sections: d.Sections, extra: d.Extra, indexes: &indexes{}}
	for _, row := range m.Facts {
		f := Fact{ID: row.ID, Content: row.Content, Category: row.Category, Confidence: row.Confidence,
			Source: row.Source, Message: row.Message,
			Agent: row.Agent, Revision: row.Revision, Created: row.Created, Updated: row.Updated}
		var known struct {
			Avoid     string `json:"sourceError"`
			ValidDays int    `json:"expected_valid_days"`
		}
		if err := json.Unmarshal(row.Extra, &known); err != nil {
			return nil, fmt.Errorf("fact %s: %w", row.ID, err)
		}
		if err := json.Unmarshal(row.Extra, &f.Extra); err != nil {
			return nil, fmt.Errorf("fact %s: %w", row.ID, err)
		}
		delete(f.Extra, "sourceError")
		delete(f.Extra, "expected_valid_days")
		f.Avoid, f.ValidDays = known.Avoid, known.ValidDays
		b.facts = append(b.facts, f)
	}
	return b, nil
}

// body returns the stored data other than facts.
func (b *snapshot) body() (json.RawMessage, error) {
	d := Document{Sections: b.sections, Extra: b.extra}
	return d.MarshalJSON()
}

func row(f Fact) (store.Fact, error) {
	extra := maps.Clone(f.Extra)
	if extra == nil {
		extra = map[string]json.RawMessage{}
	}
	for key, v := range map[string]any{"sourceError": f.Avoid, "expected_valid_days": f.ValidDays} {
		if v == "" || v == 0 {
			continue
		}
		b, err := encode(v)
		if err != nil {
			return store.Fact{}, err
		}
		extra[key] = b
	}
	b, err := encode(extra)
	return store.Fact{Agent: f.Agent, ID: f.ID, Content: f.Content, Category: f.Category, Confidence: f.Confidence,
		Source: f.Source, Message: f.Message,
		Created: f.Created, Updated: f.Updated, Extra: b}, err
}

// difference returns the change from before to after. ok is false if there is none.
func difference(before, after *snapshot) (c store.MemoryChange, ok bool, err error) {
	c.From = before.revision
	was, err := before.body()
	if err != nil {
		return c, false, err
	}
	is, err := after.body()
	if err != nil {
		return c, false, err
	}
	if !bytes.Equal(was, is) || before.revision == 0 {
		c.Body = is
	}
	old := map[store.FactKey]Fact{}
	for _, f := range before.facts {
		old[store.FactKey{Agent: f.Agent, ID: f.ID}] = f
	}
	for _, f := range after.facts {
		key := store.FactKey{Agent: f.Agent, ID: f.ID}
		had, known := old[key]
		delete(old, key)
		if known && reflect.DeepEqual(had, f) {
			continue
		}
		r, err := row(f)
		if err != nil {
			return c, false, err
		}
		c.Put = append(c.Put, r)
	}
	for key := range old {
		c.Delete = append(c.Delete, key)
	}
	return c, c.Body != nil && !bytes.Equal(was, is) || len(c.Put)+len(c.Delete) > 0, nil
}
