package profile

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of the files.
const (
	configName = "config.yaml"
	soulName   = "SOUL.md"
	userName   = "USER.md"
)

// Library manages the custom agents in a data folder. It is safe for concurrent use.
type Library struct {
	root  *os.Root
	first string     // owner whose files may also be at the top of the data folder
	mu    sync.Mutex // held while files change
	push  func(units ...string) error
}

// Open opens the agents below the data folder at root, which must exist. first is the owner of the installation.
// Leftovers of a killed process are removed.
func Open(root, first string) (*Library, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open the folder of custom agents: %w", err)
	}
	l := &Library{root: r, first: first}
	l.sweep()
	return l, nil
}

// Close closes the folder.
func (l *Library) Close() error { return l.root.Close() }

// home returns an owner's folder. Names that aren't plain file names, or differ from another's only in case, get a
// digest.
func home(owner string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, owner)
	if clean != owner || owner == "" || len(owner) > 64 {
		sum := sha256.Sum256([]byte(owner))
		clean = clean[:min(len(clean), 40)] + "-" + hex.EncodeToString(sum[:8])
	}
	return path.Join("users", clean)
}

// shelves returns the folders with an owner's agents, the one for new agents first.
func (l *Library) shelves(owner string) []string {
	all := []string{path.Join(home(owner), "agents")}
	if owner == l.first {
		all = append(all, "agents") // DeerFlow's location before it had accounts
	}
	return all
}

// Entry is an agent of a list. Err is the reason why its files can't be read; then only the name is valid.
type Entry struct {
	Agent
	Err error
}

// List returns the agents of an owner by name.
func (l *Library) List(owner string) ([]Entry, error) {
	names, err := l.names(owner)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, name := range names {
		a, err := l.Get(owner, name)
		if errors.Is(err, ErrNotFound) {
			continue // deleted meanwhile
		}
		a.Name = name
		out = append(out, Entry{a, err})
	}
	return out, nil
}

// names returns the sorted folder names of an owner's agents, at most MaxAgents.
func (l *Library) names(owner string) ([]string, error) {
	var out []string
	for _, shelf := range l.shelves(owner) {
		dir, err := l.root.Open(shelf)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list custom agents: %w", err)
		}
		list, err := dir.ReadDir(4 * MaxAgents)
		dir.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("list custom agents: %w", err)
		}
		for _, e := range list {
			if name, err := Name(e.Name()); err == nil && name == e.Name() && e.IsDir() {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), MaxAgents)], nil
}

// find returns the folder of an agent, or ErrNotFound.
func (l *Library) find(owner, name string) (string, error) {
	if n, err := Name(name); err != nil || n != name {
		return "", ErrNotFound
	}
	for _, shelf := range l.shelves(owner) {
		dir := path.Join(shelf, name)
		if info, err := l.root.Lstat(dir); err == nil && info.IsDir() {
			return dir, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for a custom agent: %w", err)
		}
	}
	return "", ErrNotFound
}

// Has reports whether there is an agent with that name, readable or not.
func (l *Library) Has(owner, name string) bool {
	_, err := l.find(owner, name)
	return err == nil
}

// Get reads an agent. An *Invalid means that one of its files must be corrected.
func (l *Library) Get(owner, name string) (Agent, error) {
	a, _, err := l.read(owner, name)
	return a, err
}

// Config returns the text of an agent's config.yaml, even if it can't be parsed.
func (l *Library) Config(owner, name string) (string, error) {
	dir, err := l.find(owner, name)
	if err != nil {
		return "", err
	}
	b, _, err := l.file(path.Join(dir, configName), MaxConfig)
	return string(b), err
}

func (l *Library) read(owner, name string) (Agent, string, error) {
	dir, err := l.find(owner, name)
	if err != nil {
		return Agent{Name: name}, "", err
	}
	config, changed, err := l.file(path.Join(dir, configName), MaxConfig)
	if err != nil {
		return Agent{Name: name}, dir, err
	}
	soul, later, err := l.file(path.Join(dir, soulName), MaxSoul)
	if err != nil {
		return Agent{Name: name}, dir, err
	}
	if config == nil && soul == nil {
		return Agent{Name: name}, dir, invalid("config", "there is neither a config.yaml nor a SOUL.md")
	}
	a, err := parse(config)
	a.Name, a.Soul, a.Changed = name, string(soul), changed // the folder's name counts
	if later.After(changed) {
		a.Changed = later
	}
	if err == nil {
		err = a.Check()
	}
	return a, dir, err
}

