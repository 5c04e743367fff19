package fetch

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"fawn/agent/skills"
)

// objectCache limits the memory for a repository's objects, in bytes.
const objectCache = 16 << 20

// clone writes the archive of a skill in a repository: its newest commit is fetched, nothing older.
func (s Source) clone(ctx context.Context, client *http.Client, temp string, out io.Writer) error {
	dir, err := os.MkdirTemp(temp, ".git-*")
	if err != nil {
		return fmt.Errorf("make a folder for a repository: %w", err)
	}
	err = s.cloneIn(ctx, client, dir, out)
	return errors.Join(err, os.RemoveAll(dir))
}

func (s Source) cloneIn(ctx context.Context, client *http.Client, dir string, out io.Writer) error {
	c, err := s.checkOut(ctx, client, dir, "")
	if err != nil {
		return err
	}
	defer c.close()
	tree, err := skillIn(ctx, c.tree, c.folder)
	if err != nil {
		return err
	}
	return archiveTree(ctx, tree, out)
}

// checkout is a commit with its objects.
type checkout struct {
	commit plumbing.Hash
	folder string       // named by the source
	tree   *object.Tree // nil if the commit is known
	close  func()
}

// checkOut fetches the objects of the commit that a source names into a folder, unless it is the known one.
func (s Source) checkOut(ctx context.Context, client *http.Client, dir, known string) (c checkout, err error) {
	c.close = func() {}
	at, err := transport.NewEndpoint(s.Repo)
	if err != nil {
		return c, refuse("the address of the repository is not valid")
	}
	session, err := githttp.NewClient(client).NewUploadPackSession(at, nil)
	if err != nil {
		return c, unreachable(err)
	}
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return c, notRepository(err)
	}
	if c.commit, c.folder, err = s.find(refs); err != nil || c.commit.String() == known {
		return c, err
	}
	pack, err := fetchPack(ctx, session, refs, c.commit, dir)
	if err != nil {
		return c, err
	}
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(objectCache))
	c.close = func() {
		store.Close()
		pack.Close()
	}
	if err = packfile.UpdateObjectStorage(store, pack); err == nil {
		c.tree, err = treeOf(store, c.commit)
	}
	if err != nil {
		c.close()
		return c, refuse("the repository cannot be read: %s", shorten(err.Error()))
	}
	return c, nil
}

// File is a file of a repository.
type File struct {
	Name string // below the folder that the source names, with slashes
	Size int64
	Hash string // hash of its content
	Open func() (io.ReadCloser, error)
}

