package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"fawn/agent"
	"fawn/uploads"
)

// KnowledgeFolder is the folder in which read_file finds documents of collections, under the paths in results of
// search_documents.
const KnowledgeFolder = "/mnt/user-data/knowledge"

// Knowledge provides the document collections named by a run, its project and its agent that the user may read.
type Knowledge interface {
	// Search finds passages, whose files are paths below [KnowledgeFolder], and returns the number of collections.
	// Files limits it to documents with these paths or names.
	Search(ctx context.Context, t *agent.Turn, q uploads.Query) (found []uploads.Passage, collections int, err error)
	// Text returns a document by its path; fs.ErrNotExist for a missing one.
	Text(ctx context.Context, t *agent.Turn, path string) (string, error)
}

// readKnowledge reads a document of a collection as read_file does an upload.
func (s *set) readKnowledge(ctx context.Context, t *agent.Turn, at string, first, last int, page *int) (agent.Result, error) {
	name := strings.TrimPrefix(at, KnowledgeFolder+"/")
	text, err := s.knowledge.Text(ctx, t, name)
	if errors.Is(err, fs.ErrNotExist) {
		return failed("%s is not there. search_documents names the documents that there are.", show(at))
	}
	if err != nil {
		return agent.Result{}, fmt.Errorf("read a document of a collection: %w", err)
	}
	if page != nil {
		var pages int
		if first, last, pages, err = pageLines(strings.NewReader(text), *page); err != nil {
			return agent.Result{}, err
		}
		if first == 0 {
			return agent.TextResult(fmt.Sprintf("(there is no page %d; there are %d)", *page, pages)), nil
		}
	}
	if text == "" {
		return agent.TextResult("(empty)"), nil
	}
	e := excerpt{first: first, last: last, limit: s.limits.ReadChars}
	if err := e.read(ctx, bufio.NewReaderSize(strings.NewReader(text), 64<<10)); err != nil {
		return agent.Result{}, err
	}
	return agent.TextResult(e.result(int64(len(text)))), nil
}

// between alternates between the elements of two ordered lists.
func between[T any](a, b []T) []T {
	out := make([]T, 0, len(a)+len(b))
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, a[i])
		}
		if i < len(b) {
			out = append(out, b[i])
		}
	}
	return out
}
