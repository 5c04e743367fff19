package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"fawn/agent/knowledge"
	"fawn/agent/profile"
	"fawn/agent/projects"
	"fawn/agent/runs"
	"fawn/memory"
	"fawn/sandbox"
	"fawn/sandbox/affinity"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/hostrules"
)

// userData deletes and lists what a user owns: rows and files.
type userData struct {
	db     *store.DB
	runs   *runs.Manager
	agents *profile.Library
	memory *memory.Service

	projects  *projects.Service
	knowledge *knowledge.Service

	places *affinity.Places // where servers of the database have sandboxes; nil for one that works alone
}

// offlineUserData opens the data of users in a folder that no server uses. The caller calls done.
func offlineUserData(dirs files.Dirs, db *store.DB, log *slog.Logger) (b userData, done func() error, err error) {
	agents, err := profile.Open(dirs.Root, store.DefaultOwner)
	if err != nil {
		return b, nil, err
	}
	t, d := &tools{network: hostrules.New(db, func(string, json.RawMessage) {}, log)}, &data{dirs: dirs, db: db}
	t.openDocuments(nil, d, log)
	b = userData{db: db, agents: agents,
		memory: memory.New(memory.Config{DB: db, Rules: func() memory.Rules { return memory.Rules{} }}),
		runs:   runs.New(runs.Config{DB: db, Remove: func(thread string) error { return t.forgetThread(d, thread) }, Offline: true, Log: log})}
	b.places = affinity.New(affinity.Config{DB: db, Dirs: dirs, Log: log})
	b.projects = projects.New(projects.Config{DB: db, Runs: b.runs, Dirs: dirs, Ended: b.places.End, Log: log})
	b.knowledge = knowledge.New(knowledge.Config{DB: db, Runs: b.runs, Dirs: dirs, Log: log})
	return b, func() error {
		b.runs.Close()
		return agents.Close()
	}, nil
}

// remove deletes everything a user owns: tasks first, so that nothing new starts, then chats with their runs and files.
// A failed deletion can be repeated.
func (b userData) remove(ctx context.Context, user string) error {
	if err := b.removeTasks(ctx, user); err != nil {
		return err
	}
	if err := b.removeThreads(ctx, user); err != nil {
		return err
	}
	if err := errors.Join(b.projects.DeleteOwned(ctx, user), b.knowledge.DeleteOwned(ctx, user)); err != nil {
		return err
	}
	if _, err := b.memory.Clear(ctx, user, 0); err != nil { // including pending lessons
		return err
	}
	return errors.Join(b.agents.Remove(user), b.db.RemoveOwned(ctx, user))
}

// stop ends all of a user's activities on the servers of the database, for a command.
func (b userData) stop(ctx context.Context, user string) error {
	err := b.runs.CancelOwned(ctx, user)
	threads, failed := b.db.ThreadsOf(ctx, user)
	return errors.Join(err, failed, b.places.Clear(ctx, threads))
}

// stopOwned ends all of a user's activities on all servers of the database: runs, including waiting ones, and the
// processes of their threads.
func (a *App) stopOwned(ctx context.Context, user string) error {
	ctx = context.WithoutCancel(ctx) // it may be a request of the user's own
	err := a.engine.runs.CancelOwned(ctx, user)
	threads, failed := a.data.db.ThreadsOf(ctx, user)
	err = errors.Join(err, failed)
	for _, thread := range threads {
		a.tools.mcp.Forget(thread)
		a.tools.browsers.End(thread)
		_, failed := a.tools.sandbox.Restart(ctx, sandbox.ThreadRef{ID: thread}, affinity.Disabled)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, a.tools.places.Clear(ctx, threads)) // processes on other servers
}

func (b userData) removeTasks(ctx context.Context, user string) error {
	var tasks []string
	err := b.db.EachCron(ctx, user, func(c store.Cron) bool {
		tasks = append(tasks, c.ID)
		return true
	})
	for _, task := range tasks {
		if e := b.db.DeleteCron(ctx, user, task); !errors.Is(e, store.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// removeThreads repeats until none is left: an active request may have created one.
func (b userData) removeThreads(ctx context.Context, user string) error {
	for {
		threads, err := b.db.ThreadsOf(ctx, user)
		if err != nil || len(threads) == 0 {
			return err
		}
		for _, id := range threads {
			err := b.runs.DeleteThread(ctx, id)
			if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, runs.ErrNotFound) {
				return fmt.Errorf("delete chat %s: %w", id, err)
			}
		}
	}
}

// tell lists a user's data.
func (b userData) tell(ctx context.Context, user string) (string, error) {
	o, err := b.db.Owned(ctx, user)
	if err != nil {
		return "", err
	}
	agents, err := b.agents.List(user)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, one := range []struct {
		n         int
		one, many string
	}{{o.Threads, "chat", "chats"}, {o.Projects, "project", "projects"}, {o.Collections, "collection", "collections"}, {o.Crons, "scheduled task", "scheduled tasks"}, {len(agents), "agent", "agents"},
		{o.Facts, "memory", "memories"}} {
		switch one.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+one.one)
		default:
			parts = append(parts, fmt.Sprint(one.n, " ", one.many))
		}
	}
	if len(parts) == 0 {
		return "no chats, projects, tasks, agents or memories", nil
	}
	return strings.Join(parts, ", "), nil
}
