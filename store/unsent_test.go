package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// WhatWasChosenForAChatNeverSentIsForgotten: after a day, and nothing else is.
func (s suite) WhatWasChosenForAChatNeverSentIsForgotten(t *testing.T) {
	db := s.open(t)
	now := time.Now()
	id := func(age time.Duration, tail string) string {
		hex := fmt.Sprintf("%012x", now.Add(-age).UnixMilli())
		return hex[:8] + "-" + hex[8:] + "-7000-8000-0000000000" + tail
	}
	old, young, sent := id(25*time.Hour, "01"), id(23*time.Hour, "02"), id(25*time.Hour, "03")
	b := store.Batch{Thread: &store.Thread{ID: sent, Owner: "me", Status: "idle", CreatedAt: now, UpdatedAt: now}}
	for _, key := range []string{old, young, sent, "named-by-a-client"} {
		b.KV = append(b.KV, store.KV{Owner: store.Global, Space: "thread_tools_off", Key: key, Body: []byte(`{}`)})
	}
	b.KV = append(b.KV,
		store.KV{Owner: store.Global, Space: store.DocumentSpace, Key: old + " a.pdf", Body: []byte(`{}`)},
		store.KV{Owner: "me", Space: "thread_tools_off", Key: old, Body: []byte(`{}`)},
		store.KV{Owner: store.Global, Space: "other", Key: old, Body: []byte(`{}`)})
	must.Do(t, db.Commit(t.Context(), b))
	keys := func(owner, space string) string {
		t.Helper()
		list := must.Get(db.KVs(t.Context(), owner, space, ""))(t)
		var out []string
		for _, kv := range list {
			out = append(out, kv.Key)
		}
		slices.Sort(out)
		return strings.Join(out, ",")
	}
	found := must.Get(db.Check(t.Context()))(t)
	if said := strings.Join(found, "\n"); strings.Contains(said, young) || !strings.Contains(said, old) {
		t.Errorf("fsck takes a chat for broken that was just opened:\n%s", said)
	}
	must.Do(t, db.DropUnsent(t.Context(), now))
	want := []string{young, sent, "named-by-a-client"}
	slices.Sort(want)
	if got := keys(store.Global, "thread_tools_off"); got != strings.Join(want, ",") {
		t.Errorf("left: %s, want %s", got, want)
	}
	for _, c := range [][3]string{{store.Global, store.DocumentSpace, old + " a.pdf"}, {"me", "thread_tools_off", old},
		{store.Global, "other", old}} {
		if got := keys(c[0], c[1]); got != c[2] {
			t.Errorf("%s of %q: %s, want %s", c[1], c[0], got, c[2])
		}
	}
}
