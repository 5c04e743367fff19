package clusterstate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/store"
)

const (
	lookEvery = time.Second // polling interval after a failure, or if the server doesn't poll
	lookTime  = 10 * time.Second
	maxDoc    = 16 << 20 // bytes of a document
)

// ErrChanged means that another server changed a document first.
var ErrChanged = store.ErrChanged

// Doc is a document that servers share.
type Doc struct {
	Name    string
	Version int64  // 0 for a row never written
	Body    []byte // nil for a missing row
	Secret  bool   // for Put: it holds secrets, and is refused with ErrNoKey if it can't be sealed
}

// Rows are this server's view of the shared documents. It is safe for concurrent use.
type Rows struct {
	db   *store.DB
	keys Keys
	log  *slog.Logger

	looking sync.Mutex // held while rows are read; taken before mu

	mu      sync.Mutex
	changes int64 // at the last check
	docs    map[string]Doc
	failed  map[string]error    // documents that can't be decrypted
	fresh   map[string]struct{} // changed and not reported yet
	differ  []string            // servers whose configuration differs
	sum     func() string       // returns the checksum of this server's configuration
	heard   []func(names []string) error
	trouble string // last reported error of the listeners

	poked chan struct{}
}

// Open reads all documents. It refuses to when one cannot be opened.
func Open(ctx context.Context, db *store.DB, keys Keys, log *slog.Logger) (*Rows, error) {
	r := &Rows{db: db, keys: keys, log: cmp.Or(log, slog.Default()), docs: map[string]Doc{}, failed: map[string]error{},
		fresh: map[string]struct{}{}, poked: make(chan struct{}, 1)}
	if err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	if err := r.Problem(); err != nil {
		return nil, err
	}
	clear(r.fresh)
	return r, nil
}

// Get returns a document, the zero one with its name if there is none.
func (r *Rows) Get(name string) Doc {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.docs[name]
	d.Name = name
	return d
}

// Names returns the sorted names of existing documents with a prefix.
func (r *Rows) Names(prefix string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for name, d := range r.docs {
		if d.Body != nil && strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Sealing reports whether there is a key, so that secrets can be stored.
func (r *Rows) Sealing() bool { return len(r.keys) > 0 }

// Keys returns this server's keys.
func (r *Rows) Keys() Keys { return r.keys }

// Problem returns the reason why another server's document can't be used here; nil if none. The previous version stays
// in effect.
func (r *Rows) Problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		return r.failed[name]
	}
	return nil
}

// Put replaces documents that still have the given versions, atomically, or returns ErrChanged after loading the newer
// ones. Other servers are notified.
func (r *Rows) Put(ctx context.Context, docs ...Doc) error {
	list := make([]store.Setting, len(docs))
	for i, d := range docs {
		if d.Secret && len(r.keys) == 0 && len(d.Body) > 0 {
			return ErrNoKey
		}
		if len(d.Body) > maxDoc {
			return fmt.Errorf("setting %s has more than %d MiB", d.Name, maxDoc>>20)
		}
		list[i] = store.Setting{Name: d.Name, Version: d.Version}
		if d.Body != nil {
			list[i].Body = r.keys.seal(d.Name, d.Body)
		}
	}
	err := r.db.SwapSettings(ctx, list...)
	if errors.Is(err, ErrChanged) {
		return errors.Join(err, r.Refresh(ctx), r.failedOf(docs))
	}
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range docs {
		d.Version++
		r.keep(d)
	}
	return nil
}

// failedOf returns the reason why one of these documents can't be used here, which prevents replacing it.
func (r *Rows) failedOf(docs []Doc) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range docs {
		if err := r.failed[d.Name]; err != nil {
			return err
		}
	}
	return nil
}

// keep stores a document unless a newer one is known. r.mu is held.
func (r *Rows) keep(d Doc) (newer bool) {
	if d.Version <= r.docs[d.Name].Version {
		return false
	}
	d.Secret = false
	r.docs[d.Name] = d
	delete(r.failed, d.Name)
	return true
}

// Hear calls f with the names of documents that other servers have changed, one call after the other, from Run, and
// again when f fails. It is called before Run is.
func (r *Rows) Hear(f func(names []string) error) { r.heard = append(r.heard, f) }

