package pool_test

import (
	"strings"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/pool"
)

const (
	hostFiles  = "/data/threads/t1/user-data"
	hostTmp    = "/data/threads/t1/sandbox/tmp"
	hostSkills = "/data/skills/public@1a2b"
)

func translatorOfThread() sandbox.PathMapper {
	return pool.NewTranslator(map[string]string{files.UserData: hostFiles, "/tmp": hostTmp,
		files.Skills + "/public": hostSkills})
}

func TestPathsAreTranslatedAsTokens(t *testing.T) {
	m := translatorOfThread()
	for name, c := range map[string]struct{ in, want string }{
		"alone":                 {"/mnt/user-data", hostFiles},
		"argument":              {"cat /mnt/user-data/workspace/a.txt", "cat " + hostFiles + "/workspace/a.txt"},
		"double quotes":         {`ls "/mnt/user-data/uploads/a b"`, `ls "` + hostFiles + `/uploads/a b"`},
		"single quotes":         {`python -c 'open("/mnt/user-data/x")'`, `python -c 'open("` + hostFiles + `/x")'`},
		"assignment":            {"x=/mnt/user-data/workspace; echo $x", "x=" + hostFiles + "/workspace; echo $x"},
		"option":                {"tool --out=/mnt/user-data/outputs/f -I/mnt/user-data -o/tmp/x", "tool --out=" + hostFiles + "/outputs/f -I" + hostFiles + " -o" + hostTmp + "/x"},
		"list":                  {"PATH=/mnt/user-data/bin:/mnt/skills/public:/usr/bin", "PATH=" + hostFiles + "/bin:" + hostSkills + ":/usr/bin"},
		"redirection":           {"echo x>/mnt/user-data/f 2>>/tmp/log", "echo x>" + hostFiles + "/f 2>>" + hostTmp + "/log"},
		"here-document":         {"cat <<'E'\n/mnt/user-data/a\n  /tmp/b\nE\n", "cat <<'E'\n" + hostFiles + "/a\n  " + hostTmp + "/b\nE\n"},
		"braces and groups":     {"(cd /mnt/user-data;ls) {/mnt/user-data/a,/mnt/user-data/b}", "(cd " + hostFiles + ";ls) {" + hostFiles + "/a," + hostFiles + "/b}"},
		"substitution":          {"$(</mnt/user-data/a) `cat /tmp/x`", "$(<" + hostFiles + "/a) `cat " + hostTmp + "/x`"},
		"pattern of sed":        {"sed s#/mnt/user-data#x#", "sed s#" + hostFiles + "#x#"},
		"address of a file":     {"file:///mnt/user-data/x.html", "file://" + hostFiles + "/x.html"},
		"end of a sentence":     {"see /mnt/user-data/a, /tmp.", "see " + hostFiles + "/a, /tmp."},
		"another name":          {"/mnt/user-data-evil /mnt/user-data2 /mnt/user-data.bak /mnt/user-data_x /tmpx", "/mnt/user-data-evil /mnt/user-data2 /mnt/user-data.bak /mnt/user-data_x /tmpx"},
		"longer path":           {"/x/mnt/user-data /var/tmp ./mnt/user-data ../tmp a/tmp x-I/tmp -xI/tmp --I/tmp", "/x/mnt/user-data /var/tmp ./mnt/user-data ../tmp a/tmp x-I/tmp -xI/tmp --I/tmp"},
		"after a variable":      {"${X}/mnt/user-data $(pwd)/mnt/user-data $X/tmp ~/tmp */tmp [ab]/tmp", "${X}/mnt/user-data $(pwd)/mnt/user-data $X/tmp ~/tmp */tmp [ab]/tmp"},
		"address of a page":     {"https://example.com/mnt/user-data http:///mnt/user-data", "https://example.com/mnt/user-data http:///mnt/user-data"},
		"two slashes":           {"//mnt/user-data", "//mnt/user-data"},
		"skills without a home": {"/mnt/skills/custom/x /mnt/skills", "/mnt/skills/custom/x /mnt/skills"},
		"other alphabet":        {"é/mnt/user-data /mnt/user-dataé", "é/mnt/user-data /mnt/user-dataé"},
		"nothing":               {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := m.In(c.in)
			if got != c.want {
				t.Errorf("In(%q) = %q, want %q", c.in, got, c.want)
			}
			if back := m.Out(got); back != c.in {
				t.Errorf("Out(%q) = %q, want %q", got, back, c.in)
			}
		})
	}
}

func FuzzPathsComeBackInPieces(f *testing.F) {
	for _, text := range []string{"cat /mnt/user-data/a", "x=/tmp/y:/mnt/skills/public", "-I/tmp",
		"/mnt/user-data-evil", "file:///mnt/user-data", "/tmp/tmp /mnt/user-data/mnt/user-data",
		"/data/threads/t1/sandbox"} {
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		m := translatorOfThread()
		in := m.In(text)
		if again := m.In(in); again != in {
			t.Fatalf("%q became %q and then %q", text, in, again)
		}
		if strings.Contains(text, "/data/threads/t1/") || strings.Contains(text, hostSkills) {
			return // what looks like the host already cannot be told apart later
		}
		size := 1 + int(uint(cut)%40)
		var pieces []string
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if out := pool.StreamOut(m, pieces...); out != text {
			t.Fatalf("%q became %q and came back as %q", text, in, out)
		}
	})
}
