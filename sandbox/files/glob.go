package files

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// GlobQuery asks for the paths that match a pattern. In a pattern * and ? stay within one name, **
// matches any number of folders including none, {a,b} either, [a-z] and [!a-z] one character. It is
// matched from the right (*.py finds files at any depth, src/*.py in every src folder) unless it
// starts with ./ or is an absolute virtual path.
type GlobQuery struct {
	Pattern string
	// Path is the folder to search.
	Path string
	// Dirs also returns matching folders.
	Dirs bool
	// Max is the number of paths wanted, at least 1.
	Max int
}

// GlobResult is the result of Glob, in the order of Walk.
type GlobResult struct {
	Paths []string
	// More means that there are more matches than requested.
	More bool
	// Truncated means that a limit ended the search early.
	Truncated bool
}

// Glob finds paths by name. It returns ErrGlob for a pattern that cannot be
// parsed and the errors of Walk.
func (f *Files) Glob(ctx context.Context, q GlobQuery) (GlobResult, error) {
	base, err := Clean(q.Path)
	if err != nil {
		return GlobResult{}, err
	}
	g, err := parseGlob(q.Pattern)
	if err != nil {
		return GlobResult{}, err
	}
	var r GlobResult
	err = f.Walk(ctx, base, WalkOptions{}, func(e Entry) error {
		if e.Link || e.Dir && !q.Dirs || !g.match(base, e.Path) {
			return nil
		}
		if len(r.Paths) >= q.Max {
			r.More = true
			return fs.SkipAll
		}
		r.Paths = append(r.Paths, e.Path)
		return nil
	})
	if errors.Is(err, ErrLimit) {
		r.Truncated, err = true, nil
	}
	return r, err
}

const (
	maxPattern      = 1000
	maxAlternatives = 64
)

// glob is a parsed pattern: names of each alternative, "**" for any folders.
type glob struct {
	absolute     bool
	alternatives [][]string
}

func parseGlob(pattern string) (*glob, error) {
	switch {
	case strings.TrimSpace(pattern) == "":
		return nil, refuse(ErrGlob, "the pattern is empty")
	case len(pattern) > maxPattern:
		return nil, refuse(ErrGlob, "the pattern is longer than 1000 bytes")
	}
	pattern = norm.NFC.String(pattern)
	g := &glob{absolute: strings.HasPrefix(pattern, "/")}
	whole, ok := expand(nil, "", pattern)
	if !ok {
		return nil, refuse(ErrGlob, "the pattern has more than 64 alternatives")
	}
	for _, p := range whole {
		p = strings.ReplaceAll(p, "[!", "[^")
		var parts []string
		if !g.absolute && !strings.HasPrefix(p, "./") {
			parts = append(parts, "**")
		}
		for _, name := range names(p) {
			if name == "." {
				continue
			}
			if name == ".." {
				return nil, refuse(ErrGlob, "a pattern cannot contain ..; set path to the folder to search")
			}
			if _, err := path.Match(name, ""); err != nil {
				return nil, refuse(ErrGlob, "the pattern has an unclosed bracket or ends in a backslash")
			}
			parts = append(parts, name)
		}
		g.alternatives = append(g.alternatives, parts)
	}
	return g, nil
}

// expand expands {a,b} to separate patterns, nested ones too. A brace without a partner or a comma is
// literal. ok is false if there would be too many.
func expand(done []string, head, tail string) (all []string, ok bool) {
	open := strings.IndexByte(tail, '{')
	if open < 0 {
		return append(done, head+tail), len(done) < maxAlternatives
	}
	parts, end := braces(tail[open+1:])
	if len(parts) < 2 {
		return expand(done, head+tail[:open+1], tail[open+1:])
	}
	rest := tail[open+1+end:]
	for _, p := range parts {
		if done, ok = expand(done, head, tail[:open]+p+rest); !ok {
			return nil, false
		}
	}
	return done, true
}

// braces splits the text after an opening brace at the commas of its level and returns the end of its closing brace; no
// parts without one.
func braces(s string) (parts []string, end int) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 0 {
				parts, from = append(parts, s[from:i]), i+1
			}
		case '}':
			if depth == 0 {
				return append(parts, s[from:i]), i + 1
			}
			depth--
		}
	}
	return nil, 0
}

func (g *glob) match(base, p string) bool {
	if !g.absolute {
		p = strings.TrimPrefix(p, base)
	}
	have := names(p)
	for _, want := range g.alternatives {
		if matchNames(want, have) {
			return true
		}
	}
	return false
}

// matchNames fills one row per pattern element: reach[j] reports whether the pattern so far matches the first j names.
// Unlike trying each length of **, this stays fast for patterns with many of them.
func matchNames(want, have []string) bool {
	reach := make([]bool, len(have)+1)
	reach[0] = true
	for _, w := range want {
		if w == "**" {
			for j := 1; j <= len(have); j++ {
				reach[j] = reach[j] || reach[j-1]
			}
			continue
		}
		for j := len(have); j > 0; j-- {
			reach[j] = reach[j-1]
			if reach[j] {
				// The pattern was validated before, so Match returns no error.
				reach[j], _ = path.Match(w, have[j-1])
			}
		}
		reach[0] = false
	}
	return reach[len(have)]
}
