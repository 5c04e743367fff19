package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
)

// swept are the threads that are left, with a star for those that have a history.
func (w *world) swept(t *testing.T, p threads.Policy, now time.Time) string {
	t.Helper()
	must.Get(threads.Sweep(t.Context(), w.db, w.m, p, now))(t)
	list, _ := must.Get2(w.db.Threads(t.Context(), store.ThreadQuery{SortBy: "thread_id", SortOrder: "asc"}))(t)
	var out []string
	for _, th := range list {
		cps := must.Get(w.db.Checkpoints(t.Context(), th.ID, "", "", 0, nil))(t)
		if len(cps) > 1 {
			th.ID += "*"
		}
		out = append(out, th.ID)
	}
	return strings.Join(out, " ")
}

// aged makes threads which were touched some hours before now.
func aged(t *testing.T, w *world, now time.Time, hours map[string]int) {
	t.Helper()
	for id, h := range hours {
		w.end(t, w.start(t, id, "one"), runs.Success)
		must.Do(t, w.quiesce(t, id))
		th := must.Get(w.db.Thread(t.Context(), id))(t)
		th.UpdatedAt = now.Add(-time.Duration(h) * time.Hour)
		th.StateUpdatedAt = th.UpdatedAt
		must.Do(t, w.db.Commit(t.Context(), store.Batch{Thread: &th}))
	}
}

func (s suite) SweepKeepsWhatThePolicyKeeps(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name   string
		policy threads.Policy
		want   string
	}{
		{"nothing", threads.Policy{}, "a* b* busy* c* pinned*"},
		{"age", threads.Policy{MaxAge: 25 * time.Hour}, "a* b* busy* pinned*"},
		{"history", threads.Policy{KeepLatest: 15 * time.Hour}, "a* b busy* c pinned*"},
		{"both", threads.Policy{KeepLatest: 15 * time.Hour, MaxAge: 25 * time.Hour}, "a* b busy* pinned*"},
		{"size", threads.Policy{MaxSize: 1}, "busy* pinned*"},
		{"size that is enough", threads.Policy{MaxSize: 1 << 30}, "a* b* busy* c* pinned*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var gone []string
			dir := t.TempDir()
			w := s.openWith(t, dir, runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
				return parrotAgent(), nil
			},
				Remove: func(id string) error { gone = append(gone, id); return nil }})
			if _, err := os.Stat(filepath.Join(dir, store.FileName)); err != nil && c.policy.MaxSize > 0 {
				c.want = "a* b* busy* c* pinned*" // rows that go leave the size of a PostgreSQL as it is
			}
			aged(t, w, now, map[string]int{"a": 10, "b": 20, "c": 30, "pinned": 40, "busy": 50})
			pin := json.RawMessage(`{"deerflow_pinned":true}`)
			must.Do(t, w.db.Commit(t.Context(), store.Batch{ThreadID: "pinned", Patch: &store.ThreadPatch{Merge: pin}}))
			hanging := w.start(t, "busy", "hang")
			w.until(t, hanging, text("hang"))
			if got := w.swept(t, c.policy, now); got != c.want {
				t.Errorf("left: %s, want %s", got, c.want)
			}
			if got := w.swept(t, c.policy, now); got != c.want {
				t.Errorf("left at the second time: %s, want %s", got, c.want)
			}
			if n := 5 - len(strings.Fields(c.want)); len(gone) != n {
				t.Errorf("files removed of %v", gone)
			}
			must.Do(t, w.m.Cancel(t.Context(), "busy", hanging.ID, true))
			must.Do(t, w.quiesce(t, "busy"))
			w.sound(t)
		})
	}
}

func (w *world) setTTL(t *testing.T, thread string, ttl *store.TTL) error {
	row := must.Get(ttl.Row(thread))(t)
	return w.db.Commit(t.Context(), store.Batch{ThreadID: thread, Patch: &store.ThreadPatch{}, KV: []store.KV{row}})
}

