package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
)

func (w *world) thread(t *testing.T, id string) store.Thread {
	t.Helper()
	th := must.Get(w.db.Thread(t.Context(), id))(t)
	return th
}

func (w *world) checkpoints(t *testing.T, thread string) []store.Checkpoint {
	t.Helper()
	cps := must.Get(w.db.Checkpoints(t.Context(), thread, "", "", 0, nil))(t)
	return cps
}

// copying is a world whose threads' files are a list of copies.
func (s suite) copying(t *testing.T) (*world, *threads.Copier, *[][2]string) {
	t.Helper()
	var copies [][2]string
	w := s.openWith(t, t.TempDir(), runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		return parrotAgent(), nil
	}})
	copier := &threads.Copier{DB: w.db, Log: quiet(), Files: func(_ context.Context, from, to string) error {
		copies = append(copies, [2]string{from, to})
		return errors.New("some files stayed behind") // which is no reason not to copy
	}}
	return w, copier, &copies
}

func (s suite) CopyHasAllCheckpointsAndGoesItsOwnWay(t *testing.T) {
	w, copier, copies := s.copying(t)
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	first := w.head(t, "t1")
	w.end(t, w.start(t, "t1", "two"), runs.Success)
	must.Get(w.m.UpdateState(t.Context(), "t1", runs.Update{Values: json.RawMessage(`{"title":"T"}`)}))(t)
	w.end(t, w.goOn(t, runs.Request{Thread: "t1", Input: human("fork"), CheckpointID: first.ID}), runs.Success)

	c := must.Get(copier.Copy(t.Context(), "t1"))(t)
	if want := [][2]string{{"t1", c.ID}}; !slices.Equal(*copies, want) {
		t.Errorf("copied files %v", *copies)
	}
	old, now := w.checkpoints(t, "t1"), w.checkpoints(t, c.ID)
	if len(old) != len(now) || len(old) < 8 {
		t.Fatalf("%d checkpoints, copied %d", len(old), len(now))
	}
	for i := range old {
		if old[i].ID != now[i].ID || old[i].Parent != now[i].Parent || now[i].Thread != c.ID ||
			texts(w.state(t, "t1", old[i].ID)) != texts(w.state(t, c.ID, now[i].ID)) {
			t.Errorf("checkpoint %d: %+v, copied %+v", i, old[i], now[i])
		}
	}
	var meta map[string]string
	if th := w.thread(t, c.ID); json.Unmarshal(th.Metadata, &meta) != nil || meta["thread_id"] != c.ID ||
		meta["graph_id"] != "lead_agent" || th.Head != w.thread(t, "t1").Head || th.Status != runs.Idle {
		t.Errorf("the copy is %+v", th)
	}
	w.end(t, w.start(t, c.ID, "more"), runs.Success)
	got := texts(w.state(t, c.ID, ""))
	if got != "human:one\nai:re: one\nhuman:fork\nai:re: fork\nhuman:more\nai:re: more" {
		t.Errorf("messages of the copy:\n%s", got)
	}
	if got := texts(w.state(t, "t1", "")); got != "human:one\nai:re: one\nhuman:fork\nai:re: fork" {
		t.Errorf("messages of the source:\n%s", got)
	}
	if _, err := copier.Copy(t.Context(), "nowhere"); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("a thread that is not there: %v", err)
	}
	w.sound(t)
}

// CopyOfABusyThreadIsItsLastStep: what a run has not stored yet is not in the copy.
func (s suite) CopyOfABusyThreadIsItsLastStep(t *testing.T) {
	w, copier, _ := s.copying(t)
	run := w.start(t, "t1", "hang on")
	w.until(t, run, text("on"))
	c := must.Get(copier.Copy(t.Context(), "t1"))(t)
	if got := texts(w.state(t, c.ID, "")); got != "human:hang on" || c.Status != runs.ThreadInterrupted {
		t.Errorf("the copy is %s with\n%s", c.Status, got)
	}
	must.Do(t, w.m.CancelAll(t.Context(), "t1"))
	w.sound(t)
}

func (s suite) BranchStartsFromTheEndOfATurn(t *testing.T) {
	w, copier, copies := s.copying(t)
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	w.end(t, w.start(t, "t1", "two"), runs.Success)
	msgs := w.state(t, "t1", "").Messages
	must.Get(w.m.UpdateState(t.Context(), "t1", runs.Update{Values: json.RawMessage(`{"title":"T"}`)}))(t)
	for _, c := range []struct {
		name, title, messages, want string
		ids                         []string
		files                       bool
	}{
		{"the first answer", "", "human:one\nai:re: one", "", []string{msgs[1].ID}, false},
		{"a turn by all its messages", "", "human:one\nai:re: one", "", []string{msgs[0].ID, msgs[1].ID}, false},
		{"the last answer", "", "human:one\nai:re: one\nhuman:two\nai:re: two", "T", []string{msgs[3].ID}, true},
		{"with a title of its own", "Mine", "human:one\nai:re: one\nhuman:two\nai:re: two", "Mine", []string{msgs[3].ID}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(*copies)
			b := must.Get(copier.Branch(t.Context(), "t1", c.ids, c.title))(t)
			st := w.state(t, b.Thread.ID, "")
			title := ""
			if st.Title != nil {
				title = *st.Title
			}
			if texts(st) != c.messages || title != c.want || b.Files != c.files || (len(*copies) > before) != c.files ||
				b.Message != c.ids[len(c.ids)-1] {
				t.Errorf("%+v, title %q, messages:\n%s", b, title, texts(st))
			}
			if cps := w.checkpoints(t, b.Thread.ID); len(cps) != 1 || cps[0].Parent != "" || cps[0].Source != "fork" ||
				len(cps[0].Next) != 0 {
				t.Errorf("checkpoints %+v", cps)
			}
			w.end(t, w.start(t, b.Thread.ID, "more"), runs.Success)
			if got := texts(w.state(t, b.Thread.ID, "")); got != c.messages+"\nhuman:more\nai:re: more" {
				t.Errorf("messages:\n%s", got)
			}
		})
	}
	if _, err := copier.Branch(t.Context(), "t1", []string{"no such"}, ""); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("an unknown message: %v", err)
	}
	if _, err := copier.Branch(t.Context(), "nowhere", []string{"x"}, ""); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("an unknown thread: %v", err)
	}
	// the answer in the middle is written anew: no checkpoint ends with it any more
	edit := `{"messages":[{"type":"ai","id":"` + msgs[1].ID + `","content":"edited"}]}`
	must.Get(w.m.UpdateState(t.Context(), "t1", runs.Update{Values: json.RawMessage(edit)}))(t)
	if _, err := copier.Branch(t.Context(), "t1", []string{msgs[1].ID}, ""); !errors.Is(err, threads.ErrGone) {
		t.Errorf("an edited message: %v", err)
	}
	w.sound(t)
}
