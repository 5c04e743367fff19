package store_test

import (
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// collection makes one of ann's with a source, and gives both.
func collection(t testing.TB, db *store.DB, id, name string) (store.Collection, store.Source) {
	t.Helper()
	must.Do(t, db.CreateCollection(t.Context(), store.Collection{ID: id, Owner: "ann", Name: name}, id+"-uploads"))
	src := store.Source{ID: id + "-web", Collection: id, Kind: store.WebSource, Address: "https://x.org", Every: time.Hour}
	must.Do(t, db.AddSource(t.Context(), src, 10))
	return must.Get(db.CollectionFor(t.Context(), "ann", id))(t), src
}

func (s suite) ACollectionIsThereForThoseWhoHaveARoleInIt(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	c, _ := collection(t, db, "k", "Handbook")
	if c.Role != store.ProjectOwner || c.Name != "Handbook" || c.CreatedAt.IsZero() {
		t.Errorf("%+v", c)
	}
	if err := db.CreateCollection(ctx, store.Collection{ID: "k2", Owner: "ann", Name: "HANDBOOK"}, "u"); !errors.Is(err, store.ErrExists) {
		t.Errorf("a name that is taken: %v", err)
	}
	must.Do(t, db.CreateCollection(ctx, store.Collection{ID: "b", Owner: "bob", Name: "Handbook"}, "b-uploads"))
	rename := func(c *store.Collection) error { c.About = "x"; return nil }
	stranger := func(who string) {
		t.Helper()
		_, err := db.CollectionFor(ctx, who, "k")
		notFound(t, who+" reads", err)
		_, err = db.ChangeCollection(ctx, who, "k", rename)
		notFound(t, who+" writes", err)
		notFound(t, who+" shares", db.ShareCollection(ctx, who, "k", "bob", store.Editor))
		notFound(t, who+" deletes", db.DeleteCollection(ctx, who, "k"))
	}
	stranger("bob")
	must.Do(t, db.ShareCollection(ctx, "ann", "k", "bob", store.Viewer))
	if c := must.Get(db.CollectionFor(ctx, "bob", "k"))(t); c.Role != store.Viewer {
		t.Errorf("a viewer: %+v", c)
	}
	_, err := db.ChangeCollection(ctx, "bob", "k", rename)
	notFound(t, "a viewer writes", err)
	must.Get(db.AddFirstUser(ctx, store.User{Email: "first@x.org", Role: "owner"}))(t)
	eve := must.Get(db.AddUser(ctx, store.User{ID: "eve", Email: "eve@x.org", Role: "user"}))(t).ID
	must.Do(t, db.PutTeam(ctx, store.Team{ID: "t", Name: "T", Rules: []byte("{}"), Members: []string{"bob", "role:user"}}))
	must.Do(t, db.ShareCollection(ctx, "ann", "k", store.GroupMember("t"), store.Editor))
	for _, who := range []string{"bob", eve} { // the greater role counts
		if c := must.Get(db.ChangeCollection(ctx, who, "k", rename))(t); c.Role != store.Editor || c.About != "x" {
			t.Errorf("%s in the group: %+v", who, c)
		}
	}
	if list := must.Get(db.Collections(ctx, "bob"))(t); len(list) != 2 {
		t.Errorf("bob lists %+v", list)
	}
	if list := must.Get(db.CollectionMembers(ctx, "k"))(t); len(list) != 2 {
		t.Errorf("members: %+v", list)
	}
	must.Do(t, db.ShareCollection(ctx, "ann", "k", store.GroupMember("t"), store.NoRole))
	must.Do(t, db.LeaveCollection(ctx, "bob", "k"))
	notFound(t, "leave twice", db.LeaveCollection(ctx, "bob", "k"))
	must.Do(t, db.ShareCollection(ctx, "ann", "k", store.GroupMember("t"), store.Viewer))
	must.Do(t, db.DeleteTeam(ctx, "t"))
	if list := must.Get(db.CollectionMembers(ctx, "k"))(t); len(list) != 0 {
		t.Errorf("members without the group: %+v", list)
	}
	if gone := must.Get(db.SettleCollection(ctx, "k"))(t); gone {
		t.Error("one that is there is gone")
	}
	stranger("bob")
	stranger(eve)
	must.Do(t, db.DeleteCollection(ctx, "ann", "k", store.KV{Space: "s", Key: "k", Body: []byte("1")}))
	_, err = db.CollectionFor(ctx, "ann", "k")
	notFound(t, "a deleted one", err)
	if gone := must.Get(db.SettleCollection(ctx, "k"))(t); !gone {
		t.Error("a deleted one is not gone")
	}
}

func (s suite) SourcesAreDueWhenTheyAreAskedFor(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	c, src := collection(t, db, "k", "Handbook")
	remote := [2]string{store.WebSource, store.GitSource}
	if err := db.AddSource(ctx, store.Source{ID: "again", Collection: c.ID, Kind: src.Kind, Address: src.Address}, 10); !errors.Is(err, store.ErrExists) {
		t.Errorf("the same source twice: %v", err)
	}
	due, next, err := db.DueSources(ctx, remote, 5)
	if err != nil || len(due) != 1 || due[0].ID != src.ID || due[0].Every != time.Hour || !next.IsZero() {
		t.Fatalf("due: %+v %v %v", due, next, err)
	}
	must.Do(t, db.AskSource(ctx, c.ID, src.ID)) // while it is being read
	must.Do(t, db.NoteSource(ctx, src.ID, 1, 2))
	end := due[0]
	end.State, end.Stamp, end.NextAt = store.SourceReady, "s1", db.Now().Add(time.Hour)
	must.Do(t, db.EndSource(ctx, end))
	if due, _, err = db.DueSources(ctx, remote, 5); err != nil || len(due) != 1 || due[0].Stamp != "s1" || due[0].State != store.SourcePending {
		t.Fatalf("asked again: %+v %v", due, err)
	}
	end = due[0]
	end.State, end.NextAt = store.SourceReady, db.Now().Add(time.Hour)
	must.Do(t, db.EndSource(ctx, end))
	if due, next, err = db.DueSources(ctx, remote, 5); err != nil || len(due) != 0 || next.IsZero() {
		t.Errorf("read: %+v %v %v", due, next, err)
	}
	must.Do(t, db.AskSource(ctx, c.ID, "")) // all of them
	if due, _, err = db.DueSources(ctx, [2]string{store.UploadSource, store.FolderSource}, 5); err != nil || len(due) != 1 {
		t.Errorf("uploads: %+v %v", due, err)
	}
	notFound(t, "no such source", db.AskSource(ctx, c.ID, "none"))
	notFound(t, "uploads stay", db.RemoveSource(ctx, c.ID, "k-uploads"))
	must.Do(t, db.RemoveSource(ctx, c.ID, src.ID))
	_, err = db.SourceAsked(ctx, src.ID)
	notFound(t, "a removed source", err)
}

func (s suite) DocumentsOfCollectionsAreFoundUntilTheirSourceIsGone(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	c, src := collection(t, db, "k", "Handbook")
	shelf := store.CollectionShelf(c.ID)
	put := func(name, text string) {
		t.Helper()
		must.Do(t, db.PutDocuments(ctx, []store.Indexed{{Document: store.Document{Collection: c.ID, Source: src.ID, Name: name,
			Stamp: "1", State: "converted"}, Text: text, Passages: []store.Passage{{First: 1, Last: 1, Text: text}}}}))
	}
	put("a.md", "The wombat digs burrows.")
	put("b.md", "放假通知：办公室关闭两个星期。")
	list := must.Get(db.CollectionDocuments(ctx, c.ID, 0, 10))(t)
	if len(list) != 2 || list[0].Name != "a.md" || list[0].Bytes == 0 {
		t.Fatalf("documents: %+v", list)
	}
	if n := must.Get(db.CollectionBytes(ctx, c.ID))(t); n != list[0].Bytes+list[1].Bytes {
		t.Errorf("%d bytes", n)
	}
	if text := must.Get(db.DocumentText(ctx, list[0].ID))(t); text != "The wombat digs burrows." {
		t.Errorf("its text: %q", text)
	}
	d := must.Get(db.CollectionDocumentNamed(ctx, c.ID, "b.md"))(t)
	if one := must.Get(db.CollectionDocument(ctx, c.ID, d.ID))(t); one.Name != "b.md" {
		t.Errorf("by its number: %+v", one)
	}
	var ids []int64
	for query, file := range map[string]string{"wombats": list[0].File(), "通知": d.File()} {
		found := must.Get(db.RankPassages(ctx, shelf, query, 5))(t)
		if len(found) != 1 || found[0].File != file {
			t.Fatalf("%s finds %+v", query, found)
		}
		ids = append(ids, found[0].ID)
	}
	if docs := must.Get(db.DocumentsByFile(ctx, c.ID, []string{d.File(), "x"}))(t); len(docs) != 1 || docs[d.File()].Name != "b.md" {
		t.Errorf("by their passages: %+v", docs)
	}
	if read := must.Get(db.PassagesByID(ctx, shelf, ids))(t); len(read) != 2 {
		t.Errorf("passages: %+v", read)
	}
	if left := must.Get(db.Unembedded(ctx, c.ID, "m"))(t); len(left) != 2 {
		t.Errorf("without vectors: %v", left)
	}
	before := must.Get(db.VectorVersion(ctx, c.ID))(t)
	must.Do(t, db.PutVectors(ctx, c.ID, "m", []store.Vector{{Passage: ids[0], Values: []byte{1, 255}}, {Passage: ids[1], Values: []byte{2, 3}}, {Passage: 999_999, Values: []byte{1}}}))
	if left, now := must.Get(db.Unembedded(ctx, c.ID, "m"))(t), must.Get(db.VectorVersion(ctx, c.ID))(t); len(left) != 0 || now == before {
		t.Errorf("with vectors: %v, version %d", left, now)
	}
	vectors := func() (n int) {
		t.Helper()
		must.Do(t, db.Vectors(ctx, c.ID, "m", func(store.Vector) { n++ }))
		return n
	}
	if n := vectors(); n != 2 {
		t.Errorf("%d vectors", n)
	}
	again := d
	again.Stamp = "2"
	if put := must.Get(db.PutDocument(ctx, again))(t); put.ID != d.ID {
		t.Errorf("written anew it is another one: %+v", put)
	}
	if known := must.Get(db.SourceDocuments(ctx, src.ID))(t); known["b.md"].Stamp != "2" {
		t.Errorf("of the source: %+v", known)
	}
	must.Do(t, db.RemoveDocument(ctx, d))
	if found := must.Get(db.RankPassages(ctx, shelf, "通知", 5))(t); len(found) != 0 || vectors() != 1 {
		t.Errorf("a removed document: %+v, %d vectors", found, vectors())
	}
	must.Do(t, db.DeleteCollection(ctx, "ann", c.ID))
	if docs := must.Get(db.DocumentsByFile(ctx, c.ID, []string{list[0].File()}))(t); len(docs) != 0 {
		t.Errorf("of a deleted collection: %+v", docs)
	}
	stray := must.Get(db.StrayDocuments(ctx, 10))(t)
	if len(stray) != 1 {
		t.Fatalf("stray: %+v", stray)
	}
	must.Do(t, db.RemoveDocument(ctx, stray[0]))
	if files, _, err := db.PassageFiles(ctx, shelf); err != nil || len(files) != 0 || vectors() != 0 {
		t.Errorf("left: %v %v", files, err)
	}
}

// NothingIsKeptOfASourceThatIsGone: a reader that is still at work writes neither documents nor passages of it, nor of a
// document that was removed.
func (s suite) NothingIsKeptOfASourceThatIsGone(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	c, src := collection(t, db, "k", "Handbook")
	shelf := store.CollectionShelf(c.ID)
	d := store.Document{Collection: c.ID, Source: src.ID, Name: "a.md", Stamp: "1", State: "pending"}
	first, second := must.Get(db.PutDocument(ctx, d))(t), d
	second.Name = "b.md"
	second = must.Get(db.PutDocument(ctx, second))(t)
	passage := func(d store.Document) []store.Passage {
		return []store.Passage{{File: d.File(), First: 1, Last: 1, Text: "The wombat digs."}}
	}
	must.Do(t, db.AddDocumentPassages(ctx, first, passage(first)))
	must.Do(t, db.RemoveDocument(ctx, first))
	notFound(t, "passages of a removed document", db.AddDocumentPassages(ctx, first, passage(first)))
	_, err := db.PutDocument(ctx, first)
	notFound(t, "a removed document", err)
	must.Do(t, db.PutDocuments(ctx, []store.Indexed{{Document: first, Text: "x", Passages: passage(first)},
		{Document: second, Text: "y", Passages: passage(second)}}))
	if list := must.Get(db.CollectionDocuments(ctx, c.ID, 0, 10))(t); len(list) != 1 || list[0].ID != second.ID || list[0].Bytes != 1 {
		t.Errorf("documents: %+v", list)
	}
	before := must.Get(db.SourceChanges(ctx))(t)
	must.Do(t, db.RemoveSource(ctx, c.ID, src.ID))
	if now := must.Get(db.SourceChanges(ctx))(t); now == before {
		t.Errorf("nothing tells that a source is gone: %s", now)
	}
	notFound(t, "passages", db.AddDocumentPassages(ctx, second, passage(second)))
	_, err = db.PutDocument(ctx, d)
	notFound(t, "a new document", err)
	notFound(t, "documents", db.PutDocuments(ctx, []store.Indexed{{Document: d, Text: "z"}}))
	for _, d := range must.Get(db.StrayDocuments(ctx, 10))(t) {
		must.Do(t, db.RemoveDocument(ctx, d))
	}
	for _, query := range []string{`SELECT count(*) FROM passage`, `SELECT count(*) FROM passage_file`, `SELECT count(*) FROM knowledge_doc`,
		`SELECT count(*) FROM knowledge_text`} {
		if n := must.Get(db.Count(ctx, query))(t); n != 0 {
			t.Errorf("%s: %d", query, n)
		}
	}
	if found := must.Get(db.RankPassages(ctx, shelf, "wombat", 5))(t); len(found) != 0 {
		t.Errorf("found: %+v", found)
	}
}
