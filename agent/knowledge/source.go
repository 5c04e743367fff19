package knowledge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"fawn/agent/skills"
	"fawn/agent/skills/fetch"
	"fawn/store"
	"fawn/uploads"
)

const (
	maxAddress = 2000 // bytes
	minEvery   = 5 * time.Minute
	maxEvery   = 90 * 24 * time.Hour
)

// AddSource adds a source to a collection and requests its reading. operator reports whether the person is an operator
// of the server: only operators may add local folders. Errors: *Invalid, store.ErrNotFound without write permission.
func (s *Service) AddSource(ctx context.Context, person string, operator bool, src store.Source) (store.Source, error) {
	c, err := s.writing(ctx, person, src.Collection)
	if err != nil {
		return src, err
	}
	src.ID, src.Address = uuid.Must(uuid.NewV7()).String(), strings.TrimSpace(src.Address)
	switch {
	case src.Every != 0 && (src.Every < minEvery || src.Every > maxEvery):
		return src, &Invalid{"every_seconds", fmt.Sprintf("want 0, or %d to %d", minEvery/time.Second, maxEvery/time.Second)}
	case src.Address == "" || len(src.Address) > maxAddress || !utf8.ValidString(src.Address):
		return src, &Invalid{"address", fmt.Sprintf("want 1 to %d bytes", maxAddress)}
	}
	switch src.Kind {
	case store.FolderSource:
		if !operator {
			return src, &Invalid{"kind", "only the people who run the server add folders of it"}
		}
		if _, _, err := s.allowed(src.Address); err != nil {
			return src, &Invalid{"address", err.Error()}
		}
		src.Address = filepath.Clean(src.Address)
	case store.WebSource:
		u, err := url.Parse(src.Address)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return src, &Invalid{"address", "want the address of a page that begins with https://, without a name or password in it"}
		}
	case store.GitSource:
		if _, err := repository(src.Address); err != nil {
			return src, &Invalid{"address", err.Error()}
		}
	default:
		return src, &Invalid{"kind", "want folder, web or git"}
	}
	err = s.cfg.DB.AddSource(ctx, src, MaxSources)
	if errors.Is(err, store.ErrExists) {
		return src, &Invalid{"address", fmt.Sprintf("the collection has this source already, or %d sources, which is the most", MaxSources)}
	}
	s.wake()
	src.Collection, src.State = c.ID, store.SourcePending
	return src, err
}

// item is a document of a source.
type item struct {
	name, stamp, title, address string
	size                        int64
	text                        string // content of a document without a file
	open                        func() (*os.File, error)
	hidden                      bool // it is passed over
	closed                      bool // it is a folder, or a file, that can't be looked into
}

// failure is the reason why a source couldn't be read: a word that pages translate, and the external message.
type failure struct{ word, detail string }

func (f *failure) Error() string { return strings.TrimSpace(f.word + " " + f.detail) }

// Words that begin [store.Source.Problem] of a failed source. An external message may follow after a space.
const (
	NotAllowed  = "forbidden"   // the configuration no longer allows the folder
	Missing     = "missing"     // the folder doesn't exist
	Unreachable = "unreachable" // a page or a repository can't be reached
	TooMany     = "many"        // there are too many files
	Slow        = "slow"        // reading timed out without anything new
	Internal    = "internal"
)

// items calls take with each document of a source, and returns the stamp of the source, "" for none. unchanged means
// that the stamp is the same as before.
func (s *Service) items(ctx context.Context, src store.Source, take func(item) error) (stamp string, unchanged bool, err error) {
	switch src.Kind {
	case store.UploadSource:
		return "", false, s.uploaded(ctx, src, take)
	case store.FolderSource:
		return "", false, s.folder(ctx, src.Address, take)
	case store.WebSource:
		return "", false, s.page(ctx, src.Address, take)
	}
	return s.repositoryFiles(ctx, src, take)
}

