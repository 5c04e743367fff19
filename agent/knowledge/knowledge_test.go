package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/knowledge"
	"fawn/agent/llm/llmerr"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
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
		hits := must.Get(s.Search(t.Context(), []store.Collection{s.in}, query, nil, 1))(t)
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
		hits := must.Get(s.Search(t.Context(), []store.Collection{s.in}, "price", nil, 10))(t)
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

// picky is a model that refuses texts with a word in them.
type picky struct{ knowing }

func (p picky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if strings.Contains(strings.Join(texts, " "), "poison") {
		return nil, &llmerr.Error{Status: 400, Message: "no"}
	}
	return p.knowing.Embed(ctx, texts)
}

// TestAPassageThatAModelRefuses keeps no other from being embedded.
func TestAPassageThatAModelRefuses(t *testing.T) {
	t.Parallel()
	s := read(t, kept(t, map[string]string{"a.md": "The price is high.", "b.md": "This is poison.", "c.md": "The weather is fine.", "d.md": "Trees grow."}),
		picky{knowing{[]term{{"price", "cost"}}, 64}})
	hits, err := s.Search(t.Context(), []store.Collection{s.in}, "cost", nil, 1)
	if err != nil || len(hits) != 1 || hits[0].Document.Name != "a.md" {
		t.Errorf("%+v %v", hits, err)
	}
	if hits, err = s.Search(t.Context(), []store.Collection{s.in}, "poison", nil, 1); err != nil || len(hits) != 1 || hits[0].Document.Name != "b.md" {
		t.Errorf("by its words: %+v %v", hits, err)
	}
}

// TestDocumentsWithoutRoomAreReadWhenThereIsSome.
func TestDocumentsWithoutRoomAreReadWhenThereIsSome(t *testing.T) {
	t.Parallel()
	most := atomic.Int64{}
	most.Store(5)
	s := read(t, kept(t, map[string]string{"a.md": "The price is high."}), nil, func(c *knowledge.Config) { c.Most = most.Load })
	state := func() store.Document {
		t.Helper()
		d := must.Get(s.db.CollectionDocumentNamed(t.Context(), s.in.ID, "a.md"))(t)
		return d
	}
	if d := state(); d.Reason != knowledge.Full {
		t.Fatalf("%+v", d)
	}
	most.Store(100)
	must.Do(t, s.Update(t.Context(), "ann", s.in.ID, ""))
	for end := time.Now().Add(20 * time.Second); state().State != "converted"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%+v", state())
		}
	}
}

// TestANameMeansOnesOwnCollection before one that somebody else shares.
func TestANameMeansOnesOwnCollection(t *testing.T) {
	t.Parallel()
	s := read(t, t.TempDir(), nil)
	shared := func(owner, name string) string {
		t.Helper()
		c, err := s.Create(t.Context(), owner, name, "")
		if err == nil {
			err = s.db.ShareCollection(t.Context(), owner, c.ID, "ann", store.Viewer)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // the age of collections counts
		return c.ID
	}
	shared("eve", "corpus")
	first, bobs := shared("eve", "Manual"), shared("bob", "manual")
	for want, owners := range map[string][]string{s.in.ID + " " + first: nil, s.in.ID + " " + bobs: {"bob"}} {
		list, err := s.Named(t.Context(), "ann", []string{"Corpus", "manual"}, owners...)
		if err != nil || len(list) != 2 || list[0].ID+" "+list[1].ID != want {
			t.Errorf("%v: %+v %v", owners, list, err)
		}
	}
	if list, err := s.Named(t.Context(), "ann", []string{"Manual", bobs}); err != nil || len(list) != 2 {
		t.Errorf("by its id: %+v %v", list, err)
	}
}

// TestWhatIsSavedAgainMeansTheSame: of collections that have one name, the form of a project keeps the name that was chosen.
func TestWhatIsSavedAgainMeansTheSame(t *testing.T) {
	t.Parallel()
	s := read(t, t.TempDir(), nil)
	c, err := s.Create(t.Context(), "bob", "Corpus", "")
	if err == nil {
		err = s.db.ShareCollection(t.Context(), "bob", c.ID, "ann", store.Viewer)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		chosen, want []string
	}{
		{[]string{"corpus"}, []string{"Corpus"}},
		{[]string{s.in.ID}, []string{s.in.ID}},
		{[]string{c.ID}, []string{c.ID}},
		{[]string{"Corpus", c.ID}, []string{"Corpus", c.ID}},
	} {
		list, err := knowledge.Choices(t.Context(), s.db, "ann", one.chosen)
		var got []string
		for _, choice := range list {
			if choice.Chosen {
				got = append(got, choice.Ref)
			}
		}
		slices.Sort(got)
		slices.Sort(one.want)
		if err != nil || !slices.Equal(got, one.want) {
			t.Errorf("%v is saved as %v (%v)", one.chosen, got, err)
		}
	}
}

// TestAccountsAreNotFoundOutByTrying, nor are groups of others.
func TestAccountsAreNotFoundOutByTrying(t *testing.T) {
	t.Parallel()
	s := read(t, t.TempDir(), nil)
	must.Do(t, s.db.PutTeam(t.Context(), store.Team{ID: "t", Name: "Secret", Rules: []byte("{}")}))
	var bad *knowledge.Invalid
	if err := s.Share(t.Context(), s.in, false, "", "Secret", store.Viewer); !errors.As(err, &bad) || bad.Field != "group" {
		t.Errorf("a group of others: %v", err)
	}
	if err := s.Share(t.Context(), s.in, true, "", "secret", store.Viewer); err != nil {
		t.Errorf("for who runs the server: %v", err)
	}
	var many *knowledge.Tried
	for i := range 21 {
		err := s.Share(t.Context(), s.in, false, fmt.Sprintf("%d@x.org", i), "", store.Viewer)
		if errors.As(err, &many) != (i == 20) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

// beginning is what calls something when it is first read.
type beginning struct {
	io.Reader
	first func()
}

func (b *beginning) Read(p []byte) (int, error) {
	if b.first != nil {
		b.first()
		b.first = nil
	}
	return b.Reader.Read(p)
}

// TestACollectionThatIsDeletedDuringAnUpload keeps nothing of it.
func TestACollectionThatIsDeletedDuringAnUpload(t *testing.T) {
	t.Parallel()
	var dirs files.Dirs
	s := read(t, t.TempDir(), nil, func(c *knowledge.Config) { dirs = c.Dirs })
	form := &beginning{strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.md\"\r\n\r\ntext\r\n--b--\r\n"), func() {
		must.Report(t, s.db.DeleteCollection(t.Context(), "ann", s.in.ID))
	}}
	_, err := s.Save(t.Context(), "ann", s.in.ID, multipart.NewReader(form, "b"), uploads.Default())
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the upload: %v", err)
	}
	at := must.Get(dirs.Folder(store.CollectionShelf(s.in.ID)))(t)
	if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
}
