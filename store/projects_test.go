package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func project(t testing.TB, db *store.DB, p store.Project) {
	t.Helper()
	must.Do(t, db.CreateProject(t.Context(), p))
}

func notFound(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%s: %v", what, err)
	}
}

func (s suite) AProjectIsThereForThoseWhoHaveARoleInIt(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	project(t, db, store.Project{ID: "p", Owner: "ann", Name: "Report", Settings: store.ProjectSettings{
		Instructions: "Be brief.", Skills: []string{}, Writable: true}})
	if err := db.CreateProject(ctx, store.Project{ID: "p", Owner: "bob", Name: "Mine"}); !errors.Is(err, store.ErrExists) {
		t.Errorf("an id that is taken: %v", err)
	}
	got := must.Get(db.ProjectFor(ctx, "ann", "p"))(t)
	if got.Name != "Report" || got.Role != store.ProjectOwner || got.Settings.Instructions != "Be brief." ||
		got.Settings.Skills == nil || got.Settings.Servers != nil || !got.Settings.Writable || got.CreatedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	rename := func(p *store.Project) error { p.Name = "Other"; return nil }
	_, err := db.ProjectFor(ctx, "bob", "p")
	notFound(t, "a stranger reads", err)
	_, err = db.ChangeProject(ctx, "bob", "p", rename)
	notFound(t, "a stranger writes", err)
	notFound(t, "a stranger shares", db.ShareProject(ctx, "bob", "p", "bob", store.Editor))
	notFound(t, "a stranger deletes", second(db.DeleteProject(ctx, "bob", "p", true, time.Now())))
	if list := must.Get(db.Projects(ctx, "bob"))(t); len(list) != 0 {
		t.Errorf("a stranger lists %+v", list)
	}

	must.Do(t, db.ShareProject(ctx, "ann", "p", "bob", store.Viewer))
	if p := must.Get(db.ProjectFor(ctx, "bob", "p"))(t); p.Role != store.Viewer || p.Role.Writes() {
		t.Errorf("a viewer: %+v", p)
	}
	_, err = db.ChangeProject(ctx, "bob", "p", rename)
	notFound(t, "a viewer writes", err)
	must.Do(t, db.ShareProject(ctx, "ann", "p", "bob", store.Editor))
	if p := must.Get(db.ChangeProject(ctx, "bob", "p", rename))(t); p.Name != "Other" || p.Role != store.Editor {
		t.Errorf("an editor: %+v", p)
	}
	notFound(t, "an editor deletes", second(db.DeleteProject(ctx, "bob", "p", false, time.Now())))
	refused := errors.New("refused")
	if _, err := db.ChangeProject(ctx, "ann", "p", func(p *store.Project) error {
		p.Name = "Half"
		return refused
	}); !errors.Is(err, refused) {
		t.Errorf("what a change says: %v", err)
	}
	if list := must.Get(db.Projects(ctx, "bob"))(t); len(list) != 1 || list[0].Name != "Other" {
		t.Errorf("an editor lists %+v", list)
	}
	same(t, "members", must.Get(db.Members(ctx, "p"))(t), []store.Member{{ID: "bob", Role: store.Editor}})
}

func (s suite) ChatsMoveInAndOutOfProjects(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	project(t, db, store.Project{ID: "p", Owner: "ann", Name: "A"})
	for _, th := range []store.Thread{{ID: "a1", Owner: "ann"}, {ID: "a2", Owner: "ann"}, {ID: "b1", Owner: "bob"},
		{ID: "a3", Owner: "ann", Project: "p", Title: "born in it"}} {
		commit(t, db, store.Batch{Thread: &th, NewThread: true})
	}
	in := func(person string, want ...string) {
		t.Helper()
		same(t, "chats in it", must.Get(db.ThreadsIn(ctx, person, "p"))(t), want)
	}
	in("ann", "a3")
	must.Do(t, db.PutInProject(ctx, "ann", "p", "a1", "a1"))
	in("ann", "a1", "a3")
	notFound(t, "somebody else's chat", db.PutInProject(ctx, "ann", "p", "a2", "b1"))
	notFound(t, "into a project that is not theirs", db.PutInProject(ctx, "bob", "p", "b1"))
	in("", "a1", "a3")

	list, n, err := db.Threads(ctx, store.ThreadQuery{Owner: "ann", Project: "p", Limit: 1})
	if err != nil || n != 2 || len(list) != 1 || list[0].Project != "p" {
		t.Errorf("%+v, %d, %v", list, n, err)
	}
	if _, n, err := db.Threads(ctx, store.ThreadQuery{Owner: "ann"}); n != 3 || err != nil {
		t.Errorf("all chats: %d, %v", n, err)
	}
	found, _, err := db.FindThreads(ctx, store.Find{Owner: "ann", Project: "p", Words: []string{"born"}, Limit: 5})
	if err != nil || len(found) != 1 || found[0].ID != "a3" {
		t.Errorf("%+v, %v", found, err)
	}
	if p := must.Get(db.ProjectOf(ctx, "a1"))(t); p.ID != "p" || p.Role != store.ProjectOwner {
		t.Errorf("project of a chat: %+v", p)
	}
	if p := must.Get(db.Projects(ctx, "ann"))(t); p[0].Chats != 2 {
		t.Errorf("chats: %+v", p)
	}
	must.Do(t, db.PutInProject(ctx, "ann", "", "a1"))
	in("", "a3")
	for _, id := range []string{"a1", "nothing"} {
		if p := must.Get(db.ProjectOf(ctx, id))(t); p.ID != "" {
			t.Errorf("project of %s: %+v", id, p)
		}
	}
	// A row that is written anew stays where it is.
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "a3", Owner: "ann", Title: "again"}})
	in("", "a3")
	checkClean(t, db)
}

