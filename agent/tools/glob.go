package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"errors"
	"fmt"

	"fawn/agent"
	"fawn/sandbox/files"
)

//go:embed glob.md
var globText string

type globArgs struct {
	Description string `json:"description" jsonschema:"why you look for these files, in a few words"`
	Pattern     string `json:"pattern" jsonschema:"for example *.py, src/**/*.ts or **/*.{yml,yaml}"`
	Path        string `json:"path" jsonschema:"the directory to search; absolute, or relative to /mnt/user-data/workspace"`
	IncludeDirs bool   `json:"include_dirs,omitempty" jsonschema:"also return matching directories; false if left out"`
	MaxResults  *int   `json:"max_results,omitempty" jsonschema:"how many paths to return at most; 200 if left out, at most 1000"`
}

func (s *set) glob(ctx context.Context, t *agent.Turn, a globArgs) (agent.Result, error) {
	return s.with(t, func(f *files.Files) (agent.Result, error) {
		r, err := f.Glob(ctx, files.GlobQuery{
			Pattern: a.Pattern, Path: a.Path, Dirs: a.IncludeDirs,
			Max: results(a.MaxResults, 200, s.limits.GlobResults),
		})
		if errors.Is(err, files.ErrGlob) {
			return failed("Invalid glob pattern: %s", err)
		}
		if err != nil {
			return explain(err, a.Path, wantFolder)
		}
		out := page{limit: s.limits.ListChars}
		if len(r.Paths) == 0 {
			out.add("No files matched under " + show(a.Path))
		} else {
			out.add(found(len(r.Paths), "paths", a.Path, r.More))
		}
		for i, p := range r.Paths {
			if !out.add(fmt.Sprintf("%d. %s", i+1, show(p))) {
				break
			}
		}
		out.note(r.Truncated, stopped)
		return agent.TextResult(out.text("use a narrower pattern or path")), nil
	})
}

// results returns the number of results to find.
func results(asked *int, usual, most int) int {
	if asked == nil || *asked < 1 {
		return min(usual, most)
	}
	return min(*asked, most)
}

func found(n int, things, path string, more bool) string {
	line := fmt.Sprintf("Found %d %s under %s", n, things, show(path))
	if more {
		line += fmt.Sprintf(" (showing first %d)", n)
	}
	return line
}
