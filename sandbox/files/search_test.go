package files_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

func paths(entries []files.Entry) []string {
	var all []string
	for _, e := range entries {
		p := strings.TrimPrefix(e.Path, files.Workspace+"/")
		if e.Dir {
			p += "/"
		}
		all = append(all, p)
	}
	return all
}

func TestListIsSortedAndLeavesOutNoise(t *testing.T) {
	f, _ := open(t)
	for _, p := range []string{
		"b.txt", "a/2.py", "a/1.py", "a/deep/x", ".git/config", "node_modules/m/i.js", "x.log", "y.swp",
		"pkg.egg-info/z", "old~", ".upload-1.part", "build/o", "builds/kept", ".gitignore", "note.md",
	} {
		put(t, f, p, "x")
	}
	l, err := f.List(t.Context(), ".", 2)
	want := []string{".gitignore", "a/", "a/1.py", "a/2.py", "a/deep/", "b.txt", "builds/", "builds/kept", "note.md"}
	if got := paths(l.Entries); err != nil || !slices.Equal(got, want) || l.Truncated {
		t.Fatalf("got %q, %v", got, err)
	}
	var all int
	err = f.Walk(t.Context(), ".", files.WalkOptions{All: true}, func(files.Entry) error { all++; return nil })
	if err != nil || all != 23 {
		t.Fatalf("everything: %d, %v", all, err)
	}
	if l, err := f.List(t.Context(), "build", 1); err != nil || len(l.Entries) != 1 {
		t.Fatalf("a folder asked for by name: %+v, %v", l, err)
	}
	if _, err := f.List(t.Context(), "b.txt", 1); !errors.Is(err, files.ErrNotDir) {
		t.Fatalf("a file: %v", err)
	}
}

func TestWalkLimitsAreTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits files.SearchLimits
		want   int
	}{
		{"entries", files.SearchLimits{Entries: 7}, 7},
		{"depth is no truncation", files.SearchLimits{Depth: 1}, 30},
		{"time", files.SearchLimits{Time: time.Nanosecond}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := openIn(t, files.Dirs{Root: t.TempDir(), Limits: c.limits})
			for i := range 30 {
				put(t, f, fmt.Sprintf("d%02d/x", i), "needle")
			}
			l, err := f.List(t.Context(), ".", 5)
			if err != nil || len(l.Entries) != c.want || l.Truncated != (c.limits.Depth == 0) {
				t.Fatalf("%d entries, truncated %v, %v", len(l.Entries), l.Truncated, err)
			}
			if c.limits.Depth == 0 {
				g, err := f.Grep(t.Context(), files.GrepQuery{Pattern: "needle", Path: ".", Max: 100})
				if err != nil || !g.Truncated {
					t.Fatalf("Grep: %+v %v", g, err)
				}
			}
		})
	}
}

