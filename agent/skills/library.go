package skills

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fawn/agent/config/extensions"
)

// Options configure the files of a Library.
type Options struct {
	// Path is the folder with public and custom; it may change while the Library is in use.
	Path func() string
	// State is the path of extensions_config.json, which may change too.
	State func() string
	// Extensions stores the switches; nil uses the file at State.
	Extensions func() extensions.Place
	// Push is called with changed custom skills and histories, as paths below Path, before a change completes, to
	// distribute them to other servers. nil without others.
	Push func(units ...string) error
	// Shown is the folder that sandboxes show. The Library owns all that is in it.
	Shown string
	// Bundled holds the program's skills; nil means none. Files with their names take precedence.
	Bundled fs.FS
	// Tool is a program that replaces the files called skilltool in bundled skills; "" keeps them.
	Tool string
	// Bundled are the program's skills; nil for none. Files with the same name take precedence.
	Room func() (bytes int64, known bool)
	// it shows nothing
	Log *slog.Logger
}

func (o Options) place() extensions.Place {
	if o.Extensions != nil {
		return o.Extensions()
	}
	return extensions.File(o.State())
}

// Library manages the skills of an installation. It is safe for concurrent use.
type Library struct {
	o  Options
	mu sync.Mutex // guards the fields below, and the files below custom and Shown

	built []Skill          // the bundled skills, which do not change
	last  scan             // files that all and the folder to show were built from; nil to build them again
	known map[string]Skill // by place
	all   []Skill          // by name
	state map[string]bool
	torn  string            // why the state cannot be read
	reads bool              // shows nothing
	shown map[string]string // folder below Shown to the mark of its content
}

// Open takes over the folder to show and scans the skills for the first time.
func Open(o Options) (*Library, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	l := &Library{o: o, shown: map[string]string{}}
	if err := l.clear(); err != nil {
		return nil, fmt.Errorf("make the folder of skills: %w", err)
	}
	if err := l.sweep(); err != nil {
		return nil, fmt.Errorf("remove half-installed skills: %s", reason(err))
	}
	return l, l.Refresh()
}

// List returns all skills by name, including unusable ones with their findings; of several with one name, only the
// effective one.
func (l *Library) List() ([]Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.refresh()
	return slices.Clone(l.all), err
}

// Get returns the skill of a name, or ErrNotFound.
func (l *Library) Get(name string) (Skill, error) {
	all, err := l.List()
	if err != nil {
		return Skill{}, err
	}
	return pick(all, name)
}

func pick(all []Skill, name string) (Skill, error) {
	i := slices.IndexFunc(all, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, ErrNotFound
	}
	return all[i], nil
}

// SetEnabled switches skills by name, all of them or, with ErrNotFound, none.
func (l *Library) SetEnabled(on map[string]bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return err
	}
	for name := range on {
		if _, err := pick(l.all, name); err != nil {
			return fmt.Errorf("%w: %s", ErrNotFound, clip(name))
		}
	}
	if err := writeState(l.o.place(), on); err != nil {
		return err
	}
	return l.refresh()
}

// Refresh rescans, and updates the folder to show.
func (l *Library) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refresh()
}

func (l *Library) refresh() error {
	l.readState()
	root, err := os.OpenRoot(l.o.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open the folder of skills: %s", reason(err))
	}
	sources := []source{}
	if root != nil {
		defer root.Close()
		for _, c := range []Category{Custom, Public} {
			sub, err := root.OpenRoot(string(c))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("open the folder of %s skills: %s", c, reason(err))
			}
			defer sub.Close()
			sources = append(sources, source{sub.FS(), c, false})
		}
	}
	if l.o.Bundled != nil {
		sources = append(sources, source{l.o.Bundled, Public, true})
	}
	now := scan{state: l.state}
	for _, s := range sources {
		found, err := l.discover(s)
		if err != nil {
			return fmt.Errorf("list %s skills: %s", s.category, reason(err))
		}
		now.found = append(now.found, found)
	}
	if l.last.same(now) { // as before almost every run
		return nil
	}
	l.last = scan{}
	all := []Skill{}
	known := map[string]Skill{}
	from := map[string]fs.FS{}
	for i, s := range sources {
		for _, one := range now.found[i] {
			known[one.place()] = one
			from[one.place()] = s.fsys
			all = append(all, one)
		}
	}
	l.known, l.all = known, l.settle(all)
	if l.reads {
		l.last = now
		return nil
	}
	whole, err := l.show(from)
	if whole && err == nil { // otherwise it is tried again
		l.last = now
	}
	return err
}