func (s *Service) uploaded(_ context.Context, src store.Source, take func(item) error) error {
	shelf := store.CollectionShelf(src.Collection)
	dir, err := s.cfg.Dirs.Open(shelf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	list, err := uploads.Files(dir, shelf)
	if err != nil {
		return err
	}
	for _, f := range list.Files {
		info, err := dir.Lstat(f.VirtualPath)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = take(item{name: f.Filename, size: f.Size, stamp: stampOf(info), open: func() (*os.File, error) {
			file, _, err := dir.Open(f.VirtualPath)
			return file, err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func stampOf(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// allowed returns the configured folder that contains a path, and the path relative to it.
func (s *Service) allowed(name string) (base, rel string, err error) {
	if !filepath.IsAbs(name) {
		return "", "", errors.New("want the whole path of a folder of the server")
	}
	for _, base := range s.cfg.Folders() {
		rel, err := filepath.Rel(base, filepath.Clean(name))
		if err == nil && filepath.IsLocal(rel) {
			return base, rel, nil
		}
	}
	return "", "", errors.New("the configuration doesn't allow this folder; add it to knowledge.folders")
}

// folder reads a server folder. It skips links and hidden files; nothing outside the configured folder is reachable.
func (s *Service) folder(ctx context.Context, name string, take func(item) error) error {
	base, rel, err := s.allowed(name)
	if err != nil {
		return &failure{NotAllowed, ""}
	}
	root, err := os.OpenRoot(base)
	if err == nil && rel != "." {
		top := root
		defer top.Close()
		root, err = top.OpenRoot(rel)
	}
	if exhausted(err) {
		return err
	}
	if err != nil {
		return &failure{Missing, ""}
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(at string, e fs.DirEntry, err error) error {
		switch {
		case exhausted(err):
			return err
		case err != nil && at == ".":
			return &failure{Missing, ""}
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil:
			return take(item{name: at, closed: true})
		case ctx.Err() != nil:
			return ctx.Err()
		case at != "." && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
			return take(item{name: at, hidden: true})
		case !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case exhausted(err):
			return err
		case err != nil:
			return take(item{name: at, closed: true})
		}
		return take(item{name: at, size: info.Size(), stamp: stampOf(info), open: func() (*os.File, error) {
			return root.Open(at)
		}})
	})
}

// page reads a web page.
func (s *Service) page(ctx context.Context, address string, take func(item) error) error {
	if s.cfg.Page == nil {
		return &failure{Unreachable, ""}
	}
	p, err := s.cfg.Page(ctx, address)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &failure{Unreachable, err.Error()}
	}
	u, err := url.Parse(address)
	if err != nil {
		return &failure{Unreachable, err.Error()}
	}
	name := strings.Trim(u.Host+u.Path, "/")
	if u.RawQuery != "" {
		name += "?" + u.RawQuery
	}
	text := p.Text
	if p.Title != "" {
		text = "# " + strings.Join(strings.Fields(p.Title), " ") + "\n\n" + text
	}
	return take(item{name: name, title: p.Title, address: address, size: int64(len(text)), stamp: hashOf(text), text: text})
}

// repository parses the address of a repository.
func repository(address string) (fetch.Source, error) {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return fetch.Source{}, errors.New("want the address of a repository that begins with https://")
	}
	src, err := fetch.Parse(address)
	var refused *skills.Refused
	if errors.As(err, &refused) {
		return src, errors.New(refused.Why)
	}
	if err == nil && src.Repo == "" {
		err = errors.New("this is the address of an archive, not of a repository")
	}
	return src, err
}

// repositoryFiles reads the files of the newest commit, unless it has been read already.
func (s *Service) repositoryFiles(ctx context.Context, src store.Source, take func(item) error) (string, bool, error) {
	repo, err := repository(src.Address)
	if err != nil {
		return "", false, &failure{Unreachable, err.Error()}
	}
	if s.cfg.Git == nil {
		return "", false, &failure{Unreachable, ""}
	}
	commit, err := repo.Files(ctx, s.cfg.Git(), s.cfg.Temp, src.Stamp, func(f fetch.File) error {
		return take(item{name: f.Name, hidden: hidden(f.Name), size: f.Size, stamp: f.Hash, open: func() (*os.File, error) { return s.spill(f) }})
	})
	var refused *skills.Refused
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case errors.As(err, &refused):
		return "", false, &failure{Unreachable, refused.Why}
	}
	return commit, err == nil && commit == src.Stamp, err
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }

// spill writes a file of a repository to a temporary file, which is removed on close.
func (s *Service) spill(from fetch.File) (*os.File, error) {
	in, err := from.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := os.CreateTemp(s.cfg.Temp, ".git-file-*")
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, io.LimitReader(in, maxInput))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}
