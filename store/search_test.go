package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"fawn/store"
)

func (s suite) ThreadsAreFoundByWhatTheyContain(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for i, c := range []struct{ id, owner, status, meta string }{
		{"a", "ann", "idle", `{"k":1,"tags":["x","y"],"user":{"id":"u1","team":{"n":"red"}}}`},
		{"b", "ann", "busy", `{"k":1.0,"tags":["y","x"],"user":{"id":"u2"}}`},
		{"c", "bob", "idle", `{"k":"1","flag":true,"none":null,"big":9007199254740993}`},
		{"d", "ann", "idle", `{}`},
	} {
		commit(t, db, store.Batch{Thread: &store.Thread{ID: c.id, Owner: c.owner, Status: c.status,
			Metadata: json.RawMessage(c.meta), CreatedAt: at.Add(time.Duration(-i) * time.Minute),
			UpdatedAt: at.Add(time.Duration(i/2) * time.Minute), StateUpdatedAt: at}})
	}
	for name, c := range map[string]struct {
		q     store.ThreadQuery
		want  string
		total int
	}{
		"default order, ties by id": {store.ThreadQuery{}, "dcba", 4},
		"oldest first":              {store.ThreadQuery{SortBy: "created_at", SortOrder: "asc"}, "dcba", 4},
		"by id":                     {store.ThreadQuery{SortBy: "thread_id", SortOrder: "asc"}, "abcd", 4},
		"by status":                 {store.ThreadQuery{SortBy: "status"}, "dcab", 4},
		"by state time":             {store.ThreadQuery{SortBy: "state_updated_at"}, "dcba", 4},
		"owner":                     {store.ThreadQuery{Owner: "ann"}, "dba", 3},
		"ids":                       {store.ThreadQuery{IDs: []string{"a", "c", "nope"}}, "ca", 2},
		"status":                    {store.ThreadQuery{Status: "busy"}, "b", 1},
		"page":                      {store.ThreadQuery{Limit: 2, Offset: 1}, "cb", 4},
		"beyond":                    {store.ThreadQuery{Offset: 9}, "", 4},
		"empty filter":              {store.ThreadQuery{Metadata: json.RawMessage(`{}`)}, "dcba", 4},
		"null filter":               {store.ThreadQuery{Metadata: json.RawMessage(`null`)}, "dcba", 4},
		"number by value":           {store.ThreadQuery{Metadata: json.RawMessage(`{"k":1}`)}, "ba", 2},
		"number is not text":        {store.ThreadQuery{Metadata: json.RawMessage(`{"k":"1"}`)}, "c", 1},
		"great numbers exactly":     {store.ThreadQuery{Metadata: json.RawMessage(`{"big":9007199254740992}`)}, "", 0},
		"nested":                    {store.ThreadQuery{Metadata: json.RawMessage(`{"user":{"team":{"n":"red"}}}`)}, "a", 1},
		"empty object inside":       {store.ThreadQuery{Metadata: json.RawMessage(`{"user":{}}`)}, "ba", 2},
		"array whole":               {store.ThreadQuery{Metadata: json.RawMessage(`{"tags":["x","y"]}`)}, "a", 1},
		"array part":                {store.ThreadQuery{Metadata: json.RawMessage(`{"tags":["x"]}`)}, "", 0},
		"bool and null":             {store.ThreadQuery{Metadata: json.RawMessage(`{"flag":true,"none":null}`)}, "c", 1},
		"null is not absent":        {store.ThreadQuery{Metadata: json.RawMessage(`{"nowhere":null}`)}, "", 0},
		"filter with page":          {store.ThreadQuery{Metadata: json.RawMessage(`{"user":{}}`), Limit: 1, Offset: 1}, "a", 2},
		"filter with owner":         {store.ThreadQuery{Owner: "bob", Metadata: json.RawMessage(`{"k":1}`)}, "", 0},
	} {
		page, total, err := db.Threads(ctx, c.q)
		got := ""
		for _, th := range page {
			got += th.ID
		}
		if err != nil || got != c.want || total != c.total {
			t.Errorf("%s: %q of %d, %v; want %q of %d", name, got, total, err, c.want, c.total)
		}
	}
	for name, q := range map[string]store.ThreadQuery{
		"filter not an object": {Metadata: json.RawMessage(`[1]`)},
		"filter not JSON":      {Metadata: json.RawMessage(`{`)},
		"two filters":          {Metadata: json.RawMessage(`{} {}`)},
		"sort":                 {SortBy: "title; DROP TABLE thread"},
		"order":                {SortOrder: "sideways"},
	} {
		if _, _, err := db.Threads(ctx, q); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func FuzzContainmentIsReflexiveAndMonotone(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,2.0,"x",null,true]}}`), "k")
	f.Add([]byte(`1e999999999`), "")
	f.Add([]byte(`{"a":1} {}`), "a")
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		v, err := store.DecodeJSON(raw)
		if err != nil {
			return
		}
		again, err := store.DecodeJSON(raw)
		if err != nil || !store.Contains(v, again) {
			t.Fatalf("%s does not contain itself, %v", raw, err)
		}
		o, ok := v.(map[string]any)
		if !ok {
			return
		}
		if !store.Contains(o, map[string]any{}) {
			t.Fatalf("%s does not contain {}", raw)
		}
		if _, taken := o[key]; !taken {
			o[key] = "more"
			if !store.Contains(o, again) || store.Contains(again, o) {
				t.Fatalf("%s with %q more", raw, key)
			}
		}
	})
}