func (s suite) WhoLeavesAProjectTakesTheirChatsAlong(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	project(t, db, store.Project{ID: "p", Owner: "ann", Name: "A"})
	for _, person := range []string{"bob", "cem"} {
		must.Do(t, db.ShareProject(ctx, "ann", "p", person, store.Viewer))
		commit(t, db, store.Batch{Thread: &store.Thread{ID: person, Owner: person, Project: "p"}, NewThread: true})
	}
	must.Do(t, db.ShareProject(ctx, "ann", "p", "bob", store.NoRole))
	must.Do(t, db.LeaveProject(ctx, "cem", "p"))
	notFound(t, "leaving again", db.LeaveProject(ctx, "cem", "p"))
	for _, person := range []string{"bob", "cem"} {
		_, err := db.ProjectFor(ctx, person, "p")
		notFound(t, person+" reads", err)
		if th := must.Get(db.Thread(ctx, person))(t); th.Project != "" {
			t.Errorf("the chat of %s: %+v", person, th)
		}
	}
}

func (s suite) ADeletedProjectKeepsChatsOrDiscardsThem(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for _, id := range []string{"keep", "drop"} {
		project(t, db, store.Project{ID: id, Owner: "ann", Name: id})
		must.Do(t, db.ShareProject(ctx, "ann", id, "bob", store.Editor))
		for _, person := range []string{"ann", "bob"} {
			commit(t, db, store.Batch{Thread: &store.Thread{ID: person + id, Owner: person, Project: id}, NewThread: true,
				KV: []store.KV{{Owner: store.Global, Space: store.DocumentSpace, Key: store.ShelfOf(id) + " a.pdf",
					Body: []byte("{}")}}})
		}
		must.Get(db.ChangeMemory(ctx, store.MemoryChange{Owner: store.ProjectMemory("ann", id), At: time.Now(),
			Put: []store.Fact{{ID: "f", Content: "likes " + id}}}))(t)
		must.Get(db.PutTree(ctx, store.ShelfOf(id), store.Tree{Whole: true, Body: []byte("x")}))(t)
	}
	at := time.Now().Truncate(time.Millisecond)
	left := store.KV{Owner: store.Global, Space: "left", Key: "keep", Body: []byte("{}")}
	must.Get(db.DeleteProject(ctx, "ann", "keep", false, at, left))(t)
	must.Get(db.KV(ctx, store.Global, "left", "keep"))(t)
	must.Get(db.DeleteProject(ctx, "ann", "drop", true, at))(t)
	for _, id := range []string{"keep", "drop"} {
		for _, person := range []string{"ann", "bob"} {
			_, err := db.ProjectFor(ctx, person, id)
			notFound(t, person+" reads "+id, err)
			th := must.Get(db.Thread(ctx, person+id))(t)
			if gone := person == "ann" && id == "drop"; th.Project != "" || th.DeletedAt.IsZero() == gone {
				t.Errorf("the chat of %s in %s: %+v", person, id, th)
			}
		}
	}
	for _, query := range []string{`SELECT count(*) FROM project_member`, `SELECT count(*) FROM fact`,
		`SELECT count(*) FROM memory`, `SELECT count(*) FROM tree`,
		`SELECT count(*) FROM kv WHERE space = 'thread_document'`} {
		if n := must.Get(db.Count(ctx, query))(t); n != 0 {
			t.Errorf("%s: %d", query, n)
		}
	}
	same(t, "restored", must.Get(db.Restore(ctx, "ann", at, time.Hour))(t), []string{"anndrop"})
	checkClean(t, db)
}

