package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fawn/agent/clusterstate"
	"fawn/agent/config/syntax"
)

// pollEvery is the interval at which Watch checks the files. Unlike notifications, polling works on every file system,
// on bind mounts and across renames.
const pollEvery = 2 * time.Second

// Store holds the current Snapshot and replaces it when the files change.
type Store struct {
	opts  Options
	log   *slog.Logger
	fixed bool
	boot  *Snapshot
	rows  *clusterstate.Rows // shared rows, nil without other servers; set before concurrent use

	current atomic.Pointer[Snapshot]
	problem atomic.Pointer[string]
	restart atomic.Pointer[string]

	mu      sync.Mutex // held while polling; guards the fields below
	files   []seen
	gone    bool // the configuration file was missing at the last poll
	emptied bool // it had become empty

	editing sync.Mutex // held while settings are written; taken before mu
}

// Open loads the configuration and returns a Store for it. Later changes are read by Watch or Poll only. Errors are
// those of Load. A nil log means slog.Default.
func Open(o Options, log *slog.Logger) (*Store, error) {
	snapshot, files, err := load(o)
	if err != nil {
		return nil, err
	}
	s := Fixed(snapshot)
	s.opts, s.files, s.fixed = o, files, false
	if log != nil {
		s.log = log
	}
	return s, nil
}

// Fixed returns a Store that always holds this snapshot.
func Fixed(snapshot *Snapshot) *Store {
	s := &Store{log: slog.Default(), fixed: true, boot: snapshot}
	s.current.Store(snapshot)
	return s
}

// Current returns the newest valid snapshot. It never blocks and never returns nil.
func (s *Store) Current() *Snapshot { return s.current.Load() }

// Problem explains why the files as they are now are not in force; empty = they are.
func (s *Store) Problem() string {
	if s.rows != nil {
		if err := s.rows.Problem(); err != nil {
			return err.Error()
		}
	}
	return text(&s.problem)
}

// Restart names the keys that were changed but take effect at the next start only; empty = none.
func (s *Store) Restart() string { return text(&s.restart) }

func text(p *atomic.Pointer[string]) string {
	if t := p.Load(); t != nil {
		return *t
	}
	return ""
}

// Watch polls until ctx ends and then returns nil. The caller waits for it.
func (s *Store) Watch(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.Poll()
		}
	}
}

// Poll checks the files once and reports whether a new snapshot is in force. Call it after writing a file to apply the
// change at once. It is safe for concurrent use.
func (s *Store) Poll() bool {
	if s.fixed {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	back := s.gone
	if !s.changed() && !back && !s.outdated() || s.vanished() {
		return false
	}
	next, files, err := load(s.loading())
	s.remember(files)
	if err != nil {
		s.setProblem(KeptLastGood + err.Error())
		return false
	}
	s.setProblem("")
	s.current.Store(next)
	restart := strings.Join(restartChanges(s.boot.File, next.File), ", ")
	s.restart.Store(&restart)
	s.log.Info("configuration reloaded", "config", next.ConfigPath, "warnings", len(next.Warnings),
		"needs_restart", restart)
	return true
}

// KeptLastGood starts the problem reported when a changed file is unusable.
const KeptLastGood = "the configuration changed but can't be used; the last valid one stays in effect: "

func (s *Store) setProblem(message string) {
	if old := text(&s.problem); old == message {
		return
	}
	s.problem.Store(&message)
	if message != "" {
		s.log.Warn("configuration not reloaded", "problem", message)
	}
}

// changed reports whether a file differs from its last observed state, or a file with higher precedence appeared.
func (s *Store) changed() bool {
	cur := s.Current()
	if path, ok := find(s.opts.Config, cur.DataDir, cur.env.real); ok && path != cur.ConfigPath {
		return true
	}
	if findExtensions(cur.ConfigPath, cur.DataDir,
		func(name string) (string, bool) { return cur.Env(name) }) != cur.ExtensionsPath {
		return true
	}
	any := false
	for i := range s.files {
		if s.files[i].changed() {
			any = true
		}
	}
	return any
}

// vanished reports whether the configuration file is missing, or empty for the first time: editors
// do both for a moment while they save. A file that stays empty is taken at the next poll.
func (s *Store) vanished() bool {
	cur := s.Current()
	if cur.ConfigPath == "" {
		return false
	}
	if path, ok := find(s.opts.Config, cur.DataDir, cur.env.real); ok && path != cur.ConfigPath {
		return false
	}
	now, _, err := readSeen(cur.ConfigPath)
	if s.gone = errors.Is(err, fs.ErrNotExist); s.gone {
		s.setProblem(fmt.Sprintf("%s is missing; the last valid configuration stays in effect", cur.ConfigPath))
		return true
	}
	empty := err == nil && now.size == 0
	for _, f := range s.files {
		empty = empty && (f.path != cur.ConfigPath || f.size > 0)
	}
	first := empty && !s.emptied
	s.emptied = empty
	return first
}

// remember stores the observed files and keeps the old state of those not reached this time.
func (s *Store) remember(files []seen) {
	for _, old := range s.files {
		known := false
		for _, f := range files {
			known = known || f.path == old.path
		}
		if !known {
			files = append(files, old)
		}
	}
	s.files = files
}

// RestartKeys lists the keys of config.yaml that take effect at the next start only.
func RestartKeys() []string {
	var keys []string
	restartFields(reflect.TypeFor[File](), "", func(path string, _ []int) { keys = append(keys, path) })
	return keys
}

func restartFields(t reflect.Type, path string, yield func(path string, index []int)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		if f.Tag.Get("reload") == "restart" {
			yield(syntax.Join(path, name), []int{i})
		} else if f.Type.Kind() == reflect.Struct {
			restartFields(f.Type, syntax.Join(path, name), func(p string, index []int) {
				yield(p, append([]int{i}, index...))
			})
		}
	}
}

func restartChanges(old, next File) []string {
	var keys []string
	a, b := reflect.ValueOf(old), reflect.ValueOf(next)
	restartFields(a.Type(), "", func(path string, index []int) {
		if !reflect.DeepEqual(a.FieldByIndex(index).Interface(), b.FieldByIndex(index).Interface()) {
			keys = append(keys, path)
		}
	})
	return keys
}
