package web

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"

	"fawn/agent/lead"
	"fawn/agent/projects"
	"fawn/memory"
	"fawn/sandbox"
	"fawn/sandbox/affinity"
	"fawn/store"
	"fawn/uploads"
)

// maxToldFiles limits the files of a project that its agents are told by name.
const maxToldFiles = 50

// openProjects opens the service of projects.
func (e *engine) openProjects(d *data, t *tools, f *front, log *slog.Logger) {
	e.projects = projects.New(projects.Config{DB: d.db, Runs: e.runs, Dirs: d.dirs, Documents: t.documents,
		Discarded: func() { f.pages.Discarded() }, Ended: t.endSandboxes, Log: log})
}

// endSandboxes stops the sandboxes of threads on all servers of the database.
func (t *tools) endSandboxes(ctx context.Context, threads []string) error {
	var errs []error
	for _, thread := range threads {
		_, err := t.sandbox.Restart(ctx, sandbox.ThreadRef{ID: thread}, affinity.ProjectChanged)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, t.places.End(ctx, threads))...)
}

// projectOf returns the project of a thread for its agent, nil for none.
func (d *data) projectOf(ctx context.Context, thread string) (*lead.Project, error) {
	p, err := d.db.ProjectOf(ctx, thread)
	if err != nil || p.ID == "" {
		return nil, err
	}
	s := p.Settings
	out := &lead.Project{Owner: p.Owner, Name: p.Name, Instructions: s.Instructions, Agent: s.Agent, Model: s.Model, Skills: s.Skills,
		Servers: s.Servers, Knowledge: s.Knowledge, Write: s.Writable && p.Role.Writes()}
	shelf := store.ShelfOf(p.ID)
	dir, err := d.dirs.Open(shelf)
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

// memoryScope names the memory that a thread reads and teaches. Editors of a shared project write what agents do in the
// chats of its members, so these chats leave a member's own memory alone unless the member allows it.
func (d *data) memoryScope(ctx context.Context, owner, thread string) (memory.Scope, error) {
	p, err := d.db.ProjectOf(ctx, thread)
	if err != nil {
		return memory.Scope{}, err
	}
	if p.ID == "" {
		return memory.Scope{Learn: owner, Read: []string{owner}}, nil
	}
	own := store.ProjectMemory(owner, p.ID)
	isolated := memory.Scope{Learn: own, Read: []string{own}}
	if p.Settings.Memory == store.MemoryIsolated {
		return isolated, nil
	}
	allowed, _, err := d.db.PersonalMemory(ctx, owner, p.ID)
	switch {
	case err != nil:
		return memory.Scope{}, err
	case !allowed:
		return isolated, nil
	case p.Settings.Memory == store.MemoryPersonal:
		return memory.Scope{Learn: owner, Read: []string{owner}}, nil
	}
	return memory.Scope{Learn: own, Read: []string{own, owner}}, nil
}
