package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"fawn/agent"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// Files opens the files of a thread; the tool closes them. It creates missing folders. Its error means that the files
// are inaccessible.
type Files func(thread string) (*files.Files, error)

// set holds the data shared by the built-in tools.
type set struct {
	open      Files
	limits    Limits
	documents uploads.Documents
	knowledge Knowledge // nil for none
	locks     *Locks
}

// with calls do with the files of the turn's thread.
func (s *set) with(t *agent.Turn, do func(f *files.Files) (agent.Result, error)) (agent.Result, error) {
	f, err := s.open(t.ThreadID)
	if err != nil {
		return agent.Result{}, fmt.Errorf("open files of thread: %w", err)
	}
	defer f.Close()
	return do(f)
}

// wanted is the kind of path the tool expected; it is used in "not found" messages.
type wanted string

const (
	wantFile   wanted = "File"
	wantFolder wanted = "Directory"
	wantPath   wanted = "Path"
)

// explain turns a path error into a result for the model. Errors beyond the model's control, like the end of the run,
// stay errors.
func explain(err error, path string, want wanted) (agent.Result, error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, fs.ErrClosed):
		return agent.Result{}, err
	case errors.Is(err, fs.ErrNotExist):
		return failed("%s not found: %s", want, show(path))
	case errors.Is(err, fs.ErrPermission):
		return failed("Permission denied: %s", show(path))
	case errors.Is(err, files.ErrNotDir), want == wantFolder && errors.Is(err, syscall.ENOTDIR):
		return failed("Not a directory: %s", show(path))
	case errors.Is(err, files.ErrNotRegular):
		return failed("Not a regular file (directories, pipes and devices cannot be used here): %s", show(path))
	case errors.Is(err, syscall.ENOSPC):
		return failed("The storage is full. Delete files under /mnt/user-data before writing.")
	}
	return failed("%s", clip(err.Error(), 2000))
}

func failed(format string, args ...any) (agent.Result, error) {
	return agent.ErrorResult("Error: " + fmt.Sprintf(format, args...)), nil
}

// show writes a path on one line: a name with a line break in it must not look
// like two names.
func show(path string) string {
	var b strings.Builder
	for _, r := range clip(path, 500) {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func clip(s string, runes int) string {
	if len(s) <= runes || utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes]) + "..."
}
