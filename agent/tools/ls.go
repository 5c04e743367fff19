package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"strings"

	"fawn/agent"
	"fawn/sandbox/files"
)

//go:embed ls.md
var lsText string

type lsArgs struct {
	Description string `json:"description" jsonschema:"why you look at this directory, in a few words"`
	Path        string `json:"path" jsonschema:"the directory; absolute, or relative to /mnt/user-data/workspace"`
}

func (s *set) ls(ctx context.Context, t *agent.Turn, a lsArgs) (agent.Result, error) {
	return s.with(t, func(f *files.Files) (agent.Result, error) {
		l, err := f.List(ctx, a.Path, 2)
		if err != nil {
			return explain(err, a.Path, wantFolder)
		}
		if len(l.Entries) == 0 && !l.Truncated {
			return agent.TextResult("(empty)"), nil
		}
		out := page{limit: s.limits.ListChars}
		for _, e := range l.Entries {
			line := show(e.Path)
			if e.Dir {
				line += "/"
			}
			if !out.add(line) {
				break
			}
		}
		out.note(l.Truncated, stopped)
		return agent.TextResult(out.text("ls a directory below it, or use glob")), nil
	})
}

const stopped = "(stopped early: too many entries or too slow; narrow it down)"

// page collects lines up to a number of characters.
type page struct {
	limit int
	used  int
	full  bool
	lines []string
	notes []string
}

func (p *page) add(line string) bool {
	n := len([]rune(line)) + 1
	if p.used+n > p.limit {
		p.full = true
		return false
	}
	p.used += n
	p.lines = append(p.lines, line)
	return true
}

func (p *page) note(when bool, text string) {
	if when {
		p.notes = append(p.notes, text)
	}
}

func (p *page) text(hint string) string {
	p.note(p.full, "... [more left out to keep this short; "+hint+"]")
	return strings.Join(append(p.lines, p.notes...), "\n")
}