func (s suite) RemovedOwnersLeaveProjects(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	project(t, db, store.Project{ID: "p", Owner: "ann", Name: "A"})
	must.Do(t, db.ShareProject(ctx, "ann", "p", "bob", store.Editor))
	must.Get(db.ChangeMemory(ctx, store.MemoryChange{Owner: store.ProjectMemory("bob", "p"), At: time.Now(),
		Put: []store.Fact{{ID: "f", Content: "x"}}}))(t)
	if o := must.Get(db.Owned(ctx, "bob"))(t); o.Facts != 1 || o.Projects != 0 {
		t.Errorf("%+v", o)
	}
	must.Do(t, db.RemoveOwned(ctx, "bob"))
	if n := must.Get(db.Count(ctx, `SELECT (SELECT count(*) FROM project_member) + (SELECT count(*) FROM fact)`))(t); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// second is the error of two results.
func second[T any](_ T, err error) error { return err }

// PersonalMemoryOfSharedProjects is read only where each person allows it.
func (s suite) PersonalMemoryOfSharedProjects(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	must.Do(t, db.CreateProject(ctx, store.Project{ID: "p", Owner: "ann", Name: "P"}))
	look := func(person string, wantAllowed, wantShared bool) {
		t.Helper()
		if allowed, shared, err := db.PersonalMemory(ctx, person, "p"); err != nil || allowed != wantAllowed || shared != wantShared {
			t.Errorf("%s: %v %v %v", person, allowed, shared, err)
		}
	}
	look("ann", true, false)
	must.Do(t, db.ShareProject(ctx, "ann", "p", "bob", store.Editor))
	look("ann", false, true)
	look("bob", false, true)
	notFound(t, "a stranger", db.AllowPersonalMemory(ctx, "eve", "p", true))
	must.Do(t, db.AllowPersonalMemory(ctx, "bob", "p", true))
	look("ann", false, true)
	look("bob", true, true)
	must.Do(t, db.LeaveProject(ctx, "bob", "p"))
	must.Do(t, db.ShareProject(ctx, "ann", "p", "bob", store.Viewer))
	look("bob", false, true)
	must.Do(t, db.AllowPersonalMemory(ctx, "bob", "p", true))
	must.Get(db.DeleteProject(ctx, "ann", "p", false, time.Now()))(t)
	if n := must.Get(db.Count(ctx, `SELECT count(*) FROM kv WHERE space = 'project_personal'`))(t); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// ShelvesOfDeletedProjectsAreSettled: what was written about files while their project was deleted goes.
func (s suite) ShelvesOfDeletedProjectsAreSettled(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	must.Do(t, db.CreateProject(ctx, store.Project{ID: "p", Owner: "ann", Name: "P"}))
	put := func() {
		t.Helper()
		must.Do(t, db.Commit(ctx, store.Batch{KV: []store.KV{{Owner: store.Global, Space: store.DocumentSpace,
			Key: store.ShelfOf("p") + " a.pdf", Body: []byte("{}")}}}))
		must.Get(db.PutTree(ctx, store.ShelfOf("p"), store.Tree{Whole: true, Body: []byte("x")}))(t)
	}
	put()
	if gone := must.Get(db.SettleShelf(ctx, "p"))(t); gone {
		t.Error("a project that is there is gone")
	}
	if v := must.Get(db.TreeVersion(ctx, store.ShelfOf("p")))(t); v == 0 {
		t.Error("its files are gone")
	}
	must.Get(db.DeleteProject(ctx, "ann", "p", false, time.Now()))(t)
	put()
	if gone := must.Get(db.SettleShelf(ctx, "p"))(t); !gone {
		t.Error("a deleted project is there")
	}
	if v := must.Get(db.TreeVersion(ctx, store.ShelfOf("p")))(t); v != 0 {
		t.Errorf("version %d of its files is left", v)
	}
	if list := must.Get(db.KVs(ctx, store.Global, store.DocumentSpace, store.ShelfOf("p")))(t); len(list) > 0 {
		t.Errorf("left is %v", list)
	}
}

func (s suite) AnotherRoleLeavesProjects(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	must.Get(db.AddFirstUser(ctx, store.User{Email: "first@x.org", Role: "owner"}))(t)
	for _, person := range []string{"bob", "eve", "joe"} {
		must.Get(db.AddUser(ctx, store.User{ID: person, Email: person + "@x.org", Role: "admin"}))(t)
	}
	must.Do(t, db.PutTeam(ctx, store.Team{ID: "t", Name: "T", Rules: []byte("{}"), Members: []string{"role:admin"}}))
	for _, id := range []string{"p", "q"} {
		project(t, db, store.Project{ID: id, Owner: "ann", Name: id})
		must.Do(t, db.ShareProject(ctx, "ann", id, store.GroupMember("t"), store.Editor))
	}
	must.Do(t, db.ShareProject(ctx, "ann", "q", "bob", store.Viewer))
	for _, person := range []string{"bob", "eve"} {
		for _, id := range []string{"p", "q"} {
			commit(t, db, store.Batch{Thread: &store.Thread{ID: person + id, Owner: person}, NewThread: true})
			must.Do(t, db.PutInProject(ctx, person, id, person+id))
			must.Do(t, db.AllowPersonalMemory(ctx, person, id, true))
		}
	}
	roles := func(what, person string, want map[string]store.Role) {
		t.Helper()
		same(t, what, must.Get(db.ThreadRolesOf(ctx, person))(t), want)
	}
	roles("as an admin", "bob", map[string]store.Role{"bobp": store.Editor, "bobq": store.Editor})
	must.Get(db.ChangeUser(ctx, "bob", func(u *store.User) { u.Name = "Bob" }))(t)
	roles("with a name", "bob", map[string]store.Role{"bobp": store.Editor, "bobq": store.Editor})
	must.Get(db.ChangeUser(ctx, "bob", func(u *store.User) { u.Role = "user" }))(t)
	roles("as a user", "bob", map[string]store.Role{"bobq": store.Viewer})
	roles("who kept the role", "eve", map[string]store.Role{"evep": store.Editor, "eveq": store.Editor})
	personal := func(what string, want int64) {
		t.Helper()
		if n := must.Get(db.Count(ctx, `SELECT count(*) FROM kv WHERE space = 'project_personal'`))(t); n != want {
			t.Errorf("%s: %d allow their memory, want %d", what, n, want)
		}
	}
	personal("as a user", 3)
	must.Do(t, db.RemoveOwned(ctx, "eve")) // a member by the group alone
	personal("without eve", 1)
}

func (s suite) GroupsHaveRolesInProjects(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	project(t, db, store.Project{ID: "p", Owner: "ann", Name: "A"})
	project(t, db, store.Project{ID: "other", Owner: "ann", Name: "B"})
	must.Get(db.AddFirstUser(ctx, store.User{Email: "first@x.org", Role: "owner"}))(t)
	must.Get(db.AddUser(ctx, store.User{ID: "eve", Email: "eve@x.org", Role: "user"}))(t)
	team := store.Team{ID: "t", Name: "T", Rules: []byte("{}"), Members: []string{"bob", "role:user"}}
	must.Do(t, db.PutTeam(ctx, team))
	must.Do(t, db.ShareProject(ctx, "ann", "p", store.GroupMember("t"), store.Editor))
	must.Do(t, db.ShareProject(ctx, "ann", "p", "bob", store.Viewer))
	for _, person := range []string{"bob", "eve"} { // the greater role counts
		if p := must.Get(db.ProjectFor(ctx, person, "p"))(t); p.Role != store.Editor {
			t.Errorf("%s: %+v", person, p)
		}
		if list := must.Get(db.Projects(ctx, person))(t); len(list) != 1 || list[0].Role != store.Editor {
			t.Errorf("%s lists %+v", person, list)
		}
		commit(t, db, store.Batch{Thread: &store.Thread{ID: person, Owner: person}, NewThread: true})
		must.Do(t, db.PutInProject(ctx, person, "p", person))
		notFound(t, "a project of others", db.PutInProject(ctx, person, "other", person))
		must.Do(t, db.AllowPersonalMemory(ctx, person, "p", true))
	}
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "mine", Owner: "ann", Project: "p"}, NewThread: true})
	must.Do(t, db.AllowPersonalMemory(ctx, "ann", "p", true))
	same(t, "roles", must.Get(db.ThreadRoles(ctx, "", "t"))(t), map[string]store.Role{"bob": store.Editor, "eve": store.Editor})
	in := func(what string, want ...string) {
		t.Helper()
		same(t, what, must.Get(db.ThreadsIn(ctx, "", "p"))(t), want)
		for _, id := range []string{"bob", "eve", "mine"} {
			if p := must.Get(db.ProjectOf(ctx, id))(t); (p.ID != "") != slices.Contains(want, id) {
				t.Errorf("%s: %s is in %+v", what, id, p)
			}
		}
		if n := must.Get(db.Count(ctx, `SELECT count(*) FROM kv WHERE space = 'project_personal'`))(t); n != int64(len(want)) {
			t.Errorf("%s: %d allow their memory", what, n)
		}
	}
	in("members", "bob", "eve", "mine")
	team.Members = []string{"bob"}
	must.Do(t, db.PutTeam(ctx, team))
	in("without eve", "bob", "mine")
	must.Do(t, db.LeaveProject(ctx, "bob", "p")) // still there by the group
	in("bob by the group", "bob", "mine")
	notFound(t, "leaving by oneself what a group gives", db.LeaveProject(ctx, "bob", "p"))
	must.Do(t, db.DeleteTeam(ctx, "t"))
	in("without the group", "mine")
	if list := must.Get(db.Members(ctx, "p"))(t); len(list) != 0 {
		t.Errorf("members: %+v", list)
	}
}
