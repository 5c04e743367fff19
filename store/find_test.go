package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// contentMatch finds words in the member "content" of a message.
func contentMatch(words ...string) func([]byte) (string, bool) {
	return func(body []byte) (string, bool) {
		var m struct{ Content string }
		if json.Unmarshal(body, &m) != nil {
			return "", false
		}
		for _, w := range words {
			if !strings.Contains(store.Fold(m.Content), store.Fold(w)) {
				return "", false
			}
		}
		return m.Content, true
	}
}

func (s suite) ThreadsAreFoundByTitleAndByWhatWasSaid(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for i, c := range []struct{ id, owner, title, meta, said string }{
		{"a", "ann", "Heat pumps", `{}`, "nothing"},
		{"b", "ann", "Boilers", `{}`, `a "heat <pump>" \ Äpfel 100% 热泵 😀`},
		{"c", "bob", "Heat pumps of another", `{}`, "heat pump"},
		{"d", "ann", "Old but pinned", `{"deerflow_pinned":true}`, "the heat of the day; a pump"},
		{"e", "ann", "content type", `{}`, "no"},
	} {
		body := must.Get(json.Marshal(map[string]string{"type": "human", "content": c.said}))(t)
		commit(t, db, store.Batch{Thread: &store.Thread{ID: c.id, Owner: c.owner, Title: c.title,
			Metadata: json.RawMessage(c.meta), CreatedAt: at, UpdatedAt: at.Add(time.Duration(-i) * time.Minute)},
			Messages: []store.MessageRow{{N: 1, ID: "m" + c.id, Body: body}}})
	}
	for name, c := range map[string]struct {
		owner string
		words []string
		want  string
	}{
		"all":                       {"ann", nil, "d abe"},
		"pinned first":              {"ann", []string{"PUMP"}, "dm abm"},
		"two words":                 {"ann", []string{"pump", "heat"}, "dm abm"},
		"not across messages":       {"ann", []string{"boilers", "heat"}, ""},
		"letters with a case":       {"ann", []string{"äPFEL"}, "bm"},
		"Chinese":                   {"ann", []string{"热泵"}, "bm"},
		"beyond the first plane":    {"ann", []string{"😀"}, "bm"},
		"escaped in JSON":           {"ann", []string{`"heat`, "<pump>", `\`}, "bm"},
		"no wildcard":               {"ann", []string{"1_0%"}, ""},
		"percent":                   {"ann", []string{"100%"}, "bm"},
		"keys of JSON are not text": {"ann", []string{"human"}, ""},
		"other people's":            {"bob", []string{"heat"}, "c"},
	} {
		found, rest, err := db.FindThreads(ctx,
			store.Find{Owner: c.owner, Words: c.words, Limit: 9, Match: contentMatch(c.words...)})
		got := ""
		for _, f := range found {
			got += f.ID
			if f.Message != "" {
				got += "m"
				if f.Message != "m"+f.ID || f.Excerpt == "" {
					t.Errorf("%s: %+v", name, f)
				}
			}
		}
		if want := strings.ReplaceAll(c.want, " ", ""); err != nil || got != want || rest.ID != "" {
			t.Errorf("%s: %q and then %+v, %v; want %q", name, got, rest, err, want)
		}
	}
}

func (s suite) ThreadsAreFoundByTheirMetadata(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for id, meta := range map[string]string{
		"a": `{"channel_source":{"provider":"telegram","chat_id":"7"}}`,
		"b": `{"channel_source":{"provider":"slack"},"deerflow_pinned":true}`,
		"c": `{"note":"\"channel_source\":{\"provider\":\"telegram\"}"}`,
		"d": `{"other":{"channel_source":{"provider":"telegram"}}}`,
		"e": `{}`,
		"f": `{"channel_source":"telegram"}`,
	} {
		commit(t, db, store.Batch{Thread: &store.Thread{ID: id, Owner: "ann", Title: "Talk", CreatedAt: at,
			UpdatedAt: at, Metadata: json.RawMessage(meta)}})
	}
	for want, found := range map[string]string{
		``:                      "bfedca",
		`{}`:                    "bfedca",
		`{"channel_source":{}}`: "ba",
		`{"channel_source":{"provider":"telegram"}}`: "a",
		`{"channel_source":{"provider":"discord"}}`:  "",
	} {
		list, rest, err := db.FindThreads(ctx,
			store.Find{Owner: "ann", Words: []string{"talk"}, Metadata: json.RawMessage(want), Limit: 9})
		got := ""
		for _, f := range list {
			got += f.ID
		}
		if err != nil || got != found || rest.ID != "" {
			t.Errorf("%s: %q, %v; want %q", want, got, err, found)
		}
	}
	f := store.Find{Owner: "ann", Metadata: json.RawMessage(`[]`), Limit: 9}
	if _, _, err := db.FindThreads(ctx, f); err == nil {
		t.Error("a filter that is no object is taken")
	}
}

func (s suite) APageOfFoundThreadsGoesOnWhereItEnded(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	const n = 150
	for i := range n {
		meta := `{}`
		if i%40 == 0 {
			meta = `{"deerflow_pinned":true}`
		}
		commit(t, db,
			store.Batch{Thread: &store.Thread{ID: fmt.Sprintf("t%03d", i), Title: "x", Metadata: json.RawMessage(meta),
				CreatedAt: at, UpdatedAt: at.Add(time.Duration(i/3) * time.Second)}})
	}
	want, _ := must.Get2(db.Threads(ctx, store.ThreadQuery{Owner: "default"}))(t)
	for _, f := range []store.Find{{Limit: 50}, {Limit: 7}, {Limit: n, Within: time.Nanosecond}} {
		var got []string
		f.Owner, f.Words, f.Match = "default", []string{"X"}, contentMatch("x")
		for {
			page, rest := must.Get2(db.FindThreads(ctx, f))(t)
			for _, p := range page {
				got = append(got, p.ID)
			}
			if f.Before = rest; rest.ID == "" {
				break
			}
			if len(page) == 0 {
				t.Fatal("a page without progress")
			}
		}
		if len(got) != n {
			t.Fatalf("%d threads", len(got))
		}
		for i := range got {
			if got[i] != want[i].ID {
				t.Fatalf("limit %d: place %d has %s, the list has %s", f.Limit, i, got[i], want[i].ID)
			}
		}
	}
}

func (s suite) ADeletedThreadLeavesTheListAndTheCount(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for _, id := range []string{"a", "b"} {
		commit(t, db, store.Batch{Thread: &store.Thread{ID: id, CreatedAt: at, UpdatedAt: at}})
	}
	total := func(owner string) int {
		page, n, err := db.Threads(ctx, store.ThreadQuery{Owner: owner})
		if err != nil || len(page) != n {
			t.Fatal(len(page), n, err)
		}
		return n
	}
	if total("default") != 2 || total("") != 2 {
		t.Fatal("at first")
	}
	must.Do(t, db.Discard(ctx, "default", "a", at))
	if total("default") != 1 || total("") != 2 {
		t.Error("after it was deleted")
	}
	if th, err := db.Thread(ctx, "a"); err != nil || !th.UpdatedAt.Equal(at) {
		t.Error("the thread changed its time", th.UpdatedAt, err)
	}
}
