package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fawn/store"
)

// Spaces of database values. Those keyed by thread are deleted with their thread.
const (
	fileSpace    = "memory_file"    // of an owner: the hash of the imported memory.json
	lessonSpace  = "thread_lesson"  // by thread: the pending lesson
	learnedSpace = "thread_learned" // by thread: id of the last message learned from
	offSpace     = "thread_memory"  // by thread: memory is off
	mutedSpace   = "memory_switch"  // by owner: memory is off in all threads
	mutedKey     = "off"
)

// now returns the moment as the database keeps it.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// Document returns an owner's memory.
func (s *Service) Document(ctx context.Context, owner string) (Document, error) {
	b, err := s.snapshot(ctx, owner)
	if err != nil {
		return Document{}, err
	}
	return b.document(), nil
}

// All returns the facts of an owner, whichever agent's they are.
func (s *Service) All(ctx context.Context, owner string) ([]Fact, error) {
	b, err := s.snapshot(ctx, owner)
	if err != nil {
		return nil, err
	}
	return slices.Clone(b.facts), nil
}

// At is the expected revision for a change; 0 accepts any.
type At int64

func (at At) check(revision int64) error {
	if at != 0 && int64(at) != revision {
		return fmt.Errorf("%w: it is at revision %d, not %d", ErrChanged, revision, at)
	}
	return nil
}

// Add stores a fact of the lead agent, entered by hand. Errors: ErrDuplicate, ErrEvicted, ErrChanged, *DocumentError.
func (s *Service) Add(ctx context.Context, owner string, at At, f Fact) (Document, error) {
	f.ID, f.Source, f.Created = newID(), Manual, s.now()
	f.Updated = f.Created
	if err := f.check(); err != nil {
		return Document{}, err
	}
	return s.edit(ctx, owner, at, func(b *snapshot) error {
		if b.same("", f.Content) >= 0 {
			return ErrDuplicate
		}
		b.facts = append(b.facts, f)
		if b.trim("", s.Rules().MaxFacts); b.find("", f.ID) < 0 {
			return ErrEvicted
		}
		return nil
	})
}

// Edit is a change of a fact; nil keeps.
type Edit struct {
	Content, Category *string
	Confidence        *float64
	Revision          int64 // revision last seen by the caller; 0 accepts any
}

// Change changes a fact of the lead agent's. Errors: ErrNotFound, ErrDuplicate, ErrChanged,
// *DocumentError.
func (s *Service) Change(ctx context.Context, owner string, at At, id string, e Edit) (Document, error) {
	return s.edit(ctx, owner, at, func(b *snapshot) error {
		i := b.find("", id)
		if i < 0 {
			return ErrNotFound
		}
		f := b.facts[i]
		if e.Revision != 0 && e.Revision != f.Revision {
			return fmt.Errorf("%w: the fact is at revision %d, not %d", ErrChanged, f.Revision, e.Revision)
		}
		if e.Content != nil {
			f.Content = *e.Content
		}
		if e.Category != nil {
			f.Category = *e.Category
		}
		if e.Confidence != nil {
			f.Confidence = *e.Confidence
		}
		if err := f.check(); err != nil {
			return err
		}
		if j := b.same("", f.Content); j >= 0 && j != i {
			return ErrDuplicate
		}
		f.Updated = s.now()
		b.facts[i] = f
		return nil
	})
}

// Delete forgets a fact of the lead agent's. Errors: ErrNotFound, ErrChanged.
func (s *Service) Delete(ctx context.Context, owner string, at At, id string) (Document, error) {
	return s.edit(ctx, owner, at, func(b *snapshot) error {
		i := b.find("", id)
		if i < 0 {
			return ErrNotFound
		}
		b.remove(i)
		return nil
	})
}

