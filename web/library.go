package web

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"fawn/agent/config"
	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/sandbox/files"
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

// openSkills reads the skills, and shows the enabled ones to every thread.
func (a *App) openSkills(ctx context.Context) (err error) {
	o := SkillOptions(a.config.Current, a.opts)
	o.Extensions = a.config.Extensions
	if a.library.skills, err = storage.Skills(ctx, a.data.shared, o); err != nil {
		return err
	}
	shown := skills.ShownPath(a.data.dirs.Root)
	a.data.dirs.Mounts = append(a.data.dirs.Mounts, files.Mount{Path: files.Skills, Dir: shown})
	if a.library.skillsAt = a.config.Current().File.Skills.ContainerPath; a.library.skillsAt != files.Skills {
		a.data.dirs.Mounts = append(a.data.dirs.Mounts, files.Mount{Path: a.library.skillsAt, Dir: shown, Commands: true})
	}
	return nil
}

// SkillOptions locate an installation's skills.
func SkillOptions(current func() *config.Snapshot, o Options) skills.Options {
	return skills.Options{
		Path:    func() string { s := current(); return cmp.Or(s.File.Skills.Path, skills.DefaultPath(s.DataDir)) },
		State:   func() string { return current().ExtensionsPath },
		Shown:   skills.ShownPath(current().DataDir),
		Room:    func() (int64, bool) { return files.FreeSpace(current().DataDir) },
		Bundled: o.Skills,
		Tool:    self(),
		Log:     o.Log,
	}
}

// self returns the file of this program, which is also the tool of its skills; "" when that is not known.
func self() string {
	at, err := os.Executable()
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return ""
	}
	return at
}
