package projects_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"fawn/agent/projects"
	"fawn/store"
)

// TestOnlyChatsWithAnotherRoleAreEnded when a group is deleted, and when an account's role on the server changes.
func TestOnlyChatsWithAnotherRoleAreEnded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := store.Open(ctx, store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ok := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var ended []string
	s := projects.New(projects.Config{DB: db, Ended: func(_ context.Context, list []string) error {
		ended = append(ended, list...)
		return nil
	}})
	_, err = db.AddFirstUser(ctx, store.User{Email: "first@x.org", Role: "owner"})
	ok(err, db.CreateProject(ctx, store.Project{ID: "p", Owner: "ann", Name: "P"}))
	for _, team := range []store.Team{{ID: "t", Name: "T", Members: []string{"bob", "eve", "joe"}}, {ID: "a", Name: "A", Members: []string{"role:admin"}}} {
		team.Rules = []byte("{}")
		ok(db.PutTeam(ctx, team), db.ShareProject(ctx, "ann", "p", store.GroupMember(team.ID), store.Editor))
	}
	ok(db.ShareProject(ctx, "ann", "p", "bob", store.Editor), db.ShareProject(ctx, "ann", "p", "joe", store.Viewer))
	for _, person := range []string{"bob", "eve", "joe", "sue"} {
		role := "user"
		if person == "sue" {
			role = "admin"
		}
		_, err := db.AddUser(ctx, store.User{ID: person, Email: person + "@x.org", Role: role})
		ok(err, db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: person, Owner: person}, NewThread: true}), db.PutInProject(ctx, person, "p", person))
	}
	want := func(what string, list ...string) {
		t.Helper()
		if !slices.Equal(ended, list) {
			t.Errorf("%s: ended %v, want %v", what, ended, list)
		}
		ended = nil
	}
	ok(s.Regroup(ctx, "t", func() error { return db.DeleteTeam(ctx, "t") }))
	want("deleting a group", "eve", "joe") // bob is an editor without it, too, sue by another group
	role := func(person, role string) {
		t.Helper()
		ok(s.Rerole(ctx, person, func() error {
			_, err := db.ChangeUser(ctx, person, func(u *store.User) { u.Role = role })
			return err
		}))
	}
	role("joe", "admin")
	want("a greater role", "joe")
	role("bob", "admin")
	want("nothing new")
	role("sue", "user")
	want("no role any more", "sue")
}
