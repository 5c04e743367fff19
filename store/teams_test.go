package store_test

import (
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// Teams are found by account and by role, keep their name to themselves, and lose accounts that are deleted.
func (s suite) Teams(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	must.Get(db.AddFirstUser(ctx, store.User{Email: "ann@x.org", Role: "owner"}))(t)
	must.Get(db.AddUser(ctx, store.User{ID: "zoe", Email: "zoe@x.org", Role: "user"}))(t)
	for _, team := range []store.Team{
		{ID: "1", Name: "everybody", Rules: []byte(`{"runs_per_day":3}`), Members: []string{"role:user"}},
		{ID: "2", Name: "design", Rules: []byte(`{}`), Members: []string{"zoe", "role:user"}},
		{ID: "3", Name: "nobody", Rules: []byte(`{}`)},
	} {
		must.Do(t, db.PutTeam(ctx, team))
	}
	if err := db.PutTeam(ctx, store.Team{ID: "4", Name: "design", Rules: []byte(`{}`)}); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second team of the same name: %v", err)
	}
	role, teams, err := db.TeamsOf(ctx, "zoe")
	if err != nil || role != "user" || len(teams) != 2 || teams[0].Name != "design" || string(teams[1].Rules) != `{"runs_per_day":3}` {
		t.Errorf("%s %v %v", role, teams, err)
	}
	if role, teams, err := db.TeamsOf(ctx, "nobody"); err != nil || role != "" || len(teams) != 0 {
		t.Errorf("no account: %s %v %v", role, teams, err)
	}
	must.Do(t, db.DeleteUser(ctx, "zoe"))
	team, err := db.Team(ctx, "2")
	if err != nil || len(team.Members) != 1 {
		t.Errorf("members after the account was deleted: %v %v", team.Members, err)
	}
	must.Do(t, db.DeleteTeam(ctx, "2"))
	if list, err := db.Teams(ctx); err != nil || len(list) != 2 || list[0].Name != "everybody" {
		t.Errorf("%v %v", list, err)
	}
	if err := db.DeleteTeam(ctx, "2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a team that is gone: %v", err)
	}
}

// UsedStays: what runs took counts also when their thread was deleted, until it is forgotten.
func (s suite) UsedStays(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	now := db.Now()
	for _, id := range []string{"a", "b"} {
		b := store.Batch{ThreadID: id, Thread: &store.Thread{ID: id, Owner: "zoe", Status: "idle", CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now},
			NewThread: true, Run: &store.Run{ID: "run " + id, ThreadID: id, Owner: "zoe", Status: "success", Multitask: "enqueue",
				Metadata: []byte(`{}`), Kwargs: []byte(`{}`), CreatedAt: now, UpdatedAt: now,
				Usage: []byte(`{"total_tokens":30,"by_model":{"m":{"input_tokens":10,"output_tokens":20,"total_tokens":30}}}`)}, NewRun: true,
			Spending: []store.Spending{{Thread: id, Run: "run " + id, Purpose: "title", Model: "m", Total: 5}}}
		must.Do(t, db.Commit(ctx, b))
	}
	look := func(run string, wantRuns, wantTokens int64) {
		t.Helper()
		runs, tokens, err := db.Used(ctx, "zoe", now.Add(-time.Hour), run)
		if err != nil || runs != wantRuns || tokens != wantTokens {
			t.Errorf("%d runs, %d tokens, %v; want %d, %d", runs, tokens, err, wantRuns, wantTokens)
		}
	}
	look("", 2, 70)
	look("run a", 1, 70)
	must.Do(t, db.Commit(ctx, store.Batch{ThreadID: "a", Delete: &store.Delete{Thread: true}}))
	look("", 2, 70)
	if runs, _, err := db.Used(ctx, "ann", now.Add(-time.Hour), ""); err != nil || runs != 0 {
		t.Errorf("somebody else: %d, %v", runs, err)
	}
	if runs, _, err := db.Used(ctx, "zoe", now.Add(time.Hour), ""); err != nil || runs != 0 {
		t.Errorf("since later: %d, %v", runs, err)
	}
	must.Do(t, db.ForgetUsed(ctx, now.Add(time.Minute)))
	look("", 1, 35)
}

// RunsCountBeforeTheyEnd: what a run is told to have used counts until it ends, and what it says of itself from then on.
func (s suite) RunsCountBeforeTheyEnd(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	now := db.Now()
	run := store.Run{ID: "r", ThreadID: "a", Owner: "zoe", Status: "running", Multitask: "enqueue", Metadata: []byte(`{}`),
		Kwargs: []byte(`{}`), CreatedAt: now, UpdatedAt: now}
	must.Do(t, db.Commit(ctx, store.Batch{ThreadID: "a", Thread: &store.Thread{ID: "a", Owner: "zoe", Status: "busy", CreatedAt: now,
		UpdatedAt: now, StateUpdatedAt: now}, NewThread: true, Run: &run, NewRun: true}))
	look := func(want int64) {
		t.Helper()
		if runs, tokens, err := db.Used(ctx, "zoe", now.Add(-time.Hour), ""); err != nil || runs != 1 || tokens != want {
			t.Errorf("%d runs, %d tokens, %v; want %d", runs, tokens, err, want)
		}
	}
	look(0)
	for range 2 {
		must.Do(t, db.CountUsed(ctx, "zoe", "r", 20))
	}
	look(40)
	run.Status, run.Usage = "success", []byte(`{"total_tokens":50,"by_model":{"m":{"input_tokens":20,"output_tokens":30,"total_tokens":50}}}`)
	must.Do(t, db.Commit(ctx, store.Batch{ThreadID: "a", Run: &run}))
	look(50)
	must.Do(t, db.Commit(ctx, store.Batch{ThreadID: "a", Delete: &store.Delete{Thread: true}}))
	look(50)
}

// Announcements are shown until they end or somebody dismisses them, for that person alone.
func (s suite) Announcements(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	for _, a := range []store.Announcement{{ID: "old", Text: "over", Level: "info", EndsAt: db.Now().Add(-time.Minute)},
		{ID: "new", Text: "tonight", Level: "warning", EndsAt: db.Now().Add(time.Hour)}, {ID: "always", Text: "hello", Level: "info"}} {
		must.Get(db.AddAnnouncement(ctx, a))(t)
	}
	count := func(owner string, want int) {
		t.Helper()
		if list, err := db.AnnouncementsFor(ctx, owner); err != nil || len(list) != want {
			t.Errorf("%s sees %v, %v; want %d", owner, list, err, want)
		}
	}
	count("zoe", 2)
	for range 2 {
		must.Do(t, db.DismissAnnouncement(ctx, "zoe", "new"))
	}
	count("zoe", 1)
	count("ann", 2)
	must.Do(t, db.DeleteAnnouncement(ctx, "always"))
	count("zoe", 0)
	if list, err := db.Announcements(ctx); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	for _, err := range []error{db.DeleteAnnouncement(ctx, "always"), db.DismissAnnouncement(ctx, "zoe", "always")} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("one that is gone: %v", err)
		}
	}
}
