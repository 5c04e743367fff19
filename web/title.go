package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/store"
)

// retitle stores a thread's title that came after the end of its run, with its cost.
func (a *App) retitle(ctx context.Context, thread, from, to string, cost []lead.SideCall) {
	rows := make([]store.Spending, len(cost))
	for i, c := range cost {
		rows[i] = a.entry(ctx, c)
	}
	err := a.engine.runs.Retitle(ctx, thread, from, to, rows...)
	if err != nil && ctx.Err() == nil && !errors.Is(err, runs.ErrClosed) {
		a.opts.Log.Warn("couldn't store a title; keeping the first words", "thread", thread, "err", err)
	}
}

const (
	titleSpace = "thread_title"  // of titles that were found while the first answer was written; goes with the thread
	titleTime  = 2 * time.Second // time limit of reading or storing a title
)

// keptTitles implements lead.TitleKeeper. A failed read or write costs at most one more model call.
type keptTitles struct {
	db  *store.DB
	log *slog.Logger
}

// keptTitle is the title of the thread of a run.
type keptTitle struct {
	Run   string `json:"run"`
	Title string `json:"title"`
}

func (k keptTitles) Shown(ctx context.Context, thread string) string {
	ctx, cancel := context.WithTimeout(ctx, titleTime)
	defer cancel()
	t, err := k.db.Thread(ctx, thread)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		k.log.Warn("couldn't read the title of a thread", "thread", thread, "err", err)
	}
	return t.Title
}

func (k keptTitles) Kept(ctx context.Context, thread, run string) string {
	ctx, cancel := context.WithTimeout(ctx, titleTime)
	defer cancel()
	body, err := k.db.KV(ctx, store.Global, titleSpace, thread)
	var kept keptTitle
	if err == nil {
		err = json.Unmarshal(body, &kept)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		k.log.Warn("couldn't read the title of an interrupted run", "thread", thread, "err", err)
	}
	if kept.Run != run {
		return ""
	}
	return kept.Title
}

func (k keptTitles) Keep(ctx context.Context, thread, run, title string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), titleTime)
	defer cancel()
	kv := store.KV{Owner: store.Global, Space: titleSpace, Key: thread}
	var err error
	if title != "" {
		kv.Body, err = json.Marshal(keptTitle{run, title})
	}
	if err == nil {
		err = k.db.Commit(ctx, store.Batch{KV: []store.KV{kv}})
	}
	if err != nil && k.db.Writable() {
		k.log.Warn("couldn't store the title of a running run", "thread", thread, "err", err)
	}
}
