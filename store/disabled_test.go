package store_test

import (
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestCronsOfADisabledAccountAreNotDue until it is enabled again.
func TestCronsOfADisabledAccountAreNotDue(t *testing.T) {
	db := open(t)
	ctx := t.Context()
	for _, u := range []store.User{{ID: "ann", Email: "ann@x.org", Role: "owner"}, {ID: "zoe", Email: "zoe@x.org", Role: "user"}} {
		add := db.AddUser
		if u.Role == "owner" {
			add = db.AddFirstUser
		}
		must.Get(add(ctx, u))(t)
	}
	at := time.UnixMilli(1_700_000_000_000)
	must.Get(db.CreateCron(ctx, store.Cron{ID: "c", Owner: "zoe", Kind: store.CronOnce, RunAt: at, NextAt: at,
		Payload: []byte(`{}`)}))(t)
	for _, disabled := range []bool{false, true, false} {
		must.Get(db.ChangeUser(ctx, "zoe", func(u *store.User) { u.Disabled = disabled }))(t)
		due, err := db.DueCrons(ctx, at.Add(time.Hour), 10)
		next, failed := db.NextCron(ctx)
		if err := errors.Join(err, failed); err != nil || (len(due) == 0) != disabled || next.IsZero() != disabled {
			t.Errorf("disabled %v: %d due, next %v, %v", disabled, len(due), next, err)
		}
		if barred, err := db.Barred(ctx, "zoe"); err != nil || barred != disabled {
			t.Errorf("disabled %v: barred %v, %v", disabled, barred, err)
		}
	}
}
