package knowledge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"fawn/agent/projects"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/uploads/documents"
)

// Limits of collections.
const (
	MaxName    = 100 // characters
	MaxAbout   = 500 // characters
	MaxSources = 50
)

// Invalid is the error for a collection with a field that isn't allowed.
type Invalid struct{ Field, Why string }

// Error names the field and the problem.
func (e *Invalid) Error() string { return e.Field + ": " + e.Why }

// Page is a web page as text.
type Page struct {
	Title, Address, Text string
}

// Embedder computes vectors of texts. Vectors of different models can't be compared.
type Embedder interface {
	Model() string
	// Embed returns a vector for each text, all of one length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Config holds the dependencies of a Service.
type Config struct {
	DB   *store.DB
	Runs *runs.Manager
	Dirs files.Dirs
	// Convert converts one document outside this process.
	Convert func(ctx context.Context, j documents.Job) (documents.Outcome, error)
	// Page reads a web page; nil reads none. People see its error.
	Page func(ctx context.Context, address string) (Page, error)
	// Git returns a client for repositories; nil reads none.
	Git func() *http.Client
	// Folders returns the configured server folders that may be sources.
	Folders func() []string
	// Most returns the current limit of text in a collection, in bytes.
	Most func() int64
	// Temp is a folder for downloads.
	Temp string
	// Embedder returns the configured model; if it or its result is nil, searches use words only.
	Embedder func() Embedder
	Log      *slog.Logger
}

// Service manages collections.
type Service struct {
	cfg Config

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when there may be work; guarded by mu

	vectors vectors
	misses  projects.Misses
}

// Tried means that a person has tried too many addresses to share with.
type Tried = projects.TooMany

// New returns a Service. [Service.Run] does its work.
func New(c Config) *Service {
	if c.Embedder == nil {
		c.Embedder = func() Embedder { return nil }
	}
	if c.Folders == nil {
		c.Folders = func() []string { return nil }
	}
	if c.Most == nil {
		c.Most = func() int64 { return 1 << 30 }
	}
	return &Service{cfg: c, changed: make(chan struct{})}
}

// wake makes Run check for due work.
func (s *Service) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Service) awaited() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// check trims and validates the name and description of a collection. The error is an *Invalid.
func check(c *store.Collection) error {
	c.Name = strings.Join(strings.Fields(c.Name), " ")
	c.About = strings.TrimSpace(c.About)
	switch {
	case c.Name == "":
		return &Invalid{"name", "must not be empty"}
	case utf8.RuneCountInString(c.Name) > MaxName:
		return &Invalid{"name", fmt.Sprintf("has more than %d characters", MaxName)}
	case !utf8.ValidString(c.Name) || strings.ContainsFunc(c.Name, unicode.IsControl):
		return &Invalid{"name", "has characters that can't be shown"}
	case strings.ContainsAny(c.Name, `/\[];`), strings.HasPrefix(c.Name, "."): // names appear in citations and paths
		return &Invalid{"name", `must not begin with a dot, and has no / \ [ ] or ;`}
	case utf8.RuneCountInString(c.About) > MaxAbout || !utf8.ValidString(c.About):
		return &Invalid{"description", fmt.Sprintf("has more than %d characters", MaxAbout)}
	}
	return nil
}

// taken turns the error of a taken name into an *Invalid.
func taken(err error) error {
	if errors.Is(err, store.ErrExists) {
		return &Invalid{"name", "there is a collection of that name"}
	}
	return err
}

// Create creates a collection for owner. Errors: *Invalid.
func (s *Service) Create(ctx context.Context, owner, name, about string) (store.Collection, error) {
	c := store.Collection{ID: uuid.Must(uuid.NewV7()).String(), Owner: owner, Name: name, About: about}
	if err := check(&c); err != nil {
		return c, err
	}
	if err := s.cfg.DB.CreateCollection(ctx, c, uuid.Must(uuid.NewV7()).String()); err != nil {
		return c, taken(err)
	}
	return s.cfg.DB.CollectionFor(ctx, owner, c.ID)
}

// Change changes the name and description of a collection. Errors: *Invalid, store.ErrNotFound without write access, and
// those of change.
func (s *Service) Change(ctx context.Context, person, id string, change func(*store.Collection) error) (store.Collection, error) {
	c, err := s.cfg.DB.ChangeCollection(ctx, person, id, func(c *store.Collection) error {
		if err := change(c); err != nil {
			return err
		}
		return check(c)
	})
	return c, taken(err)
}

// Delete deletes a collection of owner. Searches no longer find its documents, which are removed soon, after a crash by
// the next start. Errors: store.ErrNotFound.
func (s *Service) Delete(ctx context.Context, owner, id string) error {
	ctx = context.WithoutCancel(ctx)
	shelf := store.CollectionShelf(id)
	if err := s.cfg.DB.DeleteCollection(ctx, owner, id, runs.RemovedFiles(shelf)); err != nil {
		return err
	}
	s.wake()
	if err := s.cfg.Runs.ForgetFiles(ctx, shelf); err != nil { // the next start tries again
		s.cfg.Log.Error("couldn't remove files of a deleted collection", "collection", id, "err", err)
	}
	return nil
}