func TestCancelEndsAWalk(t *testing.T) {
	f, _ := open(t)
	put(t, f, "a/b", "x")
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := f.Walk(ctx, ".", files.WalkOptions{}, func(files.Entry) error { seen++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Fatalf("%d seen, %v", seen, err)
	}
}

func TestGlobMeaning(t *testing.T) {
	f, _ := open(t)
	for _, p := range []string{"a.py", "src/a.py", "src/in/b.py", "src/in/c.ts", "lib/src/d.py", "docs/x.md",
		"docs/[1].md", "报告/年.md"} {
		put(t, f, p, "x")
	}
	for _, c := range []struct {
		pattern string
		dirs    bool
		want    []string
	}{
		{"*.py", false, []string{"a.py", "lib/src/d.py", "src/a.py", "src/in/b.py"}},
		{"**/*.py", false, []string{"a.py", "lib/src/d.py", "src/a.py", "src/in/b.py"}},
		{"src/**/*.py", false, []string{"lib/src/d.py", "src/a.py", "src/in/b.py"}},
		{"./src/**/*.py", false, []string{"src/a.py", "src/in/b.py"}},
		{"./*.py", false, []string{"a.py"}},
		{"src/*.py", false, []string{"lib/src/d.py", "src/a.py"}},
		{"/mnt/user-data/workspace/src/*.py", false, []string{"src/a.py"}},
		{"/mnt/**/b.*", false, []string{"src/in/b.py"}},
		{"*.{py,ts}", false, []string{"a.py", "lib/src/d.py", "src/a.py", "src/in/b.py", "src/in/c.ts"}},
		{"{docs,src/{in,out}}/*", false, []string{"docs/[1].md", "docs/x.md", "src/in/b.py", "src/in/c.ts"}},
		{"[!a-b].py", false, []string{"lib/src/d.py"}},
		{"?.md", false, []string{"docs/x.md", "报告/年.md"}},
		{`\[1\].md`, false, []string{"docs/[1].md"}},
		{"**", false, []string{"a.py", "docs/[1].md", "docs/x.md", "lib/src/d.py", "src/a.py", "src/in/b.py", "src/in/c.ts", "报告/年.md"}},
		{"in", true, []string{"src/in"}},
		{"in", false, nil},
		{"src/", true, []string{"lib/src", "src"}},
		{"nothing*", false, nil},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			r, err := f.Glob(t.Context(), files.GlobQuery{Pattern: c.pattern, Path: ".", Dirs: c.dirs, Max: 50})
			var got []string
			for _, p := range r.Paths {
				got = append(got, strings.TrimPrefix(p, files.Workspace+"/"))
			}
			if err != nil || !slices.Equal(got, c.want) || r.More || r.Truncated {
				t.Fatalf("got %q, %v", got, err)
			}
		})
	}
	for _, bad := range []string{"", "  ", "[a", `a\`, "../x", strings.Repeat("a", 1001), strings.Repeat("{a,b}", 7)} {
		_, err := f.Glob(t.Context(), files.GlobQuery{Pattern: bad, Path: ".", Max: 5})
		if !errors.Is(err, files.ErrGlob) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	r, err := f.Glob(t.Context(), files.GlobQuery{Pattern: "*.py", Path: ".", Max: 2})
	if err != nil || len(r.Paths) != 2 || !r.More {
		t.Errorf("first 2 = %+v, %v", r, err)
	}
}

func TestStarsCannotMakeASearchSlow(t *testing.T) {
	f, _ := openIn(t, files.Dirs{Root: t.TempDir(), Limits: files.SearchLimits{Time: time.Minute}})
	put(t, f, strings.Repeat("a/", 18)+strings.Repeat("a", 200), "x")
	start := time.Now()
	for _, p := range []string{strings.Repeat("**/", 300) + "b", strings.Repeat("*a", 100) + "b",
		strings.Repeat("{", 900)} {
		if r, err := f.Glob(t.Context(), files.GlobQuery{Pattern: p, Path: ".", Max: 5}); err != nil ||
			len(r.Paths) > 0 {
			t.Errorf("%.20q: %v %v", p, r.Paths, err)
		}
	}
	if d := time.Since(start); d > 60*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestGrepFindsLines(t *testing.T) {
	f, base := open(t)
	put(t, f, "a.txt", "one\r\nTwo two\nthree\n")
	put(t, f, "b/c.py", "def two():\n    pass")
	put(t, f, "bin", "two\x00")
	put(t, f, "ctl.txt", "bad \xff two\n")
	put(t, f, "skip.log", "two")
	if err := os.Symlink("a.txt", filepath.Join(base, "workspace/link.txt")); err != nil {
		t.Log(err)
	}
	for _, c := range []struct {
		name string
		q    files.GrepQuery
		want []string
	}{
		{"any case", files.GrepQuery{Pattern: "two"}, []string{"a.txt:2:Two two", "b/c.py:1:def two():", "ctl.txt:1:bad \uFFFD two"}},
		{"case", files.GrepQuery{Pattern: "Two", CaseSensitive: true}, []string{"a.txt:2:Two two"}},
		{"anchors are those of the line", files.GrepQuery{Pattern: "^one$"}, []string{"a.txt:1:one"}},
		{"literal", files.GrepQuery{Pattern: "two():", Literal: true}, []string{"b/c.py:1:def two():"}},
		{"glob", files.GrepQuery{Pattern: "two", Glob: "*.py"}, []string{"b/c.py:1:def two():"}},
		{"one file", files.GrepQuery{Pattern: "t", Path: "a.txt"}, []string{"a.txt:2:Two two", "a.txt:3:three"}},
		{"last line without an end", files.GrepQuery{Pattern: "pass"}, []string{"b/c.py:2:    pass"}},
		{"nothing", files.GrepQuery{Pattern: "absent"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.q.Path == "" {
				c.q.Path = "."
			}
			c.q.Max = 10
			r, err := f.Grep(t.Context(), c.q)
			var got []string
			for _, m := range r.Matches {
				got = append(got, fmt.Sprintf("%s:%d:%s", strings.TrimPrefix(m.Path, files.Workspace+"/"),
					m.Line, m.Text))
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Fatalf("got %q, %v", got, err)
			}
		})
	}
	for _, bad := range []string{"", "(", "a{2,1}", "(?<x", strings.Repeat("a", 1001)} {
		_, err := f.Grep(t.Context(), files.GrepQuery{Pattern: bad, Path: ".", Max: 1})
		if !errors.Is(err, files.ErrRegexp) || strings.Contains(err.Error(), "(?i)") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := f.Grep(t.Context(), files.GrepQuery{Pattern: "a", Glob: "[", Path: ".", Max: 1}); !errors.Is(err,
		files.ErrGlob) {
		t.Errorf("bad glob: %v", err)
	}
	r, err := f.Grep(t.Context(), files.GrepQuery{Pattern: "two", Path: ".", Max: 1})
	if err != nil || len(r.Matches) != 1 || !r.More {
		t.Errorf("first 1 = %+v, %v", r, err)
	}
}

func TestGrepShowsTheMatchOfALongLine(t *testing.T) {
	f, _ := open(t)
	put(t, f, "min.js", strings.Repeat("é", 5000)+"needle"+strings.Repeat("ü", 5000)+"\n"+"needle"+
		strings.Repeat("z", 400)+"\n"+strings.Repeat("y", 400)+"needle")
	r, err := f.Grep(t.Context(), files.GrepQuery{Pattern: "needle", Path: ".", Max: 10})
	if err != nil || len(r.Matches) != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	for i, m := range r.Matches {
		n := utf8.RuneCountInString(m.Text)
		if !strings.Contains(m.Text, "needle") || n > 206 || n < 50 || strings.HasPrefix(m.Text, "...") != (i != 1) ||
			strings.HasSuffix(m.Text, "...") != (i != 2) {
			t.Errorf("match %d: %d characters %q", i, n, m.Text)
		}
	}
}

func TestGrepTellsOfFilesTooLargeToSearch(t *testing.T) {
	f, _ := openIn(t, files.Dirs{Root: t.TempDir(), Limits: files.SearchLimits{FileSize: 100_000}})
	put(t, f, "fits", strings.Repeat("a", 99_994)+"needle")
	put(t, f, "large", strings.Repeat("a", 99_995)+"needle")
	r, err := f.Grep(t.Context(), files.GrepQuery{Pattern: "needle", Path: ".", Max: 10})
	if err != nil || len(r.Matches) != 1 || r.Skipped != 1 {
		t.Fatalf("%d matches, %d skipped, %v", len(r.Matches), r.Skipped, err)
	}
}

func FuzzGlobPatternsAreSafe(f *testing.F) {
	tree, _ := func() (*files.Files, error) {
		dirs := files.Dirs{Root: f.TempDir()}
		if err := dirs.Create(thread); err != nil {
			return nil, err
		}
		return dirs.Open(thread)
	}()
	if tree == nil {
		f.Fatal("no files")
	}
	f.Cleanup(func() { tree.Close() })
	for _, p := range []string{"a/b.py", "c/d/[x].md", "e"} {
		must.Do(f, tree.WriteFile(context.Background(), p, []byte("x"), false))
	}
	for _, s := range []string{"*.py", "{a,{b,c}}/**", "[!a]", `\`, "**/**", "{,}", "}{", "./a/../b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		r, err := tree.Glob(t.Context(), files.GlobQuery{Pattern: pattern, Path: ".", Dirs: true, Max: 10})
		if err != nil && !errors.Is(err, files.ErrGlob) {
			t.Fatalf("%q: %v", pattern, err)
		}
		for _, p := range r.Paths {
			if !strings.HasPrefix(p, files.Workspace+"/") {
				t.Fatalf("%q found %q", pattern, p)
			}
		}
		if err == nil && pattern != "" && len(r.Paths) > 6 {
			t.Fatalf("%q found %d", pattern, len(r.Paths))
		}
	})
}
