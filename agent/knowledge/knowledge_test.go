package knowledge_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"fawn/store"
)

// moody is a model that may fail.
type moody struct {
	knowing
	fails *atomic.Bool
}

var errDown = errors.New("the model is down")

func (m moody) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.fails.Load() {
		return nil, errDown
	}
	return m.knowing.Embed(ctx, texts)
}

// TestAFailingModelLeavesTheWords: a search goes on without it.
func TestAFailingModelLeavesTheWords(t *testing.T) {
	t.Parallel()
	m := moody{knowing{[]term{{"price", "cost"}}, 64}, &atomic.Bool{}}
	s := read(t, kept(t, map[string]string{"a.md": "The price is high.", "b.md": "The weather is fine."}), m)
	find := func(query string) string {
		t.Helper()
		hits, err := s.Search(t.Context(), []store.Collection{s.in}, query, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) == 0 {
			return ""
		}
		return hits[0].Document.Name
	}
	if got := find("cost"); got != "a.md" {
		t.Errorf("by meaning: %q", got)
	}
	m.fails.Store(true)
	if a, b := find("price"), find("cost"); a != "a.md" || b != "" {
		t.Errorf("without the model: %q %q", a, b)
	}
}

// TestPassagesThatAreGoneAreNotFoundByMeaning, although their vectors were in memory.
func TestPassagesThatAreGoneAreNotFoundByMeaning(t *testing.T) {
	t.Parallel()
	s := read(t, kept(t, map[string]string{"a.md": "The price is high.", "b.md": "The price is low."}), knowing{nil, 64})
	search := func() (names []string) {
		t.Helper()
		hits, err := s.Search(t.Context(), []store.Collection{s.in}, "price", nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			names = append(names, h.Document.Name)
		}
		return names
	}
	if got := search(); len(got) != 2 {
		t.Fatalf("found %v", got)
	}
	d, err := s.db.CollectionDocumentNamed(t.Context(), s.in.ID, "a.md")
	if err == nil {
		err = s.db.RemoveDocument(t.Context(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := search(); len(got) != 1 || got[0] != "b.md" {
		t.Errorf("found %v", got)
	}
}
