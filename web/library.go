package web

import (
	"context"

	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/web/storage"
)

// library groups the agents and skills that people have made or installed.
type library struct {
	agents   *profile.Library
	skills   *skills.Library
	skillsAt string // in sandboxes
}

// openLibrary reads the agents, then the skills.
func (a *App) openLibrary(ctx context.Context) (err error) {
	if a.library.agents, err = storage.Agents(ctx, a.data.shared, a.data.dirs.Root, a.opts.Log); err != nil {
		return err
	}
	return a.openSkills(ctx)
}

// close lets go of the agents' folder.
func (l *library) close() error {
	if l.agents == nil {
		return nil
	}
	return l.agents.Close()
}
