package knowledge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"fawn/store"
	"fawn/uploads"
)

const (
	maxQuery   = 4096 // bytes
	candidates = 60   // passages of each way of searching that are fused
	fusion     = 60   // how little the first places of a way stand out
	queryTime  = 10 * time.Second
)

// Hit is a passage that a search found.
type Hit struct {
	Collection store.Collection
	Document   store.Document
	Passage    uploads.Passage // its File is the path of the document, see [Path]
}

// Path names a document of a collection in citations, and below /mnt/user-data/knowledge.
func Path(c store.Collection, d store.Document) string { return c.Name + "/" + d.Name }

// Named returns the collections that a person may read, of those that have the names or ids, one for each. A name means
// a collection of the owners given, before those the person's own; one of somebody else's counts only where none of
// these has the name, the oldest of several: nobody gets into the chats of others by the name of their collection.
func (s *Service) Named(ctx context.Context, person string, names []string, owners ...string) ([]store.Collection, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := s.preferred(ctx, person, owners)
	var taken []string
	list = slices.DeleteFunc(list, func(c store.Collection) bool {
		same := func(n string) bool { return strings.EqualFold(n, c.Name) }
		switch {
		case slices.Contains(names, c.ID):
			return false
		case !slices.ContainsFunc(names, same), slices.ContainsFunc(taken, same):
			return true
		}
		taken = append(taken, c.Name)
		return false
	})
	slices.SortFunc(list, func(a, b store.Collection) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// preferred are the collections that a person may read: those of some owners, their own, those of others, the oldest
// first.
func (s *Service) preferred(ctx context.Context, person string, owners []string) ([]store.Collection, error) {
	list, err := s.cfg.DB.Collections(ctx, person)
	rank := func(c store.Collection) int {
		switch i := slices.Index(owners, c.Owner); {
		case i >= 0:
			return i
		case c.Role == store.ProjectOwner:
			return len(owners)
		}
		return len(owners) + 1
	}
	slices.SortFunc(list, func(a, b store.Collection) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// ranked is a passage in the order of one way of searching.
type ranked struct {
	in      int // index of its collection
	id      int64
	rank    float64 // less is better
	passage *store.Passage
}

// Search finds passages in collections that the caller has asked access for, the best first: by words, and by meaning
// where an embedding model is configured; that one failing leaves the words. files, if there are any, limits it to
// documents of these paths or names.
func (s *Service) Search(ctx context.Context, list []store.Collection, query string, files []string, limit int) ([]Hit, error) {
	query = cut(strings.TrimSpace(query), maxQuery)
	if query == "" || len(list) == 0 || limit < 1 {
		return nil, nil
	}
	var byWords []ranked
	for i, c := range list {
		found, err := s.cfg.DB.RankPassages(ctx, store.CollectionShelf(c.ID), query, candidates)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			byWords = append(byWords, ranked{i, r.ID, r.Rank, &r.Passage})
		}
	}
	byMeaning, err := s.near(ctx, list, query)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.cfg.Log.Warn("searching collections by words only", "err", err)
	}
	return s.hits(ctx, list, fuse(byWords, byMeaning), files, limit)
}

// fuse puts the passages of several orders into one: each counts by its places in them.
func fuse(orders ...[]ranked) []ranked {
	score := map[int64]float64{}
	all := []ranked{}
	at := map[int64]int{}
	for _, order := range orders {
		slices.SortStableFunc(order, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
		for i, r := range order[:min(len(order), candidates)] {
			if n, known := at[r.id]; !known {
				at[r.id] = len(all)
				all = append(all, r)
			} else if all[n].passage == nil {
				all[n].passage = r.passage
			}
			score[r.id] += 1 / float64(fusion+i+1)
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(score[b.id], score[a.id]) })
	return all
}

// hits looks up the passages of a result.
func (s *Service) hits(ctx context.Context, list []store.Collection, all []ranked, files []string, limit int) ([]Hit, error) {
	docs := make([]map[string]store.Document, len(list))
	for i, c := range list {
		var absent []int64
		for _, r := range all {
			if r.in == i && r.passage == nil {
				absent = append(absent, r.id)
			}
		}
		if len(absent) > 0 {
			read, err := s.cfg.DB.PassagesByID(ctx, store.CollectionShelf(c.ID), absent)
			if err != nil {
				return nil, err
			}
			for n, r := range all {
				if p, ok := read[r.id]; ok && r.in == i {
					all[n].passage = &p
				}
			}
		}
		var names []string
		for _, r := range all {
			if r.in == i && r.passage != nil {
				names = append(names, r.passage.File)
			}
		}
		if len(names) == 0 {
			continue
		}
		var err error
		if docs[i], err = s.cfg.DB.DocumentsByFile(ctx, c.ID, names); err != nil {
			return nil, err
		}
	}
	out := []Hit{}
	for _, r := range all {
		if len(out) == limit {
			break
		}
		if r.passage == nil {
			continue
		}
		d, ok := docs[r.in][r.passage.File]
		if !ok { // its source is gone
			continue
		}
		c := list[r.in]
		p := uploads.Passage(*r.passage)
		p.File = Path(c, d)
		if len(files) > 0 && !slices.ContainsFunc(files, func(f string) bool { return f == p.File || f == d.Name || strings.HasSuffix(f, "/"+p.File) }) {
			continue
		}
		out = append(out, Hit{Collection: c, Document: d, Passage: p})
	}
	return out, nil
}

// Find is a document by its path, with its text, for a person. Errors: store.ErrNotFound for who may not read it, too.
func (s *Service) Find(ctx context.Context, person, at string) (c store.Collection, d store.Document, text string, err error) {
	list, err := s.preferred(ctx, person, nil)
	if err != nil {
		return c, d, "", err
	}
	return s.FindIn(ctx, list, at)
}

// FindIn is Find in collections that the caller has asked access for.
func (s *Service) FindIn(ctx context.Context, list []store.Collection, at string) (c store.Collection, d store.Document,
	text string, err error) {
	if c, d, err = s.find(ctx, list, at); err == nil {
		text, err = s.cfg.DB.DocumentText(ctx, d.ID)
	}
	return c, d, text, err
}

func (s *Service) find(ctx context.Context, list []store.Collection, at string) (c store.Collection, d store.Document, err error) {
	name, doc, _ := strings.Cut(at, "/")
	err = store.ErrNotFound
	for _, c = range list {
		if !strings.EqualFold(c.Name, name) {
			continue
		}
		if d, err = s.cfg.DB.CollectionDocumentNamed(ctx, c.ID, doc); !errors.Is(err, store.ErrNotFound) {
			return c, d, err
		}
	}
	return c, d, err
}

// Has tells whether a person may read a document of a path.
func (s *Service) Has(ctx context.Context, person, at string) bool {
	list, err := s.preferred(ctx, person, nil)
	if err == nil {
		_, _, err = s.find(ctx, list, at)
	}
	return err == nil
}
