package projects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"fawn/agent/access"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
)

// Limits of a project's fields.
const (
	MaxName         = 100      // characters
	MaxInstructions = 32 << 10 // bytes
	MaxChosen       = 200      // limit of skills or of servers
	maxChoice       = 100      // bytes of the name of one, of an agent or of a model
	maxIcon         = 4 * utf8.UTFMax
)

// Colors returns the possible colors of a project; "" is none.
func Colors() []string { return []string{"green", "blue", "amber", "red"} }

// Memories returns the possible destinations of facts from chats.
func Memories() []string {
	return []string{store.MemoryProject, store.MemoryIsolated, store.MemoryPersonal}
}

// Invalid is a setting that no project can have.
type Invalid struct{ Field, Why string }

// Error reports which, and why.
func (e *Invalid) Error() string { return e.Field + ": " + e.Why }

// Config are the parts a Service needs.
type Config struct {
	DB        *store.DB
	Runs      *runs.Manager
	Dirs      files.Dirs
	Documents uploads.Documents // nil converts nothing
	Discarded func()            // called after chats were moved to the trash; nil on a server that polls
	// Ended stops the sandboxes of threads that lost read or write access to a project; nil for none.
	Ended func(ctx context.Context, threads []string) error
	Log   *slog.Logger
}

// Service changes projects.
type Service struct {
	Config
	misses Misses
}

// New returns a Service.
func New(c Config) *Service {
	if c.Documents == nil {
		c.Documents = uploads.NoDocuments{}
	}
	if c.Ended == nil {
		c.Ended = func(context.Context, []string) error { return nil }
	}
	if c.Discarded == nil {
		c.Discarded = func() {}
	}
	return &Service{Config: c}
}

