package runs

import (
	"context"
	"errors"
	"fmt"

	"fawn/store"
)

// removedSpace lists deleted threads whose files may still exist.
const removedSpace = "removed_files"

// RemoveThread deletes a thread's rows, then its files, inside of [Manager.Exclusive]. It completes even if the caller
// stops waiting; the next start completes it after a crash.
func (m *Manager) RemoveThread(ctx context.Context, thread string) error {
	ctx = context.WithoutCancel(ctx)
	err := m.db.Commit(ctx, store.Batch{ThreadID: thread, Delete: &store.Delete{Thread: true},
		KV: []store.KV{{Space: removedSpace, Key: thread, Body: []byte("{}")}}})
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("thread %s: %w", thread, ErrNotFound)
	}
	if err != nil {
		return err
	}
	m.abandon(thread)
	return m.forgetFiles(ctx, thread)
}

// abandon drops the runs of a deleted thread.
func (m *Manager) abandon(thread string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.runs {
		if e.run.ThreadID == thread && e.become(stageUnstored) {
			e.log.Abandon()
			m.forget(e)
		}
	}
}

// RemovedFiles is stored in the commit that deletes a thread's or project's rows: if [Manager.ForgetFiles] doesn't
// complete, the next start does it.
func RemovedFiles(id string) store.KV {
	return store.KV{Owner: store.Global, Space: removedSpace, Key: id, Body: []byte("{}")}
}

// ForgetFiles removes the files of a deleted thread or project.
func (m *Manager) ForgetFiles(ctx context.Context, id string) error { return m.forgetFiles(ctx, id) }

// forgetFiles removes the files of a deleted thread.
func (m *Manager) forgetFiles(ctx context.Context, thread string) error {
	if m.remove != nil {
		if err := m.remove(thread); err != nil {
			return err
		}
	}
	return m.db.Commit(ctx, store.Batch{KV: []store.KV{{Space: removedSpace, Key: thread}}})
}

// removeRest deletes the files of threads whose deletion was interrupted, except those recreated since.
func (m *Manager) removeRest(ctx context.Context) error {
	list, err := m.db.Keys(ctx, store.Global, removedSpace)
	if err != nil {
		return err
	}
	for _, id := range list {
		_, err := m.db.Thread(ctx, id)
		switch {
		case err == nil:
			err = m.db.Commit(ctx, store.Batch{KV: []store.KV{{Space: removedSpace, Key: id}}})
		case errors.Is(err, store.ErrNotFound):
			err = m.forgetFiles(ctx, id)
		}
		if err != nil { // the server must still start
			m.logger.Error("couldn't remove files of a deleted thread", "thread", id, "err", err)
		}
	}
	return nil
}
