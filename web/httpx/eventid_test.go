package httpx_test

import (
	"testing"

	"fawn/web/httpx"
	"fawn/web/webtest"
)

func TestEventIDsOfEveryServer(t *testing.T) {
	for in, want := range map[string]httpx.ID{"": {}, "-1": {}, "0": {}, "12": {Seq: 12}, "1795231741539-12": {Seq: 12},
		"abc": {}, "a-b": {}, " 12 ": {Seq: 12}, "12.3": {Seq: 12, Part: 3}, "7-12.3": {Seq: 12, Part: 3}, "12.": {},
		"12.x": {}, ".1": {}, "12.99999999999": {}, "99999999999999999999": {}} {
		webtest.Same(t, in, httpx.ParseID(in), want)
	}
}

func TestEventIDsAreSortedTheWayTheyAreSent(t *testing.T) {
	list := []httpx.ID{{}, {Seq: 1}, {Seq: 2}, {Seq: 2, Part: 1}, {Seq: 2, Part: 9}, {Seq: 2, Part: 10},
		{Seq: 2, Part: httpx.LastPart}, {Seq: 3}, {Seq: 20}}
	for i, a := range list {
		for j, b := range list {
			if got := a.Compare(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%v to %v: %d", a, b, got)
			}
		}
	}
}

func FuzzEventID(f *testing.F) {
	for _, s := range []string{"", "-1", "0", "7", "7.2", "1795231741539-7", "7-", "-", "x", " 7 ", "7.",
		"99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id := httpx.ParseID(s)
		if id.Compare(httpx.ID{}) < 0 || id.Part < 0 {
			t.Fatalf("%q is %+v", s, id)
		}
		if got := httpx.ParseID("1795231741539-" + id.String()); id.Seq > 0 && got != id {
			t.Errorf("%+v did not come back: %+v", id, got)
		}
	})
}
