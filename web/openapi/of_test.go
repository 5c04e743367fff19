package openapi_test

import (
	"encoding/json"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	o "fawn/web/openapi"
)

type inner struct {
	Kind  string `json:"kind"`
	Count uint8  `json:"count"`
}

type sent struct {
	inner
	ID      string            `json:"id"`
	Count   int               `json:"count"` // in place of the embedded one
	Made    string            `json:"created_at"`
	Until   *time.Time        `json:"until"`
	Note    *string           `json:"note,omitempty"`
	Score   *float64          `json:"score"`
	Raw     json.RawMessage   `json:"raw"`
	Names   []string          `json:"names"`
	Labels  map[string]string `json:"labels"`
	Parts   []inner           `json:"parts"`
	Hidden  string            `json:"-"`
	private string
}

// TestSchemasFollowStructs compares what is described with what encoding/json does.
func TestSchemasFollowStructs(t *testing.T) {
	part := o.Object(o.Req("kind", o.String()), o.Req("count", o.Int(0)))
	for name, c := range map[string]struct{ got, want o.Schema }{
		"sent": {o.Of[sent](o.Is("kind", o.Enum("a", "b"))), o.Object(o.Req("kind", o.Enum("a", "b")), o.Req("id", o.String()),
			o.Req("count", o.Whole()), o.Req("created_at", o.Time()), o.Req("until", o.Nullable(o.Time())), o.Opt("note", o.String()),
			o.Req("score", o.Nullable(o.Number())), o.Req("raw", o.Any()), o.Req("names", o.List(o.String())),
			o.Req("labels", o.Map(o.String())), o.Req("parts", o.List(part)))},
		"read": {o.Reads[inner](o.Req("kind", o.String())), o.Body(o.Req("kind", o.String()), o.Opt("count", o.Int(0)))},
		"less": {o.Of[inner](o.Without("count")...), o.Object(o.Req("kind", o.String()))},
	} {
		got, err := json.Marshal(c.got)
		must.Do(t, err)
		want, err := json.Marshal(c.want)
		must.Do(t, err)
		if string(got) != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	if (sent{private: "x"}).private == "" {
		t.Error("unreachable")
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that the struct does not have is taken")
		}
	}()
	o.Of[inner](o.Is("nothing", o.String()))
}
