package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/store/deerflow"
	"fawn/web"
)

// ImportOptions select the data for [Import].
type ImportOptions struct {
	From string // DeerFlow's data folder or project folder
	User string // id of one of its users; "" is the only one
	Dry  bool   // only report what would be imported
}

// Import imports the chats, files, agents, profile and memory of a DeerFlow 2.x installation, without changing it.
// Existing data is kept, so an interrupted import can be repeated. It reports each step on o.Out; ok is false if
// something was left out.
func Import(ctx context.Context, o web.Options, from ImportOptions) (ok bool, err error) {
	old, err := findDeerFlow(from.From)
	if err != nil {
		return false, err
	}
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return false, err
	}
	if err := web.Ready(dir, o.Log); err != nil {
		return false, err
	}
	db, dirs, err := web.OpenStore(ctx, o, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	m := migration{o: o, ImportOptions: from, old: old, dir: dir, db: db, dirs: dirs}
	if err := m.do(ctx); err != nil {
		return false, err
	}
	return m.left == 0, nil
}

// deerFlow holds the paths of an installation's data.
type deerFlow struct {
	project  string // folder with config.yaml and skills; may equal home
	home     string // the data folder
	database string
}

// findDeerFlow searches DeerFlow's usual places for the data folder and the database.
func findDeerFlow(from string) (d deerFlow, err error) {
	if info, err := os.Stat(from); err != nil {
		return d, fmt.Errorf("look for DeerFlow: %w", err)
	} else if !info.IsDir() {
		return d, fmt.Errorf("look for DeerFlow: %s is not a folder", from)
	}
	for _, home := range []string{from, filepath.Join(from, ".deer-flow"),
		filepath.Join(from, "backend", ".deer-flow")} {
		for _, name := range []string{"data/deerflow.db", "deerflow.db", "data/checkpoints.db", "checkpoints.db"} {
			at := filepath.Join(home, filepath.FromSlash(name))
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
				return deerFlow{project: from, home: home, database: at}, nil
			}
		}
	}
	return d, fmt.Errorf("look for DeerFlow: there is no data/deerflow.db in %s, nor in .deer-flow or backend/.deer-flow "+
		"below it. A database in PostgreSQL can't be imported", from)
}

// migration is one import in progress.
type migration struct {
	ImportOptions
	o    web.Options
	old  deerFlow
	dir  string
	db   *store.DB
	dirs files.Dirs
	left int // number of items that couldn't be imported
}

func (m *migration) say(format string, args ...any) { fmt.Fprintf(m.o.Out, format+"\n", args...) }

// done reports an action, performed or simulated.
func (m *migration) done(verb string) string {
	if m.Dry {
		return "would be " + verb
	}
	return verb
}

// fail reports an omission with its reason.
func (m *migration) fail(what string, err error) {
	m.left++
	m.say("Not imported: %s: %v", what, err)
}

func (m *migration) do(ctx context.Context) error {
	src, err := deerflow.Open(ctx, m.old.database)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := m.chooseUser(ctx, src); err != nil {
		return err
	}
	ids, err := src.IDs(ctx, m.User)
	if err != nil {
		return err
	}
	taken, known := 0, 0
	for _, id := range ids {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		isNew, err := m.thread(ctx, src, id)
		switch {
		case errors.Is(err, runs.ErrStorage) || ctx.Err() != nil:
			return err
		case err != nil:
			m.fail("chat "+id, err)
		case isNew:
			taken++
		default:
			known++
		}
	}
	m.say("Chats: %d of %d %s, %d are here already.", taken, len(ids), m.done("imported"), known)
	if err := m.agents(); err != nil {
		return err
	}
	if err := m.profile(); err != nil {
		return err
	}
	if err := m.remember(ctx); err != nil {
		return err
	}
	return m.settings()
}

// chooseUser prevents mixing the data of several users.
func (m *migration) chooseUser(ctx context.Context, src *deerflow.Source) error {
	users, err := src.Users(ctx)
	switch {
	case err != nil:
		return err
	case m.User != "" && !slices.Contains(users, m.User):
		return fmt.Errorf("DeerFlow has no chats of user %q, only of: %s", m.User, strings.Join(users, ", "))
	case m.User == "" && len(users) > 1:
		return fmt.Errorf("DeerFlow has chats of several users: choose one with --user: %s", strings.Join(users, ", "))
	case m.User == "" && len(users) == 1:
		m.User = users[0]
	}
	return nil
}