// Check tidies the name and settings of a project. The error is an *Invalid.
func Check(p *store.Project) error {
	p.Name = strings.Join(strings.Fields(p.Name), " ")
	s := &p.Settings
	s.Instructions = strings.TrimSpace(s.Instructions)
	if s.Memory == "" {
		s.Memory = store.MemoryProject
	}
	switch {
	case p.Name == "":
		return &Invalid{"name", "must not be empty"}
	case utf8.RuneCountInString(p.Name) > MaxName:
		return &Invalid{"name", fmt.Sprintf("has more than %d characters", MaxName)}
	case strings.ContainsFunc(p.Name, unicode.IsControl), !utf8.ValidString(p.Name):
		return &Invalid{"name", "has characters that can't be shown"}
	case len(s.Icon) > maxIcon || strings.ContainsFunc(s.Icon, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return &Invalid{"icon", "want one emoji or a few letters"}
	case s.Color != "" && !slices.Contains(Colors(), s.Color):
		return &Invalid{"color", "want one of " + strings.Join(Colors(), ", ")}
	case len(s.Instructions) > MaxInstructions:
		return &Invalid{"instructions", fmt.Sprintf("have more than %d bytes", MaxInstructions)}
	case !utf8.ValidString(s.Instructions):
		return &Invalid{"instructions", "are not valid UTF-8"}
	case !slices.Contains(Memories(), s.Memory):
		return &Invalid{"memory", "want one of " + strings.Join(Memories(), ", ")}
	}
	for field, name := range map[string]string{"agent": s.Agent, "model": s.Model} {
		if len(name) > maxChoice || strings.ContainsFunc(name, unicode.IsControl) {
			return &Invalid{field, "is no name"}
		}
	}
	for field, list := range map[string][]string{"skills": s.Skills, "mcp_servers": s.Servers, "knowledge": s.Knowledge} {
		if len(list) > MaxChosen {
			return &Invalid{field, fmt.Sprintf("has more than %d names", MaxChosen)}
		}
		for _, name := range list {
			if name == "" || len(name) > maxChoice {
				return &Invalid{field, "has an empty or too long name"}
			}
		}
	}
	return nil
}

// Create creates a project for owner. Errors: *Invalid.
func (s *Service) Create(ctx context.Context, owner, name string, settings store.ProjectSettings) (store.Project, error) {
	p := store.Project{ID: uuid.Must(uuid.NewV7()).String(), Owner: owner, Name: name, Settings: settings}
	if err := Check(&p); err != nil {
		return p, err
	}
	if err := s.DB.CreateProject(ctx, p); err != nil {
		return p, err
	}
	return s.DB.ProjectFor(ctx, owner, p.ID)
}

// Change changes a project. Errors: *Invalid, store.ErrNotFound without write permission, those of change.
func (s *Service) Change(ctx context.Context, person, id string, change func(*store.Project) error) (store.Project, error) {
	closed := false
	p, err := s.DB.ChangeProject(ctx, person, id, func(p *store.Project) error {
		was := p.Settings.Writable
		if err := change(p); err != nil {
			return err
		}
		closed = was && !p.Settings.Writable
		return Check(p)
	})
	if err == nil && closed {
		err = s.end(ctx, "", id)
	}
	return p, err
}

// Move moves a person's threads into a project, "" for none, and stops their sandboxes, which show the previous
// project's files. Errors: store.ErrNotFound.
func (s *Service) Move(ctx context.Context, person, project string, threads ...string) error {
	if err := s.DB.PutInProject(ctx, person, project, threads...); err != nil {
		return err
	}
	return s.Ended(context.WithoutCancel(ctx), threads)
}

// end stops the sandboxes of a person's threads in a project, of everyone's for "".
func (s *Service) end(ctx context.Context, person, project string) error {
	ctx = context.WithoutCancel(ctx)
	list, err := s.DB.ThreadsIn(ctx, person, project)
	if err != nil {
		return err
	}
	return s.Ended(ctx, list)
}

// Delete deletes a project of owner's with its files and what was learned in it. Its chats leave the project; with
// chats, the owner's are stopped and moved to the trash, with the returned time. After a crash, the next start
// completes the deletion. Errors: store.ErrNotFound.
func (s *Service) Delete(ctx context.Context, owner, id string, chats bool) (at time.Time, err error) {
	p, err := s.DB.ProjectFor(ctx, owner, id)
	if err == nil && p.Role != store.ProjectOwner {
		err = fmt.Errorf("project %s: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return at, err
	}
	ctx = context.WithoutCancel(ctx)
	if chats {
		list, err := s.DB.ThreadsIn(ctx, owner, id)
		for _, thread := range list {
			err = errors.Join(err, s.Runs.CancelAll(ctx, thread))
		}
		if err != nil {
			return at, fmt.Errorf("end the chats of project %s: %w", id, err)
		}
	}
	at = s.DB.Now().Truncate(time.Millisecond)
	shelf := store.ShelfOf(id)
	inside, err := s.DB.DeleteProject(ctx, owner, id, chats, at, runs.RemovedFiles(shelf))
	if err != nil {
		return at, err
	}
	if chats {
		s.Discarded()
	}
	if err := s.Ended(ctx, inside); err != nil {
		s.Log.Error("couldn't stop sandboxes of a deleted project", "project", id, "err", err)
	}
	if err := s.Runs.ForgetFiles(ctx, shelf); err != nil { // the next start tries again
		s.Log.Error("couldn't remove files of a deleted project", "project", id, "err", err)
	}
	return at, nil
}

// DeleteOwned deletes all projects of an owner; their chats stay.
func (s *Service) DeleteOwned(ctx context.Context, owner string) error {
	list, err := s.DB.Projects(ctx, owner)
	for _, p := range list {
		if p.Role != store.ProjectOwner {
			continue
		}
		if _, gone := s.Delete(ctx, owner, p.ID, false); gone != nil && !errors.Is(gone, store.ErrNotFound) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Shown returns a project's settings without names that a member has no right to.
func Shown(s store.ProjectSettings, may access.Rights) store.ProjectSettings {
	if s.Model != "" && !may.May(access.Model, s.Model) {
		s.Model = ""
	}
	if s.Agent != "" && !may.May(access.Agent, s.Agent) {
		s.Agent = ""
	}
	s.Skills, s.Servers = seen(s.Skills, access.Skill, may), seen(s.Servers, access.Server, may)
	return s
}

func seen(list []string, kind access.Kind, may access.Rights) []string {
	if list == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !may.May(kind, name) })
}

// Keep preserves entries in changed lists of skills and servers that the editor may not use and therefore didn't see.
func Keep(s *store.ProjectSettings, was store.ProjectSettings, may access.Rights) {
	s.Skills, s.Servers = kept(s.Skills, was.Skills, access.Skill, may), kept(s.Servers, was.Servers, access.Server, may)
}

func kept(list, was []string, kind access.Kind, may access.Rights) []string {
	if list == nil {
		return nil
	}
	out := slices.Clone(list)
	for _, name := range was {
		if !may.May(kind, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
