package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/skills"
	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/providers"
	"fawn/web"
)

// skillsBeside opens the skills for commands that work while a server runs.
func skillsBeside(o web.Options) (skills.Options, *config.Snapshot, error) {
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return skills.Options{}, nil, err
	}
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return skills.Options{}, nil, err
	}
	return web.SkillOptions(func() *config.Snapshot { return snap }, o), snap, nil
}

// readSkills reads the skills without changing anything; shown is a folder to show them in, or "".
func readSkills(o web.Options, shown string) ([]skills.Skill, *config.Snapshot, error) {
	opts, snap, err := skillsBeside(o)
	if err != nil {
		return nil, nil, err
	}
	opts.Shown = shown
	list, err := skills.Read(opts)
	return list, snap, err
}

// ListSkills writes a line for each skill: its state, origin and purpose.
func ListSkills(o web.Options) error {
	list, _, err := readSkills(o, "")
	if err != nil {
		return err
	}
	for _, s := range list {
		text := []rune(strings.Join(strings.Fields(s.Description), " "))
		if len(text) > 90 {
			text = append(text[:89], '…')
		}
		_, err := fmt.Fprintf(o.Out, "%-6s  %-8s  %-20s  %s\n", stateOf(s), origin(s), s.Name, string(text))
		if err != nil {
			return err
		}
	}
	return nil
}

func stateOf(s skills.Skill) string {
	switch {
	case !s.Usable():
		return "broken"
	case s.Enabled:
		return "on"
	}
	return "off"
}

func origin(s skills.Skill) string {
	if s.Bundled {
		return "bundled"
	}
	return string(s.Category)
}

// DoctorSkills reports for each skill whether it is readable, enabled, readable by commands, and would be used for a
// request, if there is one. It works while a server runs, without changing its files. ok is false if a skill has a
// problem.
func DoctorSkills(ctx context.Context, o web.Options, request string) (ok bool, err error) {
	temp, err := os.MkdirTemp("", "fawn-skills-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := os.Chmod(temp, 0o755); err != nil { // commands may run as another user
		return false, err
	}
	shown := filepath.Join(temp, "shown")
	if err := os.Mkdir(shown, 0o755); err != nil {
		return false, err
	}
	list, snap, err := readSkills(o, shown)
	if err != nil {
		return false, err
	}
	seen, why := inSandbox(ctx, snap, temp, shown, list)
	d := &doctor{out: o.Out, ok: true}
	if len(list) == 0 {
		d.line("note", "skills", "there are none")
	}
	asked, _, named := skills.Asked(request)
	for _, s := range list {
		d.skill(s, seen, why)
		switch {
		case request == "":
		case named && asked == s.Name:
			d.line("good", "", "the prompt names it")
		case named:
			d.line("note", "", "the prompt names another skill, "+asked)
		default:
			d.trigger(s, request)
		}
	}
	if named && !slices.ContainsFunc(list, func(s skills.Skill) bool { return s.Name == asked }) {
		d.line("bad", "prompt", "there is no skill called "+asked)
	}
	return d.ok, d.err
}

// skill reports a skill's state.
func (d *doctor) skill(s skills.Skill, seen []string, why string) {
	at := s.Path(files.Skills)
	if !s.Usable() {
		d.line("bad", s.Name, "cannot be used")
	} else {
		d.line("good", s.Name, origin(s)+", "+stateOf(s))
	}
	for _, f := range s.Findings {
		d.line("note", "", string(f.Severity)+": "+f.String())
	}
	switch {
	case !s.Usable() || !s.Enabled:
		d.line("note", "", "not shown to agents")
	case why != "":
		d.line("note", "", "not tried in a sandbox: "+why)
	case !slices.Contains(seen, at):
		d.line("bad", "", "commands cannot read "+at)
	default:
		d.line("good", "", "commands can read "+at)
	}
}

// trigger reports whether a model has a reason to pick a skill.
func (d *doctor) trigger(s skills.Skill, request string) {
	words := s.Shared(request)
	switch {
	case !s.Usable() || !s.Enabled:
		d.line("note", "", "the prompt cannot start it while it is off or broken")
	case len(words) == 0:
		d.line("note", "", "the prompt shares no words with its description: unlikely to be picked")
	default:
		d.line("good", "", "may be picked, the model decides; the prompt shares: "+strings.Join(words, ", "))
	}
}

// inSandbox returns the paths of texts that commands can read, or why that could not be tried. Skills with a tool count
// only if it runs.
func inSandbox(ctx context.Context, snap *config.Snapshot, temp, shown string,
	list []skills.Skill) (seen []string, why string) {
	dirs := files.Dirs{Root: temp, Mounts: []files.Mount{{Path: files.Skills, Dir: shown}}}
	c := lead.SandboxConfig(snap.File.Sandbox, dirs, slog.New(slog.DiscardHandler))
	c.Provider = lead.SandboxProvider(snap)
	p, err := providers.New(ctx, c)
	if err != nil {
		return nil, err.Error()
	}
	defer p.Close(ctx)
	if r := p.Probe(ctx); !r.OK {
		return nil, "commands are disabled: " + r.Reason
	}
	policy := sandbox.DefaultPolicy()
	policy.OutputChars, policy.Network = 0, sandbox.NetworkNone
	box, err := p.Acquire(ctx, sandbox.ThreadRef{ID: "skills"}, policy)
	if err != nil {
		return nil, err.Error()
	}
	var paths []string
	for _, s := range list {
		if s.Usable() && s.Enabled {
			paths = append(paths, s.Path(files.Skills))
		}
	}
	const try = `for f; do cat "$f" >/dev/null && { t="${f%/*}/skilltool"; [ ! -e "$t" ] || "$t" help >/dev/null; } && echo "${f#` +
		files.Skills + `/}"; done 2>/dev/null`
	res, err := box.Exec(ctx, sandbox.ExecReq{Command: try, Args: paths})
	if err != nil {
		return nil, err.Error()
	}
	for line := range strings.Lines(string(res.Output)) {
		seen = append(seen, path.Join(files.Skills, strings.TrimSpace(line)))
	}
	return seen, ""
}
