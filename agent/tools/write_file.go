package tools

import (
	"context"
	_ "embed" // the texts of the tools

	"fawn/agent"
	"fawn/sandbox/files"
)

//go:embed write_file.md
var writeFileText string

type writeFileArgs struct {
	Description string `json:"description" jsonschema:"why you write this file, in a few words"`
	Path        string `json:"path" jsonschema:"the file; absolute, or relative to /mnt/user-data/workspace"`
	Content     string `json:"content" jsonschema:"the text to write"`
	Append      bool   `json:"append,omitempty" jsonschema:"add the text at the end instead of replacing the file; false if left out"`
}

func (s *set) writeFile(ctx context.Context, t *agent.Turn, a writeFileArgs) (agent.Result, error) {
	if most := s.limits.WriteBytes; most > 0 && !a.Append && len(a.Content) > most {
		return failed("the content has %d bytes, more than the %d that one call can write to %s. Write the first part, then add the others with append set to true.",
			len(a.Content), most, show(a.Path))
	}
	return s.change(ctx, t, a.Path, func(f *files.Files, path string) (agent.Result, error) {
		if err := f.WriteFile(ctx, path, []byte(a.Content), a.Append); err != nil {
			return explain(err, a.Path, wantFile)
		}
		return agent.TextResult("OK"), nil
	})
}

// change calls do while holding the file's lock.
func (s *set) change(ctx context.Context, t *agent.Turn, path string,
	do func(f *files.Files, path string) (agent.Result, error)) (agent.Result, error) {
	clean, err := files.Clean(path)
	if err != nil {
		return explain(err, path, wantFile)
	}
	unlock, err := s.locks.Lock(ctx, t.ThreadID, clean)
	if err != nil {
		return agent.Result{}, err
	}
	defer unlock()
	return s.with(t, func(f *files.Files) (agent.Result, error) { return do(f, clean) })
}