// Clear deletes an owner's memory of all agents and the pending lessons for it. Other memories taught by the same
// person's threads stay, with their pending lessons.
func (s *Service) Clear(ctx context.Context, owner string, at At) (Document, error) {
	lessons, err := s.lessons(ctx)
	if err != nil {
		return Document{}, err
	}
	with := also{undo: true}
	for _, l := range lessons {
		learner, err := s.Learner(ctx, l.Owner, l.Thread)
		if err != nil {
			return Document{}, err
		}
		if learner == owner {
			with.put = append(with.put, store.KV{Owner: store.Global, Space: lessonSpace, Key: l.Thread})
		}
	}
	b, err := s.change(ctx, owner, with, func(b *snapshot) error {
		if err := at.check(b.revision); err != nil {
			return err
		}
		b.sections, b.extra, b.facts = map[string]Section{}, nil, nil
		return nil
	})
	if err != nil {
		return Document{}, err
	}
	return b.document(), nil
}

// Import replaces the document. Facts of custom agents stay.
func (s *Service) Import(ctx context.Context, owner string, at At, d Document) (Document, error) {
	return s.edit(ctx, owner, at, func(b *snapshot) error {
		b.take(d, s.now(), s.Rules().MaxFacts)
		return nil
	})
}

// take replaces the memory with a document.
func (b *snapshot) take(d Document, now time.Time, most int) {
	b.sections, b.extra = map[string]Section{}, d.Extra
	maps.Copy(b.sections, d.Sections)
	old := map[string]Fact{}
	for _, f := range b.of("") {
		old[f.ID] = f
	}
	b.facts = slices.DeleteFunc(b.facts, func(f Fact) bool { return f.Agent == "" })
	seen := map[string]bool{}
	for _, f := range d.Facts {
		if key := folded(f.Content); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		if f.Created.IsZero() {
			f.Created = now
		}
		if f.Updated.IsZero() {
			f.Updated = f.Created
		}
		if f.Source == "" {
			f.Source = Imported
		}
		f.Agent, f.Revision = "", old[f.ID].Revision
		f.Created, f.Updated = f.Created.Truncate(time.Millisecond), f.Updated.Truncate(time.Millisecond)
		b.facts = append(b.facts, f)
	}
	b.trim("", most)
}

// Forget deletes facts learned from a thread, and its pending lesson.
func (s *Service) Forget(ctx context.Context, owner, thread string) (n int, err error) {
	lesson := store.KV{Owner: store.Global, Space: lessonSpace, Key: thread}
	if owner, err = s.Learner(ctx, owner, thread); err != nil {
		return 0, err
	}
	_, err = s.change(ctx, owner, also{put: []store.KV{lesson}, undo: true}, func(b *snapshot) error {
		had := len(b.facts)
		b.facts = slices.DeleteFunc(b.facts, func(f Fact) bool { return f.Thread() == thread })
		n = had - len(b.facts)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("delete facts of thread %s: %w", thread, err)
	}
	return n, nil
}

// Taught counts the facts of an owner that were learned from a thread.
func (s *Service) Taught(ctx context.Context, owner, thread string) (n int, err error) {
	if owner, err = s.Learner(ctx, owner, thread); err != nil {
		return 0, err
	}
	b, err := s.snapshot(ctx, owner)
	if err != nil {
		return 0, err
	}
	for _, f := range b.facts {
		if f.Thread() == thread {
			n++
		}
	}
	return n, nil
}

// edit returns a change by hand, which can be undone.
func (s *Service) edit(ctx context.Context, owner string, at At, f func(*snapshot) error) (Document, error) {
	b, err := s.change(ctx, owner, also{undo: true}, func(b *snapshot) error {
		if err := at.check(b.revision); err != nil {
			return err
		}
		return f(b)
	})
	if err != nil {
		return Document{}, err
	}
	return b.document(), nil
}

// Undo reverts the last manual change, if nothing has changed since and the server still runs: deleted facts aren't
// stored. Errors: ErrNoUndo.
func (s *Service) Undo(ctx context.Context, owner string) (Document, error) {
	was := s.cache(owner).undo.Load()
	if was == nil {
		return Document{}, ErrNoUndo
	}
	b, err := s.change(ctx, owner, also{undo: true}, func(b *snapshot) error {
		if b.revision != was.revision+1 {
			return ErrNoUndo
		}
		b.sections, b.extra, b.facts = was.sections, was.extra, slices.Clone(was.facts)
		return nil
	})
	if err != nil {
		return Document{}, err
	}
	return b.document(), nil
}

// Reload imports the configured memory.json if it changed since the last time, and returns the resulting memory.
func (s *Service) Reload(ctx context.Context, owner string) (Document, error) {
	data, err := fileOf(s.Rules().Path)
	if err != nil {
		return Document{}, fmt.Errorf("read memory.json: %w", err)
	}
	if data == nil {
		return s.Document(ctx, owner)
	}
	sum := sha256.Sum256(data)
	hash := []byte(hex.EncodeToString(sum[:]))
	was, err := s.DB.KV(ctx, owner, fileSpace, "sha256")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Document{}, fmt.Errorf("read memory.json: %w", err)
	}
	if string(was) == string(hash) {
		return s.Document(ctx, owner)
	}
	d, err := Parse(data)
	if err != nil {
		return Document{}, fmt.Errorf("read memory.json: %w", err)
	}
	taken := store.KV{Owner: owner, Space: fileSpace, Key: "sha256", Body: hash}
	b, err := s.change(ctx, owner, also{put: []store.KV{taken}, undo: true}, func(b *snapshot) error {
		b.take(d, s.now(), s.Rules().MaxFacts)
		return nil
	})
	if err != nil {
		return Document{}, err
	}
	return b.document(), nil
}

