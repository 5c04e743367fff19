package tools

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the texts of the tools
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"fawn/agent"
	"fawn/sandbox/files"

	"github.com/gabriel-vasile/mimetype"
)

//go:embed read_file.md
var readFileText string

type readFileArgs struct {
	Description string `json:"description" jsonschema:"why you read this file, in a few words"`
	Path        string `json:"path" jsonschema:"the file; absolute, or relative to /mnt/user-data/workspace"`
	StartLine   *int   `json:"start_line,omitempty" jsonschema:"first line to read, counted from 1; the first if left out"`
	EndLine     *int   `json:"end_line,omitempty" jsonschema:"last line to read, this one included; the last if left out"`
	Page        *int   `json:"page,omitempty" jsonschema:"page, slide or sheet of a document to read, counted from 1, in place of lines"`
}

func (s *set) readFile(ctx context.Context, t *agent.Turn, a readFileArgs) (agent.Result, error) {
	first, last := 1, 0
	if a.StartLine != nil {
		first = *a.StartLine
	}
	if a.EndLine != nil {
		last = *a.EndLine
	}
	switch {
	case first < 1:
		return agent.TextResult("(start_line must be >= 1)"), nil
	case a.EndLine != nil && last < 1:
		return agent.TextResult("(end_line must be >= 1)"), nil
	case a.EndLine != nil && first > last:
		return agent.TextResult("(start_line > end_line — no lines in range)"), nil
	}
	if s.knowledge != nil && strings.HasPrefix(a.Path, KnowledgeFolder+"/") {
		return s.readKnowledge(ctx, t, a.Path, first, last, a.Page)
	}
	return s.with(t, func(f *files.Files) (agent.Result, error) {
		file, _, err := f.Open(a.Path)
		if err != nil {
			return explain(err, a.Path, wantFile)
		}
		defer func() { file.Close() }()
		if text, res, err := s.document(ctx, f, t.ThreadID, file, a); text == nil {
			return res, err
		} else if text != file {
			file.Close()
			file = text
		}
		if a.Page != nil {
			var pages int
			if first, last, pages, err = pageLines(file, *a.Page); err == nil {
				_, err = file.Seek(0, io.SeekStart)
			}
			if err != nil {
				return explain(err, a.Path, wantFile)
			}
			if first == 0 {
				return agent.TextResult(fmt.Sprintf("(there is no page %d; there are %d)", *a.Page, pages)), nil
			}
		}
		r := bufio.NewReaderSize(io.LimitReader(file, s.limits.ScanBytes+1), 64<<10)
		head, err := r.Peek(8 << 10)
		if err != nil && !errors.Is(err, io.EOF) {
			return failed("%s cannot be read", show(a.Path))
		}
		if len(head) == 0 {
			return agent.TextResult("(empty)"), nil
		}
		if kind := binary(head); kind != "" {
			return failed("%s is a binary file (%s), not text. Use view_image for pictures, or a program in bash that knows the format.",
				show(a.Path), kind)
		}
		e := excerpt{first: first, last: last, limit: s.limits.ReadChars}
		if err := e.read(ctx, r); err != nil {
			return explain(err, a.Path, wantFile)
		}
		return agent.TextResult(e.result(s.limits.ScanBytes)), nil
	})
}

// binary names the kind of a file that is not text, empty for text.
func binary(head []byte) string {
	kind := mimetype.Detect(head)
	for m := kind; m != nil; m = m.Parent() {
		if m.Is("text/plain") && bytes.IndexByte(head, 0) < 0 {
			return ""
		}
	}
	if kind.Is("application/octet-stream") && bytes.IndexByte(head, 0) < 0 {
		return ""
	}
	return kind.String()
}

// excerpt collects the lines first to last (0: all) up to limit characters.
type excerpt struct {
	first, last, limit int

	text  strings.Builder
	used  int
	line  int   // complete lines seen
	begin int   // start of the current line in text
	bytes int64 // read so far
	full  bool  // stopped for the limit
}

func (e *excerpt) read(ctx context.Context, r *bufio.Reader) error {
	for e.last == 0 || e.line < e.last {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		// A line longer than the buffer is read in pieces.
		piece, err := r.ReadSlice('\n')
		e.bytes += int64(len(piece))
		if e.line+1 >= e.first {
			e.take(piece)
		}
		switch {
		case e.full || errors.Is(err, io.EOF):
			return nil
		case err == nil:
			e.line++
			e.begin = e.text.Len()
		case !errors.Is(err, bufio.ErrBufferFull):
			return errors.New("the file cannot be read")
		}
	}
	return nil
}

func (e *excerpt) take(piece []byte) {
	n := utf8.RuneCount(piece)
	e.full = e.used+n > e.limit
	for range min(n, e.limit-e.used) {
		_, size := utf8.DecodeRune(piece)
		e.text.Write(piece[:size])
		piece = piece[size:]
	}
	e.used += n
}

// result returns the text, truncated after a whole line, and a note.
func (e *excerpt) result(scan int64) string {
	text := e.text.String()
	if e.full && e.begin > 0 {
		text = text[:e.begin]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
	switch {
	case e.full && e.begin > 0:
		return text + fmt.Sprintf("... [truncated: lines %d to %d shown; read on with start_line=%d and end_line]",
			e.first, e.line, e.line+1)
	case e.full:
		return text + fmt.Sprintf("\n... [truncated: line %d is longer than %d characters; read what follows it with start_line=%d and end_line]",
			e.line+1, e.limit, e.line+2)
	case e.bytes > scan && text == "":
		return fmt.Sprintf("(start_line is beyond the first %d MiB, which is all this tool reads; use grep or bash)",
			scan>>20)
	case e.bytes > scan:
		return text + fmt.Sprintf("\n... [truncated: only the first %d MiB of a file are read; use grep or bash for the rest]",
			scan>>20)
	case text == "":
		return "(start_line exceeds file length)"
	}
	return text
}
