package web

import (
	"context"
	"errors"
	"io/fs"

	"fawn/agent/lead"
	"fawn/agent/projects"
	"fawn/memory"
	"fawn/sandbox"
	"fawn/store"
	"fawn/uploads"
)

// maxToldFiles is how many files of a project its agents are told by name.
const maxToldFiles = 50

// openProjects makes what changes projects.
func (a *App) openProjects() *projects.Service {
	return projects.New(projects.Config{DB: a.db, Runs: a.runs, Dirs: a.dirs, Documents: a.documents,
		Discarded: func() { a.pages.Discarded() }, Ended: a.endSandboxes, Log: a.opts.Log})
}

// endSandboxes ends what runs in the sandboxes of threads, at all servers that share the database.
func (a *App) endSandboxes(ctx context.Context, threads []string) error {
	var errs []error
	for _, thread := range threads {
		_, err := a.sandbox.Restart(ctx, sandbox.ThreadRef{ID: thread}, "its project changed")
		errs = append(errs, err)
	}
	return errors.Join(append(errs, a.places.Clear(ctx, threads))...)
}

// projectOf is the project of a thread for its agent, nil for none.
func (a *App) projectOf(ctx context.Context, thread string) (*lead.Project, error) {
	p, err := a.db.ProjectOf(ctx, thread)
	if err != nil || p.ID == "" {
		return nil, err
	}
	s := p.Settings
	out := &lead.Project{Name: p.Name, Instructions: s.Instructions, Agent: s.Agent, Model: s.Model, Skills: s.Skills,
		Servers: s.Servers, Knowledge: s.Knowledge, Write: s.Writable && p.Role.Writes()}
	shelf := store.ShelfOf(p.ID)
	dir, err := a.dirs.Open(shelf)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	list, err := uploads.Files(dir, shelf)
	for i, f := range list.Files {
		if i == maxToldFiles {
			out.More = len(list.Files) - i
			break
		}
		out.Files = append(out.Files, f.Filename)
	}
	return out, err
}

// memoryScope is whose memory a thread has to do with.
func (a *App) memoryScope(ctx context.Context, owner, thread string) (memory.Scope, error) {
	p, err := a.db.ProjectOf(ctx, thread)
	if err != nil {
		return memory.Scope{}, err
	}
	own := store.ProjectMemory(owner, p.ID)
	switch {
	case p.ID == "" || p.Settings.Memory == store.MemoryPersonal:
		return memory.Scope{Learn: owner, Read: []string{owner}}, nil
	case p.Settings.Memory == store.MemoryIsolated:
		return memory.Scope{Learn: own, Read: []string{own}}, nil
	}
	return memory.Scope{Learn: own, Read: []string{own, owner}}, nil
}
