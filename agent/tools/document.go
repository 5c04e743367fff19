package tools

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"fawn/agent"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// documentWait limits read_file's wait for a conversion.
const documentWait = 2 * time.Minute

// textOf returns the Markdown of a document among the uploads, waiting for its conversion. It returns nil for other
// files.
func (s *set) textOf(ctx context.Context, f *files.Files, thread, name string) (*uploads.File, error) {
	clean, err := files.Clean(name)
	if err != nil || path.Dir(clean) != files.Uploads {
		return nil, nil
	}
	for waited := false; ; waited = true {
		list, err := s.documents.Files(ctx, f, thread)
		if err != nil {
			return nil, err
		}
		var found *uploads.File
		for _, u := range list.Files {
			if u.Filename == path.Base(clean) && u.Conversion != nil {
				found = &u
			}
		}
		if found == nil || found.Conversion.State != uploads.Pending || waited {
			return found, nil
		}
		wait, cancel := context.WithTimeout(ctx, documentWait)
		err = s.documents.Await(wait, thread, found.Filename)
		late := wait.Err() != nil
		cancel()
		if err != nil && !late {
			return nil, err
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
}

// document opens the converted text of a document instead of the open file. Text files are returned as they are.
// Without a file, the result has the reason.
func (s *set) document(ctx context.Context, f *files.Files, thread string, file *os.File,
	a readFileArgs) (*os.File, agent.Result, error) {
	head := make([]byte, 8<<10)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) || n == 0 ||
		a.Page == nil && binary(head[:n]) == "" && utf8.Valid(trimmed(head[:n])) {
		return file, agent.Result{}, nil
	}
	u, err := s.textOf(ctx, f, thread, a.Path)
	switch {
	case err != nil:
		return nil, agent.Result{}, err
	case u == nil:
		return file, agent.Result{}, nil
	case u.MarkdownVirtualPath == "":
		res, err := unreadable(a.Path, u.Conversion)
		return nil, res, err
	}
	text, _, err := f.Open(u.MarkdownVirtualPath)
	if err != nil {
		res, err := explain(err, u.MarkdownVirtualPath, wantFile)
		return nil, res, err
	}
	return text, agent.Result{}, nil
}

// trimmed returns the beginning of a file up to its last whole character.
func trimmed(head []byte) []byte {
	for i := len(head) - 1; i >= 0 && i >= len(head)-utf8.UTFMax; i-- {
		if utf8.RuneStart(head[i]) {
			if !utf8.FullRune(head[i:]) {
				return head[:i]
			}
			break
		}
	}
	return head
}

// unreadable explains why a document has no text.
func unreadable(name string, c *uploads.Conversion) (agent.Result, error) {
	if c.State == uploads.Pending {
		return failed("%s is still being converted. Do something else and try again later.", show(name))
	}
	return failed("%s cannot be read: %s.", show(name), c.Why())
}

// anchorLine matches the start of a page, slide, sheet or chapter in converted text.
var anchorLine = regexp.MustCompile(`^<!-- (?:page|slide|sheet|chapter) (\d+) -->`)

// pageLines returns the lines of a page in converted text, and the number of pages.
func pageLines(r io.Reader, page int) (first, last, pages int, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, long, err := b.ReadLine()
		if errors.Is(err, io.EOF) {
			return first, last, pages, nil
		}
		if err != nil {
			return 0, 0, 0, err
		}
		if m := anchorLine.FindSubmatch(line); m != nil {
			if first > 0 && last == 0 {
				last = n - 1
			}
			if pages, err = strconv.Atoi(string(m[1])); err == nil && pages == page {
				first = n
			}
		}
		for long && err == nil {
			_, long, err = b.ReadLine()
		}
	}
}
