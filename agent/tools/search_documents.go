package tools

import (
	"context"
	_ "embed" // the text of the tool
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"fawn/agent"
	"fawn/sandbox/files"
	"fawn/uploads"
)

//go:embed search_documents.md
var searchDocumentsText string

// SearchDocuments is the name of the tool that finds passages in uploads.
const SearchDocuments = "search_documents"

type searchDocumentsArgs struct {
	Description string   `json:"description" jsonschema:"what you look for, in a few words"`
	Query       string   `json:"query" jsonschema:"words that should stand in the text"`
	Files       []string `json:"files,omitempty" jsonschema:"names of uploaded files to search; all if left out"`
	Limit       int      `json:"limit,omitempty" jsonschema:"how many passages, 1 to 20; 6 if left out"`
}

// foundPassage is a passage as the model sees it.
type foundPassage struct {
	Cite    string `json:"cite"`
	File    string `json:"file"`
	Path    string `json:"path"`
	Kind    string `json:"kind,omitempty"`
	Page    int    `json:"page,omitempty"`
	First   int    `json:"start_line"`
	Last    int    `json:"end_line"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
}

// unsearched is a file that could not be searched.
type unsearched struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// maxFoundBytes limits the texts of all passages of an answer together.
const maxFoundBytes = 24 << 10

func (s *set) searchDocuments(ctx context.Context, t *agent.Turn, a searchDocumentsArgs) (agent.Result, error) {
	q := uploads.Query{Words: a.Query, Limit: a.Limit}
	if q.Limit == 0 {
		q.Limit = 6
	}
	if q.Limit < 1 || q.Limit > 20 {
		return failed("limit must be from 1 to 20")
	}
	for _, name := range a.Files {
		q.Files = append(q.Files, path.Base(name))
	}
	if err := s.awaitDocuments(ctx, t.ThreadID, q.Files); err != nil {
		return agent.Result{}, err
	}
	found, err := s.documents.Search(ctx, t.ThreadID, q)
	if err != nil {
		return agent.Result{}, fmt.Errorf("search documents: %w", err)
	}
	out := struct {
		Passages    []foundPassage `json:"passages"`
		Searched    int            `json:"files_searched"`
		Collections int            `json:"collections_searched,omitempty"`
		Left        []unsearched   `json:"files_not_searched,omitempty"`
	}{Passages: []foundPassage{}, Searched: found.Searched}
	shared, err := s.searchProject(ctx, t, q)
	if err != nil {
		return agent.Result{}, err
	}
	out.Searched += shared.Searched
	known, collections := []uploads.Passage(nil), 0
	if s.knowledge != nil {
		k := q
		k.Files = a.Files
		if known, collections, err = s.knowledge.Search(ctx, t, k); err != nil {
			return agent.Result{}, fmt.Errorf("search collections of documents: %w", err)
		}
	}
	out.Collections = collections
	size := 0
	for _, p := range between(slices.Concat(placed(files.Uploads, found.Passages), placed(files.Project, shared.Passages)),
		placed(KnowledgeFolder, known)) {
		if size += len(p.Text); size > maxFoundBytes || len(out.Passages) >= q.Limit {
			break
		}
		out.Passages = append(out.Passages, p)
	}
	for i, l := range slices.Concat(found.Left, shared.Left) {
		if i == 20 {
			break
		}
		out.Left = append(out.Left, unsearched(l))
	}
	b, err := json.Marshal(out)
	return agent.TextResult(string(b)), err
}

// placed prepares passages of files in a folder for the model.
func placed(folder string, list []uploads.Passage) []foundPassage {
	out := make([]foundPassage, 0, len(list))
	for _, p := range list {
		out = append(out, foundPassage{Cite: p.Cite(), File: p.File, Path: folder + "/" + p.File, Kind: p.Kind,
			Page: p.Page, First: p.First, Last: p.Last, Heading: p.Heading, Text: p.Text})
	}
	return out
}

// searchProject searches the files of the thread's project.
func (s *set) searchProject(ctx context.Context, t *agent.Turn, q uploads.Query) (found uploads.Found, err error) {
	_, err = s.with(t, func(f *files.Files) (r agent.Result, err error) {
		shelf, err := f.Shelf()
		if err != nil || shelf.ID == "" {
			return r, err
		}
		if err := s.awaitDocuments(ctx, shelf.ID, q.Files); err != nil {
			return r, err
		}
		if found, err = s.documents.Search(ctx, shelf.ID, q); err != nil {
			err = fmt.Errorf("search documents of the project: %w", err)
		}
		return r, err
	})
	return found, err
}

// awaitDocuments waits until documents are converted, for as long as read_file would.
func (s *set) awaitDocuments(ctx context.Context, thread string, names []string) error {
	wait, cancel := context.WithTimeout(ctx, documentWait)
	defer cancel()
	err := s.documents.Await(wait, thread, names...)
	if wait.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
