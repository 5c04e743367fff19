package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"errors"
	"fmt"

	"fawn/agent"
	"fawn/sandbox/files"
)

//go:embed grep.md
var grepText string

type grepArgs struct {
	Description   string `json:"description" jsonschema:"why you search for this, in a few words"`
	Pattern       string `json:"pattern" jsonschema:"a regular expression (RE2: no lookaround, no backreferences), matched line by line"`
	Path          string `json:"path" jsonschema:"the file or directory to search; absolute, or relative to /mnt/user-data/workspace"`
	Glob          string `json:"glob,omitempty" jsonschema:"only search files that match, for example *.py"`
	Literal       bool   `json:"literal,omitempty" jsonschema:"take the pattern as plain text; false if left out"`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"tell upper from lower case; false if left out"`
	MaxResults    *int   `json:"max_results,omitempty" jsonschema:"how many lines to return at most; 100 if left out, at most 500"`
}

func (s *set) grep(ctx context.Context, t *agent.Turn, a grepArgs) (agent.Result, error) {
	return s.with(t, func(f *files.Files) (agent.Result, error) {
		r, err := f.Grep(ctx, files.GrepQuery{
			Pattern: a.Pattern, Path: a.Path, Glob: a.Glob, Literal: a.Literal, CaseSensitive: a.CaseSensitive,
			Max: results(a.MaxResults, 100, s.limits.GrepResults),
		})
		switch {
		case errors.Is(err, files.ErrRegexp):
			return failed("Invalid regex pattern: %s", err)
		case errors.Is(err, files.ErrGlob):
			return failed("Invalid glob pattern: %s", err)
		}
		if err != nil {
			return explain(err, a.Path, wantPath)
		}
		out := page{limit: s.limits.ReadChars}
		if len(r.Matches) == 0 {
			out.add("No matches found under " + show(a.Path))
		} else {
			out.add(found(len(r.Matches), "matches", a.Path, r.More))
		}
		for _, m := range r.Matches {
			if !out.add(fmt.Sprintf("%s:%d: %s", show(m.Path), m.Line, m.Text)) {
				break
			}
		}
		out.note(r.Skipped > 0, fmt.Sprintf("(not searched: %d files that are too large)", r.Skipped))
		out.note(r.Truncated, stopped)
		return agent.TextResult(out.text("use a narrower pattern, path or glob")), nil
	})
}