// Run watches for changes until ctx ends, whenever it is woken; in a cluster the server's polling wakes it too.
func (r *Rows) Run(ctx context.Context) {
	defer r.db.Hear(store.WakeSetting, 0, func(store.Wake) {
		select {
		case r.poked <- struct{}{}:
		default:
		}
	})()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	failing := false
	var compared time.Time
	for {
		if time.Since(compared) > compareEvery {
			compared = time.Now()
			if err := r.compare(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn("couldn't compare configurations with other servers", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.poked:
		case <-tick.C:
			if r.db.Clustered() && !failing && !r.behind() {
				continue
			}
		}
		err := r.lookSoon(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			r.log.Warn("couldn't read settings of other servers", "err", err)
		}
		failing = err != nil
		r.notify()
	}
}

// behind reports whether a change is still to be reported.
func (r *Rows) behind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.fresh) > 0
}

func (r *Rows) lookSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return r.Refresh(ctx)
}

// notify calls the listeners.
func (r *Rows) notify() {
	r.mu.Lock()
	names := slices.Sorted(maps.Keys(r.fresh))
	clear(r.fresh)
	r.mu.Unlock()
	if len(names) == 0 {
		return
	}
	var err error
	for _, f := range r.heard {
		err = errors.Join(err, f(names))
	}
	if err == nil {
		r.trouble = ""
		return
	}
	if now := err.Error(); now != r.trouble {
		r.trouble = now
		r.log.Warn("couldn't apply another server's change; retrying", "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		r.fresh[name] = struct{}{}
	}
}

// Refresh reads the changes of other servers.
func (r *Rows) Refresh(ctx context.Context) error {
	r.looking.Lock()
	defer r.looking.Unlock()
	n, err := r.db.SettingChanges(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	same := n == r.changes
	r.mu.Unlock()
	if same {
		return nil
	}
	versions, err := r.db.SettingVersions(ctx)
	if err != nil {
		return err
	}
	var want []string
	r.mu.Lock()
	for name, version := range versions {
		if version > r.docs[name].Version {
			want = append(want, name)
		}
	}
	r.mu.Unlock()
	rows, err := r.db.Settings(ctx, want...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range rows {
		r.cache(row)
	}
	r.changes = n // read before the rows, so that no change is missed
	return nil
}

// cache caches a row of another server. r.mu is held.
func (r *Rows) cache(row store.Setting) {
	d := Doc{Name: row.Name, Version: row.Version}
	if row.Body != nil {
		body, err := r.keys.open(row.Name, row.Body)
		if err != nil {
			if old := r.failed[row.Name]; old == nil || old.Error() != err.Error() {
				r.log.Error("another server's setting is unusable", "problem", err)
			}
			r.failed[row.Name] = err
			return
		}
		d.Body = body
	}
	if r.keep(d) {
		r.fresh[d.Name] = struct{}{}
	}
}

// Reseal encrypts with the first key everything that isn't, including unencrypted rows, and returns the number of
// documents.
func (r *Rows) Reseal(ctx context.Context) (n int, err error) {
	if len(r.keys) == 0 {
		return 0, ErrNoKey
	}
	versions, err := r.db.SettingVersions(ctx)
	if err != nil {
		return 0, err
	}
	rows, err := r.db.Settings(ctx, slices.Sorted(maps.Keys(versions))...)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if row.Body == nil || r.keys.current(row.Body) {
			continue
		}
		done, err := r.resealOne(ctx, row.Name)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	return n, nil
}

// Renew is Reseal for a start: afterwards the other keys are no longer needed, and nothing is unencrypted.
func (r *Rows) Renew(ctx context.Context) error {
	n, err := r.Reseal(ctx)
	if err == nil && n > 0 {
		r.log.Info("settings encrypted with the first key of "+KeyVariable, "settings", n)
		err = r.Refresh(ctx)
	}
	return err
}

func (r *Rows) resealOne(ctx context.Context, name string) (bool, error) {
	for {
		rows, err := r.db.Settings(ctx, name)
		if err != nil || len(rows) == 0 || rows[0].Body == nil || r.keys.current(rows[0].Body) {
			return false, err
		}
		plain, err := r.keys.open(name, rows[0].Body)
		if err != nil {
			return false, err
		}
		rows[0].Body = r.keys.seal(name, plain)
		if err = r.db.SwapSettings(ctx, rows[0]); !errors.Is(err, ErrChanged) {
			return err == nil, err
		}
	}
}