// Off reports whether a thread uses no memory: it was switched off for it, or the thread is temporary.
func (s *Service) Off(ctx context.Context, thread string) (bool, error) {
	off, _, err := s.place(ctx, thread)
	return off, err
}

// place is Off with the project of the thread, "" for none.
func (s *Service) place(ctx context.Context, thread string) (off bool, project string, err error) {
	metadata, project, switched, _, err := s.DB.ThreadKV(ctx, thread, offSpace, learnedSpace)
	return len(switched) > 0 || store.Thread{Metadata: metadata}.Temporary(), project, err
}

// Muted reports whether an owner has switched off memory in all chats.
func (s *Service) Muted(ctx context.Context, owner string) (bool, error) {
	_, err := s.DB.KV(ctx, owner, mutedSpace, mutedKey)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// SetMuted switches an owner's memory off or on in all chats. Stored facts stay. Pending lessons are dropped when they
// are due.
func (s *Service) SetMuted(ctx context.Context, owner string, muted bool) error {
	kv := store.KV{Owner: owner, Space: mutedSpace, Key: mutedKey}
	if muted {
		kv.Body = []byte("1")
	}
	if err := s.DB.Commit(ctx, store.Batch{KV: []store.KV{kv}}); err != nil {
		return fmt.Errorf("switch memory: %w", err)
	}
	return nil
}

// silent reports whether a thread of an owner has nothing to do with memory.
func (s *Service) silent(ctx context.Context, owner, thread string) (bool, error) {
	if muted, err := s.Muted(ctx, owner); muted || err != nil {
		return muted, err
	}
	return s.Off(ctx, thread)
}

// SetOff switches a thread's memory off or on. Its pending lesson is dropped.
func (s *Service) SetOff(ctx context.Context, thread string, off bool) error {
	kv := store.KV{Owner: store.Global, Space: offSpace, Key: thread}
	list := []store.KV{kv}
	if off {
		list[0].Body = []byte("1")
		list = append(list, store.KV{Owner: store.Global, Space: lessonSpace, Key: thread})
	}
	if err := s.DB.Commit(ctx, store.Batch{KV: list}); err != nil {
		return fmt.Errorf("switch the memory of thread %s: %w", thread, err)
	}
	return nil
}