// scan is the result of one scan: the skills of each source, and the switches.
type scan struct {
	found [][]Skill
	state map[string]bool
}

// same reports whether two scans found the same.
func (s scan) same(o scan) bool {
	return s.found != nil && maps.Equal(s.state, o.state) && (s.state == nil) == (o.state == nil) &&
		slices.EqualFunc(s.found, o.found, func(a, b []Skill) bool {
			return slices.EqualFunc(a, b, func(a, b Skill) bool {
				return a.mark != "" && a.mark == b.mark && a.Folder == b.Folder && a.Category == b.Category && a.Bundled == b.Bundled
			})
		})
}

// discover finds the skills of a source; those bundled with the program only once.
func (l *Library) discover(s source) ([]Skill, error) {
	if s.bundled && l.built != nil {
		return l.built, nil
	}
	found, err := s.discover(l.known)
	if s.bundled {
		l.built = found
	}
	return found, err
}

// readState keeps the last state while the file cannot be read; without one, nothing is on.
func (l *Library) readState() {
	state, err := readState(l.o.place())
	switch {
	case err == nil:
		l.state, l.torn = state, ""
		if l.state == nil {
			l.state = map[string]bool{}
		}
	case l.torn != err.Error():
		l.torn = err.Error()
		l.o.Log.Warn("couldn't read the skill switches; keeping the previous ones", "problem", l.torn)
	}
}

// settle keeps one skill per name and folder: earlier sources win, and within a source usable ones, then the first by
// folder.
func (l *Library) settle(all []Skill) []Skill {
	slices.SortStableFunc(all, func(a, b Skill) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Folder, b.Folder))
	})
	names, places := map[string]bool{}, map[string]bool{}
	out := all[:0]
	for _, s := range all {
		place := string(s.Category) + "/" + s.Folder
		if names[s.Name] || places[place] {
			continue
		}
		names[s.Name], places[place] = true, true
		on, said := l.state[s.Name]
		s.Enabled = l.state != nil && (on || !said)
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// rank orders skills of one name.
func rank(s Skill) int {
	n := 0
	if s.Category != Custom {
		n += 4
	}
	if s.Bundled {
		n += 2
	}
	if !s.Usable() {
		n++
	}
	return n
}

// Enabled returns the skills that agents may use, by name. allowed are the only names that count; nil allows all.
func (l *Library) Enabled(allowed []string) ([]Skill, error) {
	all, err := l.List()
	return slices.DeleteFunc(all, func(s Skill) bool {
		return !s.Enabled || !s.Usable() || allowed != nil && !slices.Contains(allowed, s.Name)
	}), err
}

// DefaultPath returns the folder of skills in a data folder.
func DefaultPath(data string) string { return filepath.Join(data, "skills") }

// ShownPath returns the folder that sandboxes show, in a data folder.
func ShownPath(data string) string { return filepath.Join(data, "skills-shown") }

// Units returns the custom skills and histories in a folder of skills, as paths below it.
func Units(folder string) (list []string) {
	for _, at := range []string{string(Custom), string(Custom) + "/" + history} {
		entries, err := os.ReadDir(filepath.Join(folder, filepath.FromSlash(at)))
		if err != nil {
			continue // it doesn't exist
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				list = append(list, path.Join(at, e.Name()))
			}
		}
	}
	return list
}

// Sync calls pull, which applies changes of other servers, and rescans.
func (l *Library) Sync(pull func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(pull(), l.refresh())
}

// changed pushes the folder of a custom skill and, with a name, its history.
func (l *Library) changed(folder, name string) error {
	if l.o.Push == nil {
		return nil
	}
	top, _, _ := strings.Cut(folder, "/")
	units := []string{path.Join(string(Custom), top)}
	if name != "" {
		units = append(units, path.Join(string(Custom), history, name+".jsonl"))
	}
	return l.o.Push(units...)
}