// file reads a file of at most limit bytes; nil if there is none.
func (l *Library) file(at string, limit int64) (b []byte, changed time.Time, err error) {
	info, err := l.root.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, changed, nil
	}
	name := path.Base(at)
	if err == nil && !info.Mode().IsRegular() {
		return nil, changed, invalid(fieldOf(name), "%s is not a plain file", name)
	}
	var f *os.File
	if err == nil {
		f, err = l.root.Open(at)
	}
	if err != nil {
		return nil, changed, invalid(fieldOf(name), "%s can't be read: %s", name, reason(err))
	}
	defer f.Close()
	b, err = io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, changed, invalid(fieldOf(name), "%s can't be read: %s", name, reason(err))
	case int64(len(b)) > limit:
		return nil, changed, invalid(fieldOf(name), "%s is larger than %d KiB", name, limit>>10)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if err := checkText(fieldOf(name), string(b)); err != nil && limit == MaxSoul {
		return nil, changed, err
	}
	if b == nil {
		b = []byte{}
	}
	return b, info.ModTime(), nil
}

func fieldOf(name string) string {
	return map[string]string{configName: "config", soulName: "soul", userName: "content"}[name]
}

// reason returns an error of the file system without the paths of this machine.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Create writes a new agent.
func (l *Library) Create(owner string, a Agent) error {
	config, err := encode(nil, a)
	if err != nil {
		return err
	}
	return l.create(owner, a, config)
}

// create creates an agent's folder under a temporary name, and renames it when it is complete.
func (l *Library) create(owner string, a Agent, config []byte) error {
	if err := a.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Has(owner, a.Name) {
		return ErrExists
	}
	names, err := l.names(owner)
	if err != nil {
		return err
	}
	if len(names) >= MaxAgents {
		return ErrFull
	}
	shelf := l.shelves(owner)[0]
	if err := l.root.MkdirAll(shelf, 0o700); err != nil {
		return fmt.Errorf("make the folder of custom agents: %w", err)
	}
	temp := path.Join(shelf, "."+a.Name+"."+rand.Text())
	err = l.root.Mkdir(temp, 0o700)
	if err == nil {
		err = l.write(path.Join(temp, configName), config)
	}
	if err == nil {
		err = l.write(path.Join(temp, soulName), []byte(a.Soul))
	}
	if err == nil {
		err = l.root.Rename(temp, path.Join(shelf, a.Name))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write a custom agent: %w", err), l.root.RemoveAll(temp))
	}
	return l.changed(path.Join(shelf, a.Name))
}

// write replaces a file atomically.
func (l *Library) write(at string, data []byte) error {
	temp := path.Join(path.Dir(at), "."+path.Base(at)+"."+rand.Text())
	f, err := l.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = l.root.Rename(temp, at)
	}
	if err != nil {
		return errors.Join(err, l.root.Remove(temp))
	}
	return nil
}

// Change applies f to an agent and writes the result.
func (l *Library) Change(owner, name string, f func(*Agent) error) (Agent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, dir, err := l.read(owner, name)
	if err != nil {
		return a, err
	}
	soul := a.Soul
	if err := f(&a); err != nil {
		return a, err
	}
	if err := a.Check(); err != nil {
		return a, err
	}
	old, _, err := l.file(path.Join(dir, configName), MaxConfig)
	if err != nil {
		return a, err
	}
	config, err := encode(old, a)
	if err != nil {
		return a, err
	}
	if !bytes.Equal(config, old) {
		err = l.write(path.Join(dir, configName), config)
	}
	if err == nil && a.Soul != soul {
		err = l.write(path.Join(dir, soulName), []byte(a.Soul))
	}
	if err != nil {
		return a, fmt.Errorf("write a custom agent: %w", err)
	}
	if err := l.changed(dir); err != nil {
		return a, err
	}
	a, _, err = l.read(owner, name)
	return a, err
}

// Rewrite replaces both files of an agent, even if they can't be parsed.
func (l *Library) Rewrite(owner, name, config, soul string) error {
	a, err := parse([]byte(config))
	if err != nil {
		return err
	}
	a.Name, a.Soul = name, soul
	if err := a.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	dir, err := l.find(owner, name)
	if err != nil {
		return err
	}
	if err = l.write(path.Join(dir, configName), []byte(config)); err == nil {
		err = l.write(path.Join(dir, soulName), []byte(soul))
	}
	if err != nil {
		return fmt.Errorf("write a custom agent: %w", err)
	}
	return l.changed(dir)
}

