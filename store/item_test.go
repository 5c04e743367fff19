package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func (s suite) ItemsAreFoundByNamespaceAndKey(t *testing.T) {
	db := s.open(t)
	put := func(owner, namespace, key, value string) {
		t.Helper()
		must.Do(t, db.PutItem(t.Context(), owner, store.Item{Namespace: strings.Split(namespace, "."), Key: key,
			Value: json.RawMessage(value)}))
	}
	put("", "users.u1", "a", `{"n":1}`)
	put("", "users.u1.notes", "a", `{"n":2}`)
	put("", "users.u10", "a", `{"n":3}`)
	put("", "users", "a", `{"n":4}`)
	put("eve", "users.u1", "a", `{"n":5}`)
	put("", "users.u1", "a", `{"n":6}`)

	it, err := db.Item(t.Context(), "", []string{"users", "u1"}, "a", false)
	if err != nil || string(it.Value) != `{"n":6}` || it.UpdatedAt.Before(it.CreatedAt) {
		t.Errorf("%+v %v", it, err)
	}
	for prefix, want := range map[string]int{"": 4, "users": 4, "users.u1": 2, "users.u10": 1, "users.u": 0,
		"nobody": 0} {
		var labels []string
		if prefix != "" {
			labels = strings.Split(prefix, ".")
		}
		found, err := db.Items(t.Context(), "", store.ItemQuery{Prefix: labels, Limit: 10})
		if err != nil || len(found) != want {
			t.Errorf("below %q: %d items, want %d (%v)", prefix, len(found), want, err)
		}
	}
	must.Do(t, db.DeleteItem(t.Context(), "", []string{"users", "u1"}, "a"))
	if _, err := db.Item(t.Context(), "", []string{"users", "u1"}, "a", false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	if it, err := db.Item(t.Context(), "eve", []string{"users", "u1"}, "a", false); err != nil ||
		string(it.Value) != `{"n":5}` {
		t.Errorf("somebody else's: %+v %v", it, err)
	}
}

func (s suite) ItemsWithTheHighestScoreComeFirst(t *testing.T) {
	db := s.open(t)
	for i := range 5 {
		must.Do(t, db.PutItem(t.Context(), "", store.Item{Namespace: []string{"n"}, Key: fmt.Sprint(i),
			Value: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}))
	}
	score := func(key string, value []byte) float64 {
		if string(value) != `{"n":`+key+`}` {
			t.Errorf("key %s with %s", key, value)
		}
		return map[string]float64{"1": 0.5, "3": 1, "4": 0.5}[key]
	}
	for _, c := range []struct {
		limit, offset int
		want          string
	}{{9, 0, "3 4 1 "}, {1, 1, "4 "}, {9, 3, ""}, {9, 99, ""}} {
		found := must.Get(db.Items(t.Context(), "", store.ItemQuery{Prefix: []string{"n"}, Score: score, Limit: c.limit,
			Offset: c.offset}))(t)
		got := ""
		for _, f := range found {
			got += f.Key + " "
		}
		if got != c.want {
			t.Errorf("limit %d offset %d: %q, want %q", c.limit, c.offset, got, c.want)
		}
	}
}

func (s suite) ExpiredItemsAreGone(t *testing.T) {
	db := s.open(t)
	n := []string{"n"}
	must.Do(t, db.PutItem(t.Context(), "", store.Item{Namespace: n, Key: "brief", TTL: time.Nanosecond,
		Value: json.RawMessage(`{}`)}))
	must.Do(t, db.PutItem(t.Context(), "",
		store.Item{Namespace: n, Key: "long", TTL: time.Hour, Value: json.RawMessage(`{}`)}))
	for { // a millisecond is the least there is
		_, err := db.Item(t.Context(), "", n, "brief", false)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if found, err := db.Items(t.Context(), "", store.ItemQuery{Limit: 9, Refresh: true}); err != nil ||
		len(found) != 1 || found[0].Key != "long" || found[0].TTL != time.Hour {
		t.Errorf("%+v %v", found, err)
	}
	must.Do(t, db.ExpireItems(t.Context()))
	if rows := must.Get(db.Count(t.Context(), "SELECT count(*) FROM item"))(t); rows != 1 {
		t.Errorf("%d rows are left", rows)
	}
}

func (s suite) NamespacesAreListedOnce(t *testing.T) {
	db := s.open(t)
	for _, n := range []string{"a", "a.b", "a.b.c", "a.d.c", "a-b.x", "e.b.c"} {
		for _, key := range []string{"1", "2"} {
			must.Do(t, db.PutItem(t.Context(), "",
				store.Item{Namespace: strings.Split(n, "."), Key: key, Value: json.RawMessage(`{}`)}))
		}
	}
	for _, c := range []struct {
		name string
		q    store.NamespaceQuery
		want string
	}{
		{"all", store.NamespaceQuery{Limit: 99}, "[[a] [a-b x] [a b] [a b c] [a d c] [e b c]]"},
		{"prefix", store.NamespaceQuery{Prefix: []string{"a"}, Limit: 99}, "[[a] [a b] [a b c] [a d c]]"},
		{"any label", store.NamespaceQuery{Prefix: []string{"*", "b"}, Limit: 99}, "[[a b] [a b c] [e b c]]"},
		{"suffix", store.NamespaceQuery{Suffix: []string{"b", "c"}, Limit: 99}, "[[a b c] [e b c]]"},
		{"depth", store.NamespaceQuery{MaxDepth: 1, Limit: 99}, "[[a] [a-b] [e]]"},
		{"page", store.NamespaceQuery{MaxDepth: 2, Limit: 2, Offset: 1}, "[[a-b x] [a b]]"},
		{"beyond", store.NamespaceQuery{Limit: 2, Offset: 9}, "[]"},
	} {
		got, err := db.Namespaces(t.Context(), "", c.q)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestFiltersCompareMembers(t *testing.T) {
	const value = `{"n":2,"s":"b","on":true,"none":null,"list":[1,2],"deep":{"a":1,"b":{"c":"x"}}}`
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{`null`, true}, {`{}`, true}, {`{"n":2}`, true}, {`{"n":2.0}`, true}, {`{"n":"2"}`, false},
		{`{"n":2,"s":"c"}`, false}, {`{"none":null}`, true}, {`{"absent":null}`, false}, {`{"list":[1,2]}`, true},
		{`{"list":[1]}`, false}, {`{"deep":{"a":1}}`, true}, {`{"deep":{"b":{"c":"y"}}}`, false},
		{`{"deep":{"a":{"$gt":0}}}`, true}, {`{"s":{"a":1}}`, false}, {`{"n":{"$eq":2}}`, true},
		{`{"n":{"$ne":2}}`, false}, {`{"absent":{"$ne":2}}`, true}, {`{"n":{"$gt":2}}`, false},
		{`{"n":{"$gte":2}}`, true}, {`{"n":{"$gt":1,"$lt":3}}`, true}, {`{"n":{"$lte":1.5}}`, false},
		{`{"s":{"$lt":"c"}}`, true}, {`{"s":{"$lt":3}}`, false}, {`{"on":{"$gt":false}}`, false},
		{`{"absent":{"$lt":3}}`, false}, {`{"n":{"$lt":10000000000000000000000}}`, true},
	} {
		f, err := store.ParseFilter(json.RawMessage(c.filter))
		if err != nil || f.Match([]byte(value)) != c.want {
			t.Errorf("%s: %v, want %v (%v)", c.filter, !c.want, c.want, err)
		}
	}
	for _, bad := range []string{`[]`, `"x"`, `{"n":{"$like":1}}`, `{`, `{"n":{"a":{"$or":1}}}`} {
		if _, err := store.ParseFilter(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(`{"n":{"$gt":1}}`, `{"n":2}`)
	f.Add(`{"deep":{"a":{"$ne":null}}}`, `{"deep":{}}`)
	f.Fuzz(func(t *testing.T, filter, value string) {
		parsed, err := store.ParseFilter(json.RawMessage(filter))
		if err != nil {
			return
		}
		parsed.Match([]byte(value)) // must not panic
		if len(parsed) == 0 && !parsed.Match([]byte(value)) {
			t.Errorf("%s takes everything, but not %s", filter, value)
		}
	})
}
