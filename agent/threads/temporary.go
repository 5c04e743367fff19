package threads

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fawn/agent/runs"
	"fawn/store"
)

// Timeouts of temporary threads. Open pages report regularly; a closing page reports that too, but may return after a
// reload.
const (
	// StayTime is the time after its last report for which a page counts as open.
	StayTime = 5 * time.Minute
	// LeaveTime is the time in which a closed page may return. It exceeds the reporting interval of open pages, so
	// closing one of two pages deletes nothing.
	LeaveTime = 90 * time.Second
	// SilenceTime is the lifetime of an inactive temporary thread, even if a page shows it.
	SilenceTime = time.Hour
	// leftEvery is the interval of deleting abandoned temporary threads.
	leftEvery = 10 * time.Second
)

// DeleteLeft deletes abandoned temporary threads until ctx ends. It first deletes those created before a moment, for
// instance by an earlier server; the zero time skips that.
func DeleteLeft(ctx context.Context, db *store.DB, m *runs.Manager, madeBefore time.Time, log *slog.Logger) {
	ticker := time.NewTicker(leftEvery)
	defer ticker.Stop()
	for {
		if deleteLeft(ctx, db, m, madeBefore, log) {
			madeBefore = time.Time{}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// deleteLeft reports whether all due threads are gone.
func deleteLeft(ctx context.Context, db *store.DB, m *runs.Manager, madeBefore time.Time, log *slog.Logger) bool {
	list, err := db.Left(ctx, db.Now(), SilenceTime, madeBefore)
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("couldn't list temporary chats", "err", err)
		}
		return false
	}
	all := true
	for _, id := range list {
		claimed, err := db.ClaimLeft(ctx, id, db.Now(), SilenceTime, madeBefore)
		if err == nil && !claimed {
			continue
		}
		if err == nil {
			err = m.DeleteThread(ctx, id)
		}
		if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, runs.ErrNotFound) {
			continue
		}
		all = false
		if ctx.Err() == nil && !errors.Is(err, runs.ErrClosed) {
			log.Warn("couldn't delete a temporary chat; retrying later", "thread", id, "err", err)
		}
	}
	return all
}
