package knowledge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/uuid"

	"fawn/store"
	"fawn/uploads"
)

const (
	maxQuery   = 4096 // bytes
	candidates = 60   // passages taken from each search method
	fusion     = 60   // rank constant of the fusion; a greater one flattens the ranking
	queryTime  = 10 * time.Second
)

// Hit is a passage found by a search.
type Hit struct {
	Collection store.Collection
	Document   store.Document
	Passage    uploads.Passage // its File is the path of the document, see [Path]
}

// Path returns the path of a document in citations and below /mnt/user-data/knowledge.
func Path(c store.Collection, d store.Document) string { return c.Name + "/" + d.Name }

// Named returns the readable collections with the given names or ids, one for each. A name refers first to a collection of
// the given owners, then to the person's own; somebody else's counts only if neither exists, and of several the oldest:
// sharing a collection must not inject it into other people's chats by its name. Collections with equal names get distinct
// ones, see [Label].
func (s *Service) Named(ctx context.Context, person string, names []string, owners ...string) ([]store.Collection, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := preferred(ctx, s.cfg.DB, person, owners)
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
	if err != nil {
		return nil, err
	}
	return s.apart(ctx, list)
}

// apart renames collections with equal names to their labels.
func (s *Service) apart(ctx context.Context, list []store.Collection) ([]store.Collection, error) {
	out := slices.Clone(list)
	for i, c := range list {
		if !twice(list, c) {
			continue
		}
		var err error
		if out[i].Name, err = Label(ctx, s.cfg.DB, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// twice reports whether a list has another collection with c's name.
func twice(list []store.Collection, c store.Collection) bool {
	return slices.ContainsFunc(list, func(o store.Collection) bool { return o.ID != c.ID && strings.EqualFold(o.Name, c.Name) })
}

// Label distinguishes a collection from others of its name: by the address of its owner, or without accounts by the end of
// its id.
func Label(ctx context.Context, db *store.DB, c store.Collection) (string, error) {
	who := c.ID[max(0, len(c.ID)-8):]
	u, err := db.User(ctx, c.Owner)
	switch {
	case err == nil:
		who = strings.Map(func(r rune) rune {
			if strings.ContainsRune(`/\[];`, r) || unicode.IsControl(r) { // characters that names can't have either
				return '-'
			}
			return r
		}, u.Email)
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	return c.Name + " (" + who + ")", nil
}

// UnknownIn returns the first of some names and ids that means no collection that a person may read, "" for none.
func UnknownIn(ctx context.Context, db *store.DB, person string, refs []string) (string, error) {
	if len(refs) == 0 {
		return "", nil
	}
	list, err := db.Collections(ctx, person)
	if err != nil {
		return "", err
	}
	for _, ref := range refs {
		if !slices.ContainsFunc(list, func(c store.Collection) bool { return c.ID == ref || strings.EqualFold(c.Name, ref) }) {
			return ref, nil
		}
	}
	return "", nil
}

// Choice is a collection that a project, an agent or a chat can refer to.
type Choice struct {
	ID     string // "" for one that the person may not read
	Ref    string // its name, or its id where that says more
	Label  string // name shown to people; "" if they may not see it
	Chosen bool
}

// Choices returns the collections that a person may read, and what a project, an agent or a chat has chosen, by name. owners are
// those of [Service.Named].
func Choices(ctx context.Context, db *store.DB, person string, chosen []string, owners ...string) ([]Choice, error) {
	list, err := preferred(ctx, db, person, owners)
	if err != nil {
		return nil, err
	}
	left := slices.Clone(chosen)
	take := func(ref string) bool {
		n := len(left)
		left = slices.DeleteFunc(left, func(one string) bool { return strings.EqualFold(one, ref) })
		return len(left) < n
	}
	var out []Choice
	for _, c := range list {
		one := Choice{ID: c.ID, Ref: c.Name, Label: c.Name}
		switch several := twice(list, c); {
		case several:
			one.Ref = c.ID
			if one.Label, err = Label(ctx, db, c); err != nil {
				return nil, err
			}
			if one.Chosen = take(c.ID); take(c.Name) { // the first of a name is the one that it means, for others another one
				one.Ref, one.Chosen = c.Name, true
			}
		case take(c.ID):
			one.Ref, one.Chosen = c.ID, true
			take(c.Name)
		default:
			one.Chosen = take(c.Name)
		}
		out = append(out, one)
	}
	for _, ref := range left {
		one := Choice{Ref: ref, Label: ref, Chosen: true}
		if uuid.Validate(ref) == nil {
			one.Label = ""
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b Choice) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
	return out, nil
}

// preferred returns the collections that a person may read: first those of the given owners, then the person's, then
// others, the oldest first.
func preferred(ctx context.Context, db *store.DB, person string, owners []string) ([]store.Collection, error) {
	list, err := db.Collections(ctx, person)
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

// ranked is a passage with its rank in one search method.
type ranked struct {
	in      int // index of its collection
	id      int64
	rank    float64 // less is better
	passage *store.Passage
}

// Search finds passages in collections that the caller may read, best first: by words and, with an embedding model, by
// meaning. If the model fails, words alone count. A non-empty files limits it to documents with these paths or names.
func (s *Service) Search(ctx context.Context, list []store.Collection, query string, files []string, limit int) ([]Hit, error) {
	query = cut(strings.TrimSpace(query), maxQuery)
	if query == "" || len(list) == 0 || limit < 1 {
		return nil, nil
	}
	var byMeaning []ranked
	var without error
	var meaning sync.WaitGroup // the model answers while words are looked up
	both, cancel := context.WithCancel(ctx)
	meaning.Go(func() { byMeaning, without = s.near(both, list, query) })
	byWords, err := s.worded(ctx, list, query)
	if err != nil {
		cancel()
	}
	meaning.Wait()
	cancel()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case without != nil:
		s.cfg.Log.Warn("searching collections by keywords only", "err", without)
	}
	return s.hits(ctx, list, fuse(byWords, byMeaning), files, limit)
}

// worded finds passages by their words.
func (s *Service) worded(ctx context.Context, list []store.Collection, query string) (all []ranked, err error) {
	for i, c := range list {
		found, err := s.cfg.DB.RankPassages(ctx, store.CollectionShelf(c.ID), query, candidates)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			all = append(all, ranked{i, r.ID, r.Rank, &r.Passage})
		}
	}
	return all, nil
}

// fuse merges several rankings into one, adding up each passage's scores.
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

// hits loads the passages of a result.
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

// Find returns a document by its path in a thread, with its text. Errors: store.ErrNotFound, also without read access.
func (s *Service) Find(ctx context.Context, person, thread, at string) (c store.Collection, d store.Document, text string, err error) {
	list, err := s.from(ctx, person, thread)
	if err != nil {
		return c, d, "", err
	}
	return s.FindIn(ctx, list, at)
}

// from returns the collections that a person may read, in the order in which a thread resolves names.
func (s *Service) from(ctx context.Context, person, thread string) ([]store.Collection, error) {
	p, err := s.cfg.DB.ProjectOf(ctx, thread)
	if err != nil {
		return nil, err
	}
	var owners []string
	if p.ID != "" {
		owners = append(owners, p.Owner)
	}
	return preferred(ctx, s.cfg.DB, person, owners)
}

// FindIn is Find in collections that the caller may read.
func (s *Service) FindIn(ctx context.Context, list []store.Collection, at string) (c store.Collection, d store.Document,
	text string, err error) {
	if c, d, err = s.find(ctx, list, at); err == nil {
		text, err = s.cfg.DB.DocumentText(ctx, d.ID)
	}
	return c, d, text, err
}

func (s *Service) find(ctx context.Context, list []store.Collection, at string) (c store.Collection, d store.Document, err error) {
	name, doc, _ := strings.Cut(at, "/")
	if list, err = s.called(ctx, list, name); err != nil {
		return c, d, err
	}
	err = store.ErrNotFound
	for _, c = range list {
		if d, err = s.cfg.DB.CollectionDocumentNamed(ctx, c.ID, doc); !errors.Is(err, store.ErrNotFound) {
			return c, d, err
		}
	}
	return c, d, err
}

// called returns the collections with a name, or the one with this label.
func (s *Service) called(ctx context.Context, list []store.Collection, name string) (out []store.Collection, err error) {
	for _, c := range list {
		if strings.EqualFold(c.Name, name) {
			out = append(out, c)
			continue
		}
		if head := c.Name + " ("; len(name) <= len(head) || !strings.EqualFold(name[:len(head)], head) {
			continue
		}
		label, err := Label(ctx, s.cfg.DB, c)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(label, name) {
			return []store.Collection{c}, nil
		}
	}
	return out, nil
}

// Has reports whether a path in a thread refers to a document that the person may read.
func (s *Service) Has(ctx context.Context, person, thread, at string) bool {
	list, err := s.from(ctx, person, thread)
	if err == nil {
		_, _, err = s.find(ctx, list, at)
	}
	return err == nil
}
