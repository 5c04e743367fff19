package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/memory"
)

func ptr[T any](v T) *T { return &v }

func TestFactsByHand(t *testing.T) {
	w := open(t)
	ctx := t.Context()
	d := must.Get(w.Add(ctx, me, 0, memory.Fact{Content: "  Likes\ntea ", Category: "Preference", Confidence: 0.9}))(t)
	f := d.Facts[0]
	if f.Content != "Likes tea" || f.Category != "preference" || f.Source != memory.Manual || d.Revision != 1 ||
		f.Revision != 1 || !f.Created.Equal(w.now) {
		t.Errorf("%+v of %+v", f, d)
	}
	for name, c := range map[string]struct {
		err  error
		want any
	}{
		"the same again":     {errOf(w.Add(ctx, me, 0, memory.Fact{Content: "likes  TEA"})), memory.ErrDuplicate},
		"blank":              {errOf(w.Add(ctx, me, 0, memory.Fact{Content: " \n"})), &memory.DocumentError{}},
		"too sure":           {errOf(w.Add(ctx, me, 0, memory.Fact{Content: "x", Confidence: 1.1})), &memory.DocumentError{}},
		"too long":           {errOf(w.Add(ctx, me, 0, memory.Fact{Content: strings.Repeat("x", memory.MaxContent+1)})), &memory.DocumentError{}},
		"an old revision":    {errOf(w.Add(ctx, me, 7, memory.Fact{Content: "x"})), memory.ErrChanged},
		"change of none":     {errOf(w.Change(ctx, me, 0, "nobody", memory.Edit{})), memory.ErrNotFound},
		"change of an old":   {errOf(w.Change(ctx, me, 0, f.ID, memory.Edit{Revision: 9})), memory.ErrChanged},
		"change to blank":    {errOf(w.Change(ctx, me, 0, f.ID, memory.Edit{Content: ptr("")})), &memory.DocumentError{}},
		"delete none":        {errOf(w.Delete(ctx, me, 0, "nobody")), memory.ErrNotFound},
		"delete of an old":   {errOf(w.Delete(ctx, me, 9, f.ID)), memory.ErrChanged},
		"somebody else's":    {errOf(w.Delete(ctx, "eve", 0, f.ID)), memory.ErrNotFound},
		"clear of an old":    {errOf(w.Clear(ctx, me, 9)), memory.ErrChanged},
		"import over an old": {errOf(w.Import(ctx, me, 9, memory.Document{})), memory.ErrChanged},
	} {
		var bad *memory.DocumentError
		want, ok := c.want.(error)
		if c.err == nil || ok && !errors.As(c.want.(error), &bad) && !errors.Is(c.err, want) ||
			ok && errors.As(c.want.(error), &bad) && !errors.As(c.err, &bad) {
			t.Errorf("%s: %v, want %T", name, c.err, c.want)
		}
	}
	w.pass(time.Hour)
	d = must.Get(w.Change(ctx, me, 1, f.ID, memory.Edit{Content: ptr("Likes coffee"), Confidence: ptr(0.5),
		Revision: 1}))(t)
	g := d.Facts[0]
	if g.ID != f.ID || g.Content != "Likes coffee" || g.Category != "preference" || g.Confidence != 0.5 ||
		g.Revision != 2 || !g.Created.Equal(f.Created) || !g.Updated.Equal(w.now) {
		t.Errorf("%+v", g)
	}
	before := d
	w.again() // everything is in the store
	if d = must.Get(w.Document(ctx, me))(t); text(t, d) != text(t, before) {
		t.Errorf("%s\nwas %s", text(t, d), text(t, before))
	}
	if d = must.Get(w.Delete(ctx, me, 2, f.ID))(t); len(d.Facts) != 0 || d.Revision != 3 {
		t.Errorf("%+v", d)
	}
}

func errOf[T any](_ T, err error) error { return err }

func text(t testing.TB, d memory.Document) string {
	t.Helper()
	b := must.Get(json.Marshal(d))(t)
	return string(b)
}

func TestNoRoomForLessSureFacts(t *testing.T) {
	w := open(t)
	w.rules.MaxFacts = 10
	for i := range 10 {
		w.add(t, memory.Fact{Content: fmt.Sprint("fact ", i), Confidence: 0.8})
	}
	_, err := w.Add(t.Context(), me, 0, memory.Fact{Content: "a guess", Confidence: 0.5})
	if !errors.Is(err, memory.ErrEvicted) || len(w.facts(t)) != 10 {
		t.Error(err, w.facts(t))
	}
	w.pass(time.Second)
	w.add(t, memory.Fact{Content: "sure", Confidence: 0.9})
	if got := w.facts(t); len(got) != 10 || got[9] != "sure" {
		t.Error(got)
	}
}

// TestUndo: clearing, deleting and importing can be taken back at once, and only as long as
// nothing else happened.
func TestUndo(t *testing.T) {
	w := open(t)
	ctx := t.Context()
	if _, err := w.Undo(ctx, me); !errors.Is(err, memory.ErrNoUndo) {
		t.Error(err)
	}
	id := w.add(t, memory.Fact{Content: "one", Confidence: 1}, memory.Fact{Content: "two", Confidence: 1})
	for name, do := range map[string]func() error{
		"clear":  func() error { return errOf(w.Clear(ctx, me, 0)) },
		"delete": func() error { return errOf(w.Delete(ctx, me, 0, id)) },
		"import": func() error { return errOf(w.Import(ctx, me, 0, memory.Document{})) },
	} {
		if err := do(); err != nil || len(w.facts(t)) == 2 {
			t.Fatal(name, err)
		}
		if _, err := w.Undo(ctx, me); err != nil || fmt.Sprint(w.facts(t)) != "[one two]" {
			t.Error(name, err, w.facts(t))
		}
	}
	must.Get(w.Clear(ctx, me, 0))(t)
	w.thread(t, "t")
	w.said(t, "t", "r", "Remember that I own a boat.", "Done.")
	w.pass(time.Minute)
	w.Work(ctx)
	if _, err := w.Undo(ctx, me); !errors.Is(err, memory.ErrNoUndo) || fmt.Sprint(w.facts(t)) != "[I own a boat]" {
		t.Error(err, w.facts(t))
	}
}

