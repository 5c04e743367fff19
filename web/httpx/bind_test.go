package httpx_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/httpx"
	"fawn/web/webtest"
)

type listOrOne []string

func (l *listOrOne) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		b = []byte("[" + string(b) + "]")
	}
	return json.Unmarshal(b, (*[]string)(l))
}

type base struct {
	Limit int       `json:"limit"`
	Modes listOrOne `json:"modes"`
}

type body struct {
	base
	Name   string          `json:"name"`
	Flag   bool            `json:"flag"`
	Nested struct{ X int } `json:"nested"`
}

func TestBindReadsWhatClientsSend(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		status int
		loc    string
		want   string // part of the message
	}{
		"absent":           {"", 0, "", ""},
		"null":             {"null", 0, "", ""},
		"object":           {`{"name":"x","limit":3,"modes":"a"}`, 0, "", ""},
		"null fields":      {`{"name":null,"limit":null,"modes":null,"flag":null}`, 0, "", ""},
		"unknown fields":   {`{"name":"x","other":[1]}`, 0, "", ""},
		"not JSON":         {`{"name":`, 422, "body", "not valid JSON"},
		"trailing data":    {`{"name":"x"} {"name":"y"}`, 422, "body", "not valid JSON"},
		"a list":           {`[1]`, 422, "body", "want an object, got array"},
		"a string":         {`"x"`, 422, "body", "want an object"},
		"wrong type":       {`{"name":5}`, 422, "body.name", "want a string, got number"},
		"wrong embedded":   {`{"limit":"5"}`, 422, "body.limit", "want an integer, got string"},
		"wrong nested":     {`{"nested":{"X":"a"}}`, 422, "body.nested.X", "want an integer"},
		"wrong in decoder": {`{"name":"x","modes":5}`, 422, "body.modes", "want a list, got number"},
		"wrong element":    {`{"modes":["a",5]}`, 422, "body.modes", "want a string"},
		"too large":        {`{"name":"` + strings.Repeat("x", 300) + `"}`, 413, "", "server.max_body_bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chunked := range []bool{false, true} {
				r := httptest.NewRequest("POST", "/", strings.NewReader(c.in))
				r.Header.Set("Content-Type", "text/plain")
				if chunked {
					r.ContentLength = -1
				}
				var b body
				err := httpx.Bind(r, httpx.Limit{Bytes: 256, Key: "server.max_body_bytes"}, &b)
				if c.status == 0 {
					must.Do(t, err)
					continue
				}
				var d *httpx.Detail
				if !errors.As(err, &d) || d.Status != c.status {
					t.Fatalf("err = %v", err)
				}
				text := d.Error()
				if p, ok := d.Detail.([]httpx.Problem); ok {
					webtest.Same(t, "loc", strings.Join(p[0].Loc, "."), c.loc)
					text = p[0].Msg
				}
				webtest.Holds(t, "message = , want "+c.want, text, c.want)
			}
		})
	}
}

func TestQueryReadsBothEncodings(t *testing.T) {
	for name, c := range map[string]struct {
		query string
		want  []string
	}{
		"absent":            {"", nil},
		"repeated":          {"m=values&m=custom", []string{"values", "custom"}},
		"JSON list":         {"m=" + url.QueryEscape(`["values","custom"]`), []string{"values", "custom"}},
		"one":               {"m=values", []string{"values"}},
		"JSON string":       {"m=" + url.QueryEscape(`"values"`), []string{"values"}},
		"null":              {"m=null", nil},
		"empty list":        {"m=[]", nil},
		"no list after all": {"m=" + url.QueryEscape(`[x`), []string{"[x"}},
	} {
		t.Run(name, func(t *testing.T) {
			q, _ := url.ParseQuery(c.query)
			if got := httpx.List(q, "m"); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestQueryFlagsAndNumbers(t *testing.T) {
	for query, want := range map[string]string{"": "def", "b=1": "true", "b=TRUE": "true", "b=yes": "true",
		"b=0": "false", "b=false": "false", "b=No": "false", "b=": "false", "b=maybe": "422"} {
		q, _ := url.ParseQuery(query)
		got := "def"
		if v, err := httpx.Bool(q, "b", false); err != nil {
			got = "422"
		} else if q.Has("b") {
			got = map[bool]string{true: "true", false: "false"}[v]
		}
		webtest.Same(t, query, got, want)
	}
	for query, want := range map[string]int{"": 10, "n=3": 3, "n=null": 10, "n=0": -1, "n=101": -1, "n=x": -1,
		"n=1.5": -1} {
		q, _ := url.ParseQuery(query)
		got, err := httpx.Int(q, "n", 10, 1, 100)
		if err != nil {
			got = -1
			if d := new(httpx.Detail); !errors.As(err, &d) || d.Status != http.StatusUnprocessableEntity {
				t.Errorf("%q: %v", query, err)
			}
		}
		webtest.Same(t, query, got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"name":1}`, `{"modes":{"a":1}}`, `[`, `{"nested":{"X":null}}`, "\xff",
		`{"limit":1e99}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var b body
		err := httpx.Decode(in, &b)
		if err == nil {
			return
		}
		if d := new(httpx.Detail); !errors.As(err, &d) || d.Status != http.StatusUnprocessableEntity ||
			d.Detail == nil {
			t.Errorf("%q: %v", in, err)
		}
	})
}