func (s suite) ThreadsOwnTimeToLive(t *testing.T) {
	now := time.Now()
	w := s.open(t, t.TempDir(), parrotAgent())
	aged(t, w, now, map[string]int{"dies": 3, "forgets": 3, "lives": 1, "none": 9})
	for id, raw := range map[string]string{"dies": `120`, "forgets": `{"ttl":120,"strategy":"keep_latest"}`,
		"lives": `{"ttl":120}`} {
		ttl := must.Get(threads.ParseTTL(json.RawMessage(raw)))(t)
		must.Do(t, w.setTTL(t, id, ttl))
	}
	for range 2 {
		if got := w.swept(t, threads.Policy{}, now); got != "forgets lives* none*" {
			t.Errorf("left: %s", got)
		}
	}
	if _, err := w.db.ThreadTTL(t.Context(), "dies"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the time to live outlived its thread: %v", err)
	}
	ttl, err := w.db.ThreadTTL(t.Context(), "lives")
	if err != nil || ttl.After != 2*time.Hour || ttl.Strategy != "delete" {
		t.Errorf("time to live: %+v, %v", ttl, err)
	}
	must.Do(t, w.setTTL(t, "lives", nil))
	if got := w.swept(t, threads.Policy{}, now.Add(100*time.Hour)); got != "forgets lives* none*" {
		t.Errorf("left: %s", got)
	}
	if err := w.setTTL(t, "nobody", &store.TTL{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a thread that is not there: %v", err)
	}
	w.sound(t)
}

func TestParseTTL(t *testing.T) {
	for raw, want := range map[string]string{
		``: "none", `null`: "none", `5`: "5m0s delete", `0.5`: "30s delete", `{"ttl":60}`: "1h0m0s delete",
		`{"ttl":1,"strategy":"keep_latest"}`: "1m0s keep_latest", `0`: "bad", `-1`: "bad", `1e300`: "bad", `"x"`: "bad",
		`{}`: "bad", `{"ttl":1,"strategy":"burn"}`: "bad", `[1]`: "bad",
	} {
		ttl, err := threads.ParseTTL(json.RawMessage(raw))
		got := "none"
		switch {
		case errors.Is(err, runs.ErrInput):
			got = "bad"
		case err != nil:
			t.Errorf("%s: %v", raw, err)
		case ttl != nil:
			got = fmt.Sprint(ttl.After, " ", ttl.Strategy)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// FilesOfADeletedThreadGoAfterACrash: the server ended between rows and files.
func (s suite) FilesOfADeletedThreadGoAfterACrash(t *testing.T) {
	dir := t.TempDir()
	build := func(context.Context, runs.Spec) (*agent.Agent, error) { return parrotAgent(), nil }
	w := s.openWith(t, dir, runs.Config{Build: build, Remove: func(string) error { return errors.New("not now") }})
	for _, id := range []string{"t1", "t2"} {
		w.end(t, w.start(t, id, "one"), runs.Success)
		if err := w.m.DeleteThread(t.Context(), id); err == nil {
			t.Error("a deletion that failed is not told")
		}
	}
	w.end(t, w.start(t, "t2", "made again"), runs.Success)
	w.close()
	var gone []string
	w = s.openWith(t, dir, runs.Config{Build: build, Remove: func(id string) error {
		gone = append(gone, id)
		return nil
	}})
	if len(gone) != 1 || gone[0] != "t1" {
		t.Errorf("removed: %v", gone)
	}
	w.close()
	gone = nil
	s.openWith(t, dir, runs.Config{Build: build, Remove: func(id string) error { gone = append(gone, id); return nil }})
	if len(gone) != 0 {
		t.Errorf("removed again: %v", gone)
	}
}

func (s suite) SweepForgetsWhatWasChosenForChatsNeverSent(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	const chat = "01980000-0000-7000-8000-000000000001" // opened in 2025
	must.Do(t, w.db.Commit(t.Context(), store.Batch{KV: []store.KV{{Owner: store.Global, Space: "thread_tools_off",
		Key: chat, Body: []byte(`{}`)}}}))
	w.swept(t, threads.Policy{}, time.Now())
	if _, err := w.db.KV(t.Context(), store.Global, "thread_tools_off", chat); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v, want it gone", err)
	}
}