// DeleteOwned deletes all collections of an owner.
func (s *Service) DeleteOwned(ctx context.Context, owner string) error {
	list, err := s.cfg.DB.Collections(ctx, owner)
	for _, c := range list {
		if c.Role != store.ProjectOwner {
			continue
		}
		if gone := s.Delete(ctx, owner, c.ID); gone != nil && !errors.Is(gone, store.ErrNotFound) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Share gives the person with an account of this address, or the group of this name, a role in a collection of c's owner.
// operator reports whether the owner runs the server. Errors: *Invalid, *Tried.
func (s *Service) Share(ctx context.Context, c store.Collection, operator bool, email, group string, role store.Role) error {
	if role != store.Viewer && role != store.Editor {
		return &Invalid{"role", "want viewer or editor"}
	}
	if group != "" && strings.TrimSpace(email) != "" {
		return &Invalid{"email", "give an address or a group"}
	}
	member := ""
	if group != "" {
		var err error
		if member, err = projects.Group(ctx, s.cfg.DB, c.Owner, operator, group); err != nil {
			return err
		}
		if member == "" {
			return &Invalid{"group", "you have no group of this name"}
		}
	} else {
		if err := s.misses.Check(c.Owner, s.cfg.DB.Now()); err != nil {
			return err
		}
		u, err := s.cfg.DB.UserByEmail(ctx, strings.TrimSpace(email))
		if errors.Is(err, store.ErrNotFound) {
			s.misses.Count(c.Owner, s.cfg.DB.Now())
			return &Invalid{"email", "there is no account with this address"}
		}
		if err != nil {
			return err
		}
		if member = u.ID; member == c.Owner {
			return &Invalid{"email", "this is the collection's owner"}
		}
	}
	return s.cfg.DB.ShareCollection(ctx, c.Owner, c.ID, member, role)
}

// writing returns a collection with write access. Errors: store.ErrNotFound.
func (s *Service) writing(ctx context.Context, person, id string) (store.Collection, error) {
	c, err := s.cfg.DB.CollectionFor(ctx, person, id)
	if err == nil && !c.Role.Writes() {
		err = fmt.Errorf("collection %s: %w", id, store.ErrNotFound)
	}
	return c, err
}

// Save stores the files of a form among the documents of a collection, as [uploads.Save] does for a thread: all of them,
// or none. It replaces files with the same names. Errors: store.ErrNotFound without write access, and those of
// uploads.Save.
func (s *Service) Save(ctx context.Context, person, id string, form *multipart.Reader, cfg uploads.Config) (uploads.Result, error) {
	c, err := s.writing(ctx, person, id)
	if err != nil {
		return uploads.Result{}, err
	}
	shelf := store.CollectionShelf(c.ID)
	if err := s.cfg.Dirs.Create(shelf); err != nil {
		return uploads.Result{}, err
	}
	dir, err := s.cfg.Dirs.Open(shelf)
	if err != nil {
		return uploads.Result{}, err
	}
	defer dir.Close()
	out, err := uploads.Save(ctx, dir, shelf, form, cfg)
	if err != nil {
		return out, err
	}
	if err := s.saved(ctx, c.ID); err != nil {
		return out, err
	}
	return out, s.askUploads(ctx, c.ID)
}

// saved stores changed files of a collection. If it was deleted meanwhile, it removes them and returns
// store.ErrNotFound.
func (s *Service) saved(ctx context.Context, id string) error {
	shelf := store.CollectionShelf(id)
	err := s.cfg.Dirs.Save(ctx, shelf)
	gone, failed := s.cfg.DB.SettleCollection(context.WithoutCancel(ctx), id)
	if gone {
		return errors.Join(fmt.Errorf("collection %s: %w", id, store.ErrNotFound), failed, s.cfg.Dirs.Remove(shelf))
	}
	return errors.Join(err, failed)
}

// askUploads schedules reading the uploads of a collection.
func (s *Service) askUploads(ctx context.Context, id string) error {
	list, err := s.cfg.DB.Sources(ctx, id)
	if err != nil {
		return err
	}
	for _, src := range list {
		if src.Kind == store.UploadSource {
			err = errors.Join(err, s.cfg.DB.AskSource(ctx, id, src.ID))
		}
	}
	s.wake()
	return err
}

// Remove deletes an uploaded document with its file. Errors: store.ErrNotFound without write access, and for a document
// that wasn't uploaded.
func (s *Service) Remove(ctx context.Context, person, id string, doc int64) error {
	c, err := s.writing(ctx, person, id)
	if err != nil {
		return err
	}
	d, err := s.cfg.DB.CollectionDocument(ctx, c.ID, doc)
	if err != nil {
		return err
	}
	sources, err := s.cfg.DB.Sources(ctx, c.ID)
	if err != nil {
		return err
	}
	for _, src := range sources {
		if src.ID != d.Source || src.Kind != store.UploadSource {
			continue
		}
		shelf := store.CollectionShelf(c.ID)
		dir, err := s.cfg.Dirs.Open(shelf)
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := uploads.Delete(dir, d.Name); err != nil && !errors.Is(err, uploads.ErrNotFound) {
			return err
		}
		if err := s.saved(ctx, c.ID); err != nil {
			return err
		}
		return s.cfg.DB.RemoveDocument(context.WithoutCancel(ctx), d)
	}
	return fmt.Errorf("document %d was not uploaded: %w", doc, store.ErrNotFound)
}

// Update schedules reading a source of a collection again, or all of them for "". Errors:
// store.ErrNotFound.
func (s *Service) Update(ctx context.Context, person, id, source string) error {
	c, err := s.writing(ctx, person, id)
	if err == nil {
		err = s.cfg.DB.AskSource(ctx, c.ID, source)
	}
	s.wake()
	return err
}

// RemoveSource removes a source with its documents. Errors: store.ErrNotFound.
func (s *Service) RemoveSource(ctx context.Context, person, id, source string) error {
	c, err := s.writing(ctx, person, id)
	if err == nil {
		err = s.cfg.DB.RemoveSource(ctx, c.ID, source)
	}
	s.wake()
	return err
}
