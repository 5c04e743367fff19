package uploads

import "context"

// Documents knows which uploads are documents, and what has become of them.
type Documents interface {
	// Add takes files that were just stored and has the documents among them converted.
	Add(ctx context.Context, thread string, names ...string) error
	// Remove forgets a deleted upload and deletes its Markdown.
	Remove(ctx context.Context, dir Dir, thread, name string) error
	// Files lists the uploads of a thread. Documents carry what has become of them and where
	// their Markdown is, which does not stand in the list by itself.
	Files(ctx context.Context, dir Dir, thread string) (List, error)
	// Await waits until none of the named uploads is pending, or until ctx ends. No names
	// mean all.
	Await(ctx context.Context, thread string, names ...string) error
}

// NoDocuments is for where nothing is converted.
type NoDocuments struct{}

// Add does nothing.
func (NoDocuments) Add(context.Context, string, ...string) error { return nil }

// Remove does nothing.
func (NoDocuments) Remove(context.Context, Dir, string, string) error { return nil }

// Files lists what is there.
func (NoDocuments) Files(_ context.Context, dir Dir, thread string) (List, error) {
	return Files(dir, thread)
}

// Await does not wait.
func (NoDocuments) Await(context.Context, string, ...string) error { return nil }
