package client

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// told is a server that answers requests by their methods, and keeps them.
type told struct {
	answers  map[string]string
	requests []string
}

func (s *told) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	return &http.Response{StatusCode: http.StatusOK, Header: header("Content-Type", "application/json"),
		Body: io.NopCloser(strings.NewReader(s.answers[r.Method]))}, nil
}

// TestANameMeansOnesOwnCollection: what is added doesn't get into a collection of somebody else's that has the same name.
func TestANameMeansOnesOwnCollection(t *testing.T) {
	t.Parallel()
	const theirs, more, own = `{"knowledge_id":"theirs","name":"Handbook","role":"editor"}`,
		`{"knowledge_id":"more","name":"handbook","role":"viewer"}`, `{"knowledge_id":"own","name":"Handbook","role":"owner"}`
	for _, c := range []struct {
		list, name, found, added string // ids, "" for a mistake
		made                     bool
	}{
		{theirs, "handbook", "theirs", "new", true},
		{theirs, "theirs", "theirs", "theirs", false},
		{theirs + "," + more, "Handbook", "", "new", true},
		{theirs + "," + own, "Handbook", "own", "own", false},
		{own + "," + theirs + "," + more, "handbook", "own", "own", false},
		{own + "," + more, "more", "more", "more", false},
	} {
		server := &told{answers: map[string]string{"GET": `{"knowledge":[` + c.list + `]}`, "POST": `{"knowledge_id":"new"}`}}
		s := Server{URL: "http://server", Client: &http.Client{Transport: server}}
		if got, err := s.Collection(t.Context(), c.name); got.ID != c.found || (err == nil) != (c.found != "") {
			t.Errorf("%s in %s is %+v, %v", c.name, c.list, got, err)
		}
		got, made, err := s.EnsureCollection(t.Context(), c.name, "")
		if got.ID != c.added || made != c.made || err != nil {
			t.Errorf("add to %s in %s: %+v %v %v (%v)", c.name, c.list, got, made, err, server.requests)
		}
	}
}

func TestRowsOfCollectionsEndWithTheirText(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := ShowCollections(&out, []Collection{{Name: "A", Documents: 1, Role: "owner"}, {Name: "Long", Role: "viewer", About: "b"}})
	if want := "A     1 document   owner\nLong  0 documents  viewer  b\n"; err != nil || out.String() != want {
		t.Errorf("%q %v", out.String(), err)
	}
}