// places returns folders or files of the chosen user, the newer layout first.
func (m *migration) places(name string) (out []string) {
	if m.User != "" && filepath.IsLocal(m.User) {
		out = append(out, filepath.Join(m.old.home, "users", m.User, name))
	}
	return append(out, filepath.Join(m.old.home, name))
}

// thread imports one chat: its files first, so a visible chat has its files.
func (m *migration) thread(ctx context.Context, src *deerflow.Source, id string) (isNew bool, err error) {
	_, err = m.db.Thread(ctx, id)
	isNew = errors.Is(err, store.ErrNotFound)
	if err != nil && !isNew {
		return false, err
	}
	if m.Dry {
		return isNew, nil
	}
	if isNew {
		if err := m.newThread(ctx, src, id); err != nil {
			return false, err
		}
	}
	return isNew, m.pastRuns(ctx, src, id)
}

func (m *migration) newThread(ctx context.Context, src *deerflow.Source, id string) error {
	old, err := src.Thread(ctx, id)
	if err != nil {
		return err
	}
	if err := m.files(ctx, id); err != nil {
		return err
	}
	values := map[string]json.RawMessage{}
	for name, v := range old.Values {
		if strings.HasPrefix(name, "__") || strings.HasPrefix(name, "branch:") { // LangGraph's own channels
			continue
		}
		if values[name], err = json.Marshal(v); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	old.Metadata["imported_from"] = "deer-flow"
	if old.Agent != "" {
		old.Metadata["agent_name"] = old.Agent
	}
	meta, err := json.Marshal(old.Metadata)
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	t := store.Thread{ID: id, Owner: store.DefaultOwner, Title: old.Title, Metadata: meta, CreatedAt: old.Created,
		UpdatedAt: old.Updated}
	left, err := threads.Restore(ctx, m.db, t, values)
	if err != nil {
		return errors.Join(err, m.dirs.Remove(id))
	}
	left = slices.DeleteFunc(left, func(name string) bool { return name == "thread_data" || name == "sandbox" })
	if len(left) > 0 {
		slices.Sort(left)
		m.say("Chat %s is imported without what Fawn has no place for: %s.", id, strings.Join(left, ", "))
	}
	return nil
}

// files copies the files in a chat's folders.
func (m *migration) files(ctx context.Context, id string) error {
	if !filepath.IsLocal(id) {
		return fmt.Errorf("%q isn't a valid folder name", id)
	}
	for _, at := range m.places(filepath.Join("threads", id, "user-data")) {
		root, err := os.OpenRoot(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy its files: %w", err)
		}
		if err := m.dirs.Remove(id); err != nil { // of an import that was cut off
			return errors.Join(err, root.Close())
		}
		if err := errors.Join(m.dirs.CopyIn(ctx, root, id), root.Close()); err != nil {
			return fmt.Errorf("copy its files: %w", errors.Join(err, m.dirs.Remove(id)))
		}
		return nil
	}
	return nil
}

// pastRuns stores the missing runs of an imported chat.
func (m *migration) pastRuns(ctx context.Context, src *deerflow.Source, thread string) error {
	t, err := m.db.Thread(ctx, thread)
	if err != nil || !strings.Contains(string(t.Metadata), `"imported_from"`) {
		return err
	}
	list, err := src.Runs(ctx, thread)
	if err != nil {
		return err
	}
	for _, r := range list {
		if _, err := m.db.Run(ctx, r.ID); err == nil {
			continue
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		err := threads.RestoreRun(ctx, m.db, thread, t.Owner, threads.PastRun{ID: r.ID, Assistant: r.Assistant,
			Status: r.Status, Error: r.Error, Model: r.Model, Input: int(r.Input), Output: int(r.Output),
			Total: int(r.Total), Calls: int(r.Calls), Created: r.Created, Updated: r.Updated})
		if err != nil {
			return err
		}
	}
	return nil
}
