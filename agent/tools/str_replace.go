package tools

import (
	"bytes"
	"context"
	_ "embed" // the texts of the tools
	"errors"

	"fawn/agent"
	"fawn/sandbox/files"
)

//go:embed str_replace.md
var strReplaceText string

type strReplaceArgs struct {
	Description string `json:"description" jsonschema:"why you change this file, in a few words"`
	Path        string `json:"path" jsonschema:"the file; absolute, or relative to /mnt/user-data/workspace"`
	OldStr      string `json:"old_str" jsonschema:"the text to replace, exactly as it is in the file, with its spaces and line breaks"`
	NewStr      string `json:"new_str" jsonschema:"the text to put there; may be empty"`
	ReplaceAll  bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence; false if left out, then the text must occur once"`
}

func (s *set) strReplace(ctx context.Context, t *agent.Turn, a strReplaceArgs) (agent.Result, error) {
	if a.OldStr == "" {
		return agent.TextResult("OK"), nil
	}
	return s.change(ctx, t, a.Path, func(f *files.Files, path string) (agent.Result, error) {
		content, err := f.ReadFile(ctx, path, s.limits.ScanBytes)
		if errors.Is(err, files.ErrTooLarge) {
			return failed("%s is larger than %d MiB; change it with a program in bash", show(a.Path),
				s.limits.ScanBytes>>20)
		}
		if err != nil {
			return explain(err, a.Path, wantFile)
		}
		from, to := []byte(a.OldStr), []byte(a.NewStr)
		n := bytes.Count(content, from)
		if n == 0 && bytes.Contains(content, []byte("\r\n")) && !bytes.Contains(from, []byte("\r")) {
			// A model sees and writes plain line ends also in a file that has CRLF.
			from, to = crlf(from), crlf(to)
			n = bytes.Count(content, from)
		}
		switch {
		case n == 0:
			return failed("String to replace not found in file: %s", show(a.Path))
		case n > 1 && !a.ReplaceAll:
			return failed("String to replace occurs %d times in file: %s. Give more of the text around it, or set replace_all.",
				n, show(a.Path))
		}
		if grown := int64(len(content)) + int64(n)*int64(len(to)-len(from)); grown > s.limits.ScanBytes {
			return failed("%s would grow over %d MiB", show(a.Path), s.limits.ScanBytes>>20)
		}
		if err := f.WriteFile(ctx, path, bytes.ReplaceAll(content, from, to), false); err != nil {
			return explain(err, a.Path, wantFile)
		}
		return agent.TextResult("OK"), nil
	})
}

func crlf(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
}
