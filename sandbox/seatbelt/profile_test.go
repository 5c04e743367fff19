package seatbelt_test

import (
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/seatbelt"
)

func TestSeatbeltProfile(t *testing.T) {
	text := must.Get(seatbelt.SeatbeltProfile([]string{"/Users/x/skills"}, []string{"/Users/x/data"},
		[]string{"/Users/x/data/threads/t/user-data"}, []string{"/Users/x/data/threads/t/user-data/uploads"}))(t)
	if !strings.HasPrefix(text, "(version 1)\n(deny default)\n") || !strings.HasSuffix(text, "(deny network*)\n") {
		t.Errorf("%s", text)
	}
	// The last rule that fits counts.
	last := -1
	for _, rule := range []string{
		`(allow file-read* (subpath "/usr"))`, `(allow file-read* (subpath "/Users/x/skills"))`,
		`(deny file-read* file-write* (subpath "/Library/Keychains"))`,
		`(deny file-read* file-write* (subpath "/Users/x/data"))`,
		`(allow file-read* file-write* (subpath "/Users/x/data/threads/t/user-data"))`,
		`(deny file-write* (subpath "/Users/x/data/threads/t/user-data/uploads"))`,
		`(allow file-read-metadata (literal "/Users/x/data/threads"))`, "(deny file-write-setugid)",
	} {
		at := strings.Index(text, rule)
		if at <= last {
			t.Errorf("%s at %d, after %d", rule, at, last)
		}
		last = at
	}
	if strings.Count(text, "(") != strings.Count(text, ")") || strings.Contains(text, `(subpath "/"`) {
		t.Errorf("%s", text)
	}
}

// A folder's name must not end the string it stands in.
func TestSeatbeltProfileQuotesNames(t *testing.T) {
	text, err := seatbelt.SeatbeltProfile([]string{`/a "b\c)(allow network*)`}, nil, nil, nil)
	if err != nil || !strings.Contains(text, `(subpath "/a \"b\\c)(allow network*)")`) {
		t.Errorf("%v %s", err, text)
	}
	for _, bad := range []string{"relative", "/a/../b", "/a\nb", "/a\x00", ""} {
		if _, err := seatbelt.SeatbeltProfile(nil, nil, []string{bad}, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzSeatbeltStringsStayStrings(f *testing.F) {
	f.Add(`/a"b`)
	f.Add(`/\`)
	f.Fuzz(func(t *testing.T, path string) {
		q, err := seatbelt.SeatbeltString(path)
		if err != nil {
			return
		}
		var back strings.Builder
		for rest := q[1 : len(q)-1]; rest != ""; rest = rest[1:] {
			if rest[0] == '"' {
				t.Fatalf("%q ends early: %s", path, q)
			}
			if rest[0] == '\\' {
				if rest = rest[1:]; rest == "" {
					t.Fatalf("%q does not end: %s", path, q)
				}
			}
			back.WriteByte(rest[0])
		}
		if back.String() != path {
			t.Fatalf("%q became %q", path, back.String())
		}
	})
}

func TestSeatbeltSetsLimits(t *testing.T) {
	got := seatbelt.SeatbeltLimits(sandbox.Limits{FileSize: 1 << 20, OpenFiles: 64})
	if got != `ulimit -c 0; ulimit -f 2048; ulimit -n 64; exec "$@"` {
		t.Error(got)
	}
	if !strings.HasSuffix(seatbelt.SeatbeltTest, "echo done\n") {
		t.Error(seatbelt.SeatbeltTest)
	}
}
