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

// open reads the agents, then the skills, and shows the enabled ones to every thread.
func (l *library) open(ctx context.Context, o Options, conf *config.Store, d *data) (err error) {
	if l.agents, err = storage.Agents(ctx, d.shared, d.dirs.Root, o.Log); err != nil {
		return err
	}
	from := SkillOptions(conf.Current, o)
	from.Extensions = conf.Extensions
	if l.skills, err = storage.Skills(ctx, d.shared, from); err != nil {
		return err
	}
	shown := skills.ShownPath(d.dirs.Root)
	d.dirs.Mounts = append(d.dirs.Mounts, files.Mount{Path: files.Skills, Dir: shown})
	if l.skillsAt = conf.Current().File.Skills.ContainerPath; l.skillsAt != files.Skills {
		d.dirs.Mounts = append(d.dirs.Mounts, files.Mount{Path: l.skillsAt, Dir: shown, Commands: true})
	}
	return nil
}

// close lets go of the agents' folder.
func (l *library) close() error {
	if l.agents == nil {
		return nil
	}
	return l.agents.Close()
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
