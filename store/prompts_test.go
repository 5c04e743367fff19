package store_test

import (
	"encoding/json"
	"errors"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func (s suite) PromptsAreThereForTheirOwnersAndForThoseTheyAreSharedWith(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	must.Get(db.AddFirstUser(ctx, store.User{Email: "first@x.org", Role: "owner"}))(t)
	for _, u := range []store.User{{ID: "ann", Role: "admin"}, {ID: "bob", Role: "user"}, {ID: "zoe", Role: "user"}} {
		u.Email = u.ID + "@x.org"
		must.Get(db.AddUser(ctx, u))(t)
	}
	must.Do(t, db.PutTeam(ctx, store.Team{ID: "t", Name: "Team", Rules: json.RawMessage(`{}`), Members: []string{"bob"}}))
	must.Do(t, db.PutTeam(ctx, store.Team{ID: "r", Name: "Users", Rules: json.RawMessage(`{}`), Members: []string{"role:user"}}))
	must.Do(t, db.AddPrompts(ctx, store.SavedPrompt{ID: "1", Owner: "ann", Name: "own", Text: "x"},
		store.SavedPrompt{ID: "2", Owner: "ann", Name: "team", Text: "x", Shared: "t"},
		store.SavedPrompt{ID: "3", Owner: "ann", Name: "role", Text: "x", Shared: "r"},
		store.SavedPrompt{ID: "4", Owner: "ann", Name: "all", Text: "x", About: "a", Shared: store.SharedWithAll}))
	names := func(who string, all bool) (out string) {
		for _, p := range must.Get(db.SavedPrompts(ctx, who, all))(t) {
			out += p.Name + " "
			if got, err := db.SavedPrompt(ctx, who, p.ID, all); err != nil || got != p {
				t.Errorf("%s of %s alone: %+v %v", p.Name, who, got, err)
			}
		}
		return out
	}
	for who, want := range map[string]string{"ann": "all own role team ", "bob": "all role team ", "zoe": "all role "} {
		if got := names(who, false); got != want {
			t.Errorf("%s has %q, want %q", who, got, want)
		}
	}
	if got := names("zoe", true); got != "all role team " {
		t.Errorf("with all that is shared: %q", got)
	}
	_, err := db.SavedPrompt(ctx, "zoe", "2", false)
	notFound(t, "another group's", err)
	_, err = db.SavedPrompt(ctx, "zoe", "1", true)
	notFound(t, "somebody's own", err)

	if err := db.AddPrompts(ctx, store.SavedPrompt{ID: "5", Owner: "ann", Name: "new", Text: "x"},
		store.SavedPrompt{ID: "6", Owner: "ann", Name: "own", Text: "x"}); !errors.Is(err, store.ErrExists) {
		t.Errorf("a name twice: %v", err)
	}
	if got := names("ann", false); got != "all own role team " {
		t.Errorf("after a refused addition: %q", got)
	}
	if err := db.ChangePrompt(ctx, store.SavedPrompt{ID: "1", Owner: "ann", Name: "team", Text: "x"}); !errors.Is(err, store.ErrExists) {
		t.Errorf("a change to a name that is taken: %v", err)
	}
	must.Do(t, db.ChangePrompt(ctx, store.SavedPrompt{ID: "1", Owner: "ann", Name: "mine", Text: "y", About: "b"}))
	if p := must.Get(db.SavedPrompt(ctx, "ann", "1", false))(t); p.Name != "mine" || p.Text != "y" || p.About != "b" || p.CreatedAt.IsZero() {
		t.Errorf("%+v", p)
	}
	notFound(t, "a change of none", db.ChangePrompt(ctx, store.SavedPrompt{ID: "9", Name: "n", Text: "x"}))
	notFound(t, "a deletion of none", db.DeletePrompt(ctx, "9"))
	must.Do(t, db.DeletePrompt(ctx, "4"))
	must.Do(t, db.DeleteTeam(ctx, "t"))
	if got := names("bob", true); got != "role " {
		t.Errorf("without the group and the prompt: %q", got)
	}
	must.Do(t, db.RemoveOwned(ctx, "ann"))
	if n := must.Get(db.Count(ctx, `SELECT count(*) FROM saved_prompt`))(t); n != 0 {
		t.Errorf("%d prompts outlive their owner", n)
	}
}
