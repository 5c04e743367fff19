package threads

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fawn/agent/runs"
	"fawn/store"
)

// Times of temporary threads. Pages say again and again that they show one; a page that goes says so, too, but may be back
// in a moment, as when it is reloaded.
const (
	// StayTime is how long a page that was not heard of counts as open.
	StayTime = 5 * time.Minute
	// LeaveTime is how long a page that was left may come back.
	// It is longer than the minute after which an open page says that it is there, so that closing one of two pages
	// deletes nothing.
	LeaveTime = 90 * time.Second
	// SilenceTime is how long a temporary thread lives in which nothing happens, whoever shows it.
	SilenceTime = time.Hour
	// leftEvery is how often temporary threads are looked for that are to be deleted.
	leftEvery = 10 * time.Second
)

// DeleteLeft deletes temporary threads when they were left, until ctx ends. It begins with those made before a moment, such
// as by a server before this one; the zero time has none.
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

// deleteLeft reports whether all are gone that were to go.
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
			log.Warn("couldn't delete a temporary chat; it will be tried again", "thread", id, "err", err)
		}
	}
	return all
}
