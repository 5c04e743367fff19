package uploads

import (
	"context"
	"fmt"
	"io/fs"
	"os"
)

// Documents manages the conversion of uploads that are documents.
type Documents interface {
	// Add registers files that were just stored and schedules converting the documents among them.
	Add(ctx context.Context, thread string, names ...string) error
	// Remove forgets a deleted upload and deletes its Markdown.
	Remove(ctx context.Context, dir Dir, thread, name string) error
	// Files lists the uploads of a thread. Documents include their state and the path of their Markdown, which isn't
	// listed separately.
	Files(ctx context.Context, dir Dir, thread string) (List, error)
	// Await waits until none of the named uploads is pending, or until ctx ends. Without names it
	// waits for all.
	Await(ctx context.Context, thread string, names ...string) error
	// ReadAs schedules reading the text of an upload in an encoding, one of EncodingNames, or in the
	// detected one if none is given.
	ReadAs(ctx context.Context, thread, name, encoding string) error
	// Search finds passages in the texts of a thread's uploads.
	Search(ctx context.Context, thread string, q Query) (Found, error)
	// Show returns the state of a thread's document outside the uploads, and its text if available. It starts
	// converting an unknown one and never waits. Other files return nil.
	Show(ctx context.Context, dir Opener, thread, name string) (*Conversion, []byte, error)
}

// Opener opens the files of a thread.
type Opener interface {
	Open(name string) (*os.File, fs.FileInfo, error)
}

// Query asks for passages.
type Query struct {
	Words string
	Files []string // names of uploads to search; none means all
	Limit int
}

// Found answers a Query.
type Found struct {
	Passages []Passage // best first
	Searched int       // number of files searched
	// Left lists uploads that couldn't be searched, with the reason.
	Left []Left
}

// Passage is a part of a file's text.
type Passage struct {
	File        string
	Kind        string // page, slide, sheet or chapter; empty in a text without
	Page        int    // its number
	First, Last int    // lines of the text, counted from 1
	Heading     string // its enclosing heading
	Text        string
}

// Cite formats the place of a passage as citations do.
func (p Passage) Cite() string {
	switch p.Kind {
	case "page":
		return fmt.Sprintf("%s, p. %d", p.File, p.Page)
	case "":
		return fmt.Sprintf("%s, l. %d", p.File, p.First)
	}
	return fmt.Sprintf("%s, %s %d", p.File, p.Kind, p.Page)
}

// Left is an upload that a search couldn't look into.
type Left struct{ File, Why string }

// NoDocuments implements Documents without conversions.
type NoDocuments struct{}

// Add does nothing.
func (NoDocuments) Add(context.Context, string, ...string) error { return nil }

// Remove does nothing.
func (NoDocuments) Remove(context.Context, Dir, string, string) error { return nil }

// Files lists the uploads.
func (NoDocuments) Files(_ context.Context, dir Dir, thread string) (List, error) {
	return Files(dir, thread)
}

// Await does not wait.
func (NoDocuments) Await(context.Context, string, ...string) error { return nil }

// ReadAs finds nothing to read.
func (NoDocuments) ReadAs(_ context.Context, _, name, _ string) error { return &NotFoundError{name} }

// Show shows nothing.
func (NoDocuments) Show(context.Context, Opener, string, string) (*Conversion, []byte, error) {
	return nil, nil, nil
}

// Search finds nothing.
func (NoDocuments) Search(context.Context, string, Query) (Found, error) { return Found{}, nil }