// Files calls visit with each plain file of the commit that a source names, and returns the commit. It fetches and visits
// nothing if the commit is the known one.
func (s Source) Files(ctx context.Context, client *http.Client, temp, known string, visit func(File) error) (
	commit string, err error) {
	dir, err := os.MkdirTemp(temp, ".git-*")
	if err != nil {
		return "", fmt.Errorf("make a folder for a repository: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := s.checkOut(ctx, client, dir, known)
	if err != nil {
		return "", err
	}
	defer c.close()
	tree := c.tree
	if tree == nil {
		return known, nil
	}
	if c.folder != "" {
		if tree, err = tree.Tree(c.folder); err != nil {
			return "", refuse("the repository has no folder %s", shorten(c.folder))
		}
	}
	err = walk(ctx, tree, func(name string, e object.TreeEntry) error {
		if e.Mode == filemode.Dir || e.Mode == filemode.Symlink || e.Mode == filemode.Submodule {
			return nil
		}
		f, err := tree.TreeEntryFile(&e)
		if err != nil {
			return refuse("%s cannot be read from the repository", shorten(name))
		}
		return visit(File{Name: name, Size: f.Size, Hash: f.Hash.String(), Open: f.Reader})
	})
	return c.commit.String(), err
}

// notRepository explains why a repository does not answer.
func notRepository(err error) error {
	switch {
	case errors.Is(err, transport.ErrRepositoryNotFound), errors.Is(err, transport.ErrAuthenticationRequired),
		errors.Is(err, transport.ErrAuthorizationFailed):
		return refuse("there is no public git repository at the address")
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return refuse("the repository is empty")
	}
	return unreachable(err)
}

// find returns the commit that a source names, and the folder in it.
func (s Source) find(refs *packp.AdvRefs) (plumbing.Hash, string, error) {
	if s.tree != "" {
		parts := strings.Split(s.tree, "/")
		for n := len(parts); n > 0; n-- { // branch names may contain slashes: the longest match counts
			if hash, ok := lookUp(refs, strings.Join(parts[:n], "/")); ok {
				return hash, strings.Join(parts[n:], "/"), nil
			}
		}
		if plumbing.IsHash(parts[0]) {
			return plumbing.NewHash(parts[0]), strings.Join(parts[1:], "/"), nil
		}
		return plumbing.ZeroHash, "", refuse("the repository has no branch or tag called %s", shorten(parts[0]))
	}
	switch hash, ok := lookUp(refs, s.Ref); {
	case ok:
		return hash, s.Folder, nil
	case plumbing.IsHash(s.Ref):
		return plumbing.NewHash(s.Ref), s.Folder, nil
	case s.Ref == "":
		return plumbing.ZeroHash, "", refuse("the repository is empty")
	}
	return plumbing.ZeroHash, "", refuse("the repository has no branch or tag called %s", shorten(s.Ref))
}

// lookUp returns the commit of a branch or tag; "" is HEAD.
func lookUp(refs *packp.AdvRefs, name string) (plumbing.Hash, bool) {
	if name == "" {
		if refs.Head == nil {
			return plumbing.ZeroHash, false
		}
		return *refs.Head, true
	}
	for _, full := range []string{"refs/heads/" + name, "refs/tags/" + name} {
		if hash, ok := refs.Peeled[full]; ok {
			return hash, true
		}
		if hash, ok := refs.References[full]; ok {
			return hash, true
		}
	}
	return plumbing.ZeroHash, false
}

// fetchPack stores the objects of one commit in a file, and checks their sizes before unpacking any.
func fetchPack(ctx context.Context, session transport.UploadPackSession, refs *packp.AdvRefs, commit plumbing.Hash,
	dir string) (*os.File, error) {
	req := packp.NewUploadPackRequest()
	req.Wants = []plumbing.Hash{commit}
	caps := []capability.Capability{capability.OFSDelta}
	if refs.Capabilities.Supports(capability.Shallow) {
		caps = append(caps, capability.Shallow)
		req.Depth = packp.DepthCommits(1)
	}
	for _, c := range caps {
		if err := req.Capabilities.Set(c); err != nil {
			return nil, fmt.Errorf("ask for a repository: %w", err)
		}
	}
	resp, err := session.UploadPack(ctx, req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer resp.Close()
	f, err := os.CreateTemp(dir, "pack-*")
	if err != nil {
		return nil, fmt.Errorf("keep a repository: %w", err)
	}
	source := &failing{r: resp}
	_, err = io.Copy(f, source)
	switch {
	case source.err != nil:
		err = unreachable(source.err)
	case err == nil:
		err = weigh(f)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func treeOf(store *filesystem.Storage, commit plumbing.Hash) (*object.Tree, error) {
	c, err := object.GetCommit(store, commit)
	if err != nil {
		return nil, err
	}
	return c.Tree()
}

// walk calls visit with each entry below a tree until it returns an error. A few objects can produce any number of
// entries, since a tree may occur in many places: entries are limited like objects.
func walk(ctx context.Context, tree *object.Tree, visit func(name string, e object.TreeEntry) error) error {
	w := object.NewTreeWalker(tree, true, nil)
	defer w.Close()
	for n := 0; ; n++ {
		name, e, err := w.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return refuse("the repository cannot be read: %s", shorten(err.Error()))
		case ctx.Err() != nil:
			return ctx.Err()
		case n >= maxObjects:
			return errHeavy
		}
		if err := visit(name, e); err != nil {
			return err
		}
	}
}

// skillIn returns the folder of the skill: the one named or, without a name, the only one.
func skillIn(ctx context.Context, tree *object.Tree, folder string) (*object.Tree, error) {
	if folder != "" {
		sub, err := tree.Tree(folder)
		if err != nil {
			return nil, refuse("the repository has no folder %s", shorten(folder))
		}
		tree = sub
	}
	if _, err := tree.FindEntry(skills.File); err == nil {
		return tree, nil
	}
	var found []string
	err := walk(ctx, tree, func(name string, e object.TreeEntry) error {
		if path.Base(name) == skills.File && e.Mode.IsFile() {
			found = append(found, path.Join(folder, path.Dir(name)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 0:
		return nil, refuse("the repository has no %s there", skills.File)
	case 1:
		return tree.Tree(strings.TrimPrefix(strings.TrimPrefix(found[0], folder), "/"))
	}
	slices.Sort(found)
	more := ""
	if n := len(found) - 20; n > 0 {
		found, more = found[:20], fmt.Sprintf(" and %d more", n)
	}
	return nil, refuse("the repository has several skills; add the folder of one to the address, as in #main:%s. It has %s%s",
		found[0], shortenTo(strings.Join(found, ", "), 800), more)
}

// archiveTree writes the files of a folder. Links are included, so that the Library can report them.
func archiveTree(ctx context.Context, tree *object.Tree, out io.Writer) error {
	z := zip.NewWriter(out)
	files := 0
	err := walk(ctx, tree, func(name string, e object.TreeEntry) error {
		if e.Mode == filemode.Dir || e.Mode == filemode.Submodule {
			return nil
		}
		if files++; files > maxFiles {
			return refuse("the folder holds more than %d files", maxFiles)
		}
		f, err := tree.TreeEntryFile(&e)
		if err != nil {
			return refuse("%s cannot be read from the repository", shorten(name))
		}
		mode := fs.FileMode(0o644)
		switch e.Mode {
		case filemode.Executable:
			mode = 0o755
		case filemode.Symlink:
			mode = fs.ModeSymlink | 0o777
		}
		in, err := f.Reader()
		if err != nil {
			return refuse("%s cannot be read from the repository", shorten(name))
		}
		defer in.Close()
		return addFile(z, name, mode, in)
	})
	if err != nil {
		return fmt.Errorf("pack a skill: %w", err)
	}
	return z.Close()
}