// Delete removes an agent with all that is in its folder.
func (l *Library) Delete(owner, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	dir, err := l.find(owner, name)
	if err != nil {
		return err
	}
	gone := path.Join(path.Dir(dir), "."+name+"."+rand.Text())
	if err := l.root.Rename(dir, gone); err != nil {
		return fmt.Errorf("delete a custom agent: %w", err)
	}
	if err := l.root.RemoveAll(gone); err != nil {
		return fmt.Errorf("delete a custom agent: %w", err)
	}
	return l.changed(dir)
}

// Remove deletes an owner's agents, profile and folder.
func (l *Library) Remove(owner string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var gone []string
	for _, unit := range l.units() {
		for _, at := range append(l.shelves(owner), l.userFile(owner), home(owner)) {
			if unit == at || strings.HasPrefix(unit, at+"/") {
				gone = append(gone, unit)
				break
			}
		}
	}
	for _, at := range append(l.shelves(owner), l.userFile(owner), home(owner)) {
		if err := l.root.RemoveAll(at); err != nil {
			return fmt.Errorf("delete the folder of a user: %w", err)
		}
	}
	return l.changed(gone...)
}

// unfinished are temporary names used by create, write and Delete.
var unfinished = regexp.MustCompile(`^\.(.+)\.[A-Z2-7]{26}$`)

// sweep removes leftovers of a killed process. Those that can't be removed stay; no list shows them.
func (l *Library) sweep() {
	for _, folder := range []string{".", "agents", "agents/*", "users/*", "users/*/agents", "users/*/agents/*"} {
		found, err := fs.Glob(l.root.FS(), path.Join(folder, ".*.*"))
		if err != nil { // only invalid patterns fail
			continue
		}
		for _, at := range found {
			m := unfinished.FindStringSubmatch(path.Base(at))
			if m == nil {
				continue
			}
			_, err := Name(m[1])
			if ours := slices.Contains([]string{configName, soulName, userName}, m[1]); ours ||
				err == nil && path.Base(path.Dir(at)) == "agents" {
				_ = l.root.RemoveAll(at)
			}
		}
	}
}

// Units returns the existing agents and texts, each as the path of its folder or file in the data folder.
func (l *Library) Units() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.units()
}

func (l *Library) units() (list []string) {
	for _, pattern := range []string{"agents/*", "users/*/agents/*", "users/*/" + userName, userName, soulName} {
		found, err := fs.Glob(l.root.FS(), pattern)
		if err != nil { // only invalid patterns fail
			continue
		}
		for _, at := range found {
			if !strings.HasPrefix(path.Base(at), ".") {
				list = append(list, at)
			}
		}
	}
	slices.Sort(list)
	return list
}

// Share sets push to be called with changed units before a change completes, to distribute them to other servers. A
// change returns push's error.
func (l *Library) Share(push func(units ...string) error) { l.push = push }

// Sync calls pull, which applies changes of other servers, while nothing changes here.
func (l *Library) Sync(pull func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return pull()
}

func (l *Library) changed(units ...string) error {
	if l.push == nil || len(units) == 0 {
		return nil
	}
	return l.push(units...)
}

// Soul returns the SOUL.md of the lead agent, "" if there is none.
func (l *Library) Soul() (string, error) {
	b, _, err := l.file(soulName, MaxSoul)
	return string(b), err
}

// SetSoul writes the SOUL.md of the lead agent. All owners share it, so only the installation's owner may.
func (l *Library) SetSoul(owner, text string) error {
	if owner != l.first {
		return invalid("soul", "only whoever runs this installation can change the lead agent")
	}
	return l.setText(soulName, "soul", text)
}

// User returns the USER.md of an owner, their description of themselves.
func (l *Library) User(owner string) (string, error) {
	b, _, err := l.file(l.userFile(owner), MaxSoul)
	return string(b), err
}

// SetUser writes the USER.md of an owner.
func (l *Library) SetUser(owner, text string) error {
	return l.setText(l.userFile(owner), "content", text)
}

// userFile returns the path of USER.md; the installation's owner has it at the top of the data folder.
func (l *Library) userFile(owner string) string {
	if owner == l.first {
		return userName
	}
	return path.Join(home(owner), userName)
}

func (l *Library) setText(at, field, text string) error {
	if err := checkText(field, text); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.root.MkdirAll(path.Dir(at), 0o700); err != nil {
		return fmt.Errorf("make a folder for %s: %w", path.Base(at), err)
	}
	if err := l.write(at, []byte(text)); err != nil {
		return fmt.Errorf("write %s: %w", path.Base(at), err)
	}
	return l.changed(at)
}