func TestOwnersDoNotShare(t *testing.T) {
	w := open(t)
	w.add(t, memory.Fact{Content: "mine"})
	if d := must.Get(w.Document(t.Context(), "eve"))(t); len(d.Facts) != 0 || d.Revision != 0 {
		t.Errorf("%+v", d)
	}
	must.Get(w.Clear(t.Context(), "eve", 0))(t)
	if got := w.facts(t); len(got) != 1 {
		t.Error(got)
	}
}

// TestParallelChanges: none is lost, whoever makes them.
func TestParallelChanges(t *testing.T) {
	w := open(t)
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			must.Try(w.Add(t.Context(), me, 0, memory.Fact{Content: fmt.Sprint("fact ", i)}))(t)
		})
	}
	work.Wait()
	if got := w.facts(t); len(got) != 50 {
		t.Errorf("%d facts: %v", len(got), got)
	}
}

const deerflow = `{"version":"1.0","lastUpdated":"2025-11-02T10:00:00.123456Z","custom":{"a":1},
 "user":{"workContext":{"summary":"Builds compilers","updatedAt":"2025-11-01T09:00:00Z"},"personalContext":{"summary":"","updatedAt":""}},
 "history":{"recentMonths":{"summary":"Moved to Bern","updatedAt":""},"unknown":{"summary":"x"}},
 "facts":[
  {"id":"fact_1","content":"Uses Rust","category":"knowledge","confidence":0.9,"createdAt":"2025-10-01T00:00:00Z","source":"thread-1","status":"active","schemaVersion":2},
  {"id":"fact_1","content":"Plays go","category":"","createdAt":"nonsense","source":""},
  {"content":"uses  rust","confidence":0.2},
  {"id":"fact_2","content":"Dates are ISO","category":"correction","confidence":0.95,"sourceError":"US dates","expected_valid_days":400,"source":"manual"}]}`

func TestImportOfDeerFlow(t *testing.T) {
	w := open(t)
	d := must.Get(memory.Parse([]byte(deerflow)))(t)
	d = must.Get(w.Import(t.Context(), me, 0, d))(t)
	if got := fmt.Sprint(w.facts(t)); got != "[Uses Rust Plays go Dates are ISO]" {
		t.Error(got)
	}
	out := text(t, d)
	for _, want := range []string{`"custom":{"a":1}`, `"schemaVersion":2`, `"status":"active"`,
		`"sourceError":"US dates"`, `"expected_valid_days":400`, `"source":"import"`,
		`"workContext":{"summary":"Builds compilers","updatedAt":"2025-11-01T09:00:00.000Z"}`, `"version":"1.0"`,
		`"longTermBackground":{"summary":"","updatedAt":""}`, `"createdAt":"2025-10-01T00:00:00.000Z"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	again := must.Get(memory.Parse([]byte(out)))(t)
	w.again()
	e := must.Get(w.Import(t.Context(), me, 0, again))(t)
	if text(t, d) != text(t, e) {
		t.Errorf("an export that was imported differs:\n%s\n%s", text(t, d), text(t, e))
	}
}

func TestBadDocuments(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                          "must be a JSON object",
		"{\n\n\"facts\": [}":          "line 3",
		`{"facts":{}}`:                "facts must be a list",
		`{"facts":[1]}`:               "facts[0]",
		`{"facts":[{"content":" "}]}`: "facts[0].content must not be blank",
		`{"facts":[{"content":3}]}`:   "facts[0].content can't be a number",
		`{"facts":[{"content":"a","confidence":2}]}`: "facts[0].confidence must be between 0 and 1",
		`{"user":[]}`: "user must hold",
		`{"user":{"workContext":{"summary":"` + strings.Repeat("x", 9000) + `"}}}`: "user.workContext is longer",
		`{"facts":[{"content":"a","id":"../x"}]}`:                                  "facts[0].id",
		`{"x":"` + strings.Repeat("x", 9000) + `"}`:                                "keys that aren't known",
	} {
		if _, err := memory.Parse([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", body, err, want)
		}
	}
}

// TestReload takes a memory.json in once, and again when somebody has edited it.
func TestReload(t *testing.T) {
	w := open(t)
	ctx := t.Context()
	if d := must.Get(w.Reload(ctx, me))(t); len(d.Facts) != 0 {
		t.Errorf("%+v", d)
	}
	write := func(content string) {
		must.Do(t, os.WriteFile(w.path, []byte(content), 0o600))
	}
	write(`{"facts":[{"content":"from the file"}]}`)
	must.Get(w.Reload(ctx, me))(t)
	id := w.add(t, memory.Fact{Content: "by hand"})
	w.again()
	must.Get(w.Reload(ctx, me))(t) // nothing new in it
	if got := fmt.Sprint(w.facts(t)); got != "[from the file by hand]" {
		t.Error(got)
	}
	write(`{"facts":[{"content":"edited"}]}`)
	must.Get(w.Reload(ctx, me))(t)
	if got := fmt.Sprint(w.facts(t)); got != "[edited]" || id == "" {
		t.Error(got)
	}
	write(`{"facts":`)
	_, err := w.Reload(ctx, me)
	if err == nil || !strings.Contains(err.Error(), "memory.json") || len(w.facts(t)) != 1 {
		t.Error(err)
	}
}
