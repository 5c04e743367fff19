package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"fawn/agent/skills"
	"fawn/agent/skills/fetch"
	"fawn/web"
)

// SkillInstall selects the skill to install.
type SkillInstall struct {
	From    string       // a .skill file, a folder with a SKILL.md, or an address
	Consent bool         // also install skills with executables or findings
	Client  *http.Client // for addresses; nil reaches the public internet only
}

// InstallSkill installs a skill and writes its findings. It works while a server is running; the skill is available to
// its next runs. ok is false if the skill was refused, or needs consent.
func InstallSkill(ctx context.Context, o web.Options, in SkillInstall) (ok bool, err error) {
	opts, snap, err := skillsBeside(o)
	if err != nil {
		return false, err
	}
	temp, err := os.MkdirTemp("", "fawn-skill-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	archive, err := fetch.Keep(temp)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, archive.Drop()) }()
	refused := new(skills.Refused)
	if err := in.fill(ctx, archive, temp); errors.As(err, &refused) {
		return false, tellRefused(o.Out, refused)
	} else if err != nil {
		return false, err
	}
	lib, scan := skills.Beside(opts), snap.File.SkillScan.Enabled
	p, err := lib.Inspect(archive, archive.Size, scan)
	switch {
	case errors.As(err, &refused):
		return false, tellRefused(o.Out, refused)
	case err != nil:
		return false, err
	}
	if err := tellFindings(o.Out, p.Findings); err != nil {
		return false, err
	}
	for _, name := range p.Runs {
		if _, err := fmt.Fprintf(o.Out, "can be run: %s\n", name); err != nil {
			return false, err
		}
	}
	if p.Risky() && !in.Consent {
		_, err := fmt.Fprintf(o.Out, "%s is not installed yet. If you trust it, run the command again with --yes.\n",
			p.Skill.Name)
		return false, err
	}
	s, err := lib.Install(archive, archive.Size, scan)
	if err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(o.Out, "installed %s: %s\n", s.Name, strings.Join(strings.Fields(s.Description), " "))
	return err == nil, err
}

// fill brings the archive.
func (in SkillInstall) fill(ctx context.Context, archive *fetch.Archive, temp string) error {
	if strings.Contains(in.From, "://") {
		source, err := fetch.Parse(in.From)
		if err != nil {
			return err
		}
		client := in.Client
		if client == nil {
			client = fetch.Client()
		}
		return archive.Fill(func(to io.Writer) error { return source.Write(ctx, client, temp, to) })
	}
	info, err := os.Stat(in.From)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return archive.Fill(func(to io.Writer) error { return fetch.Folder(os.DirFS(in.From), to) })
	}
	f, err := os.Open(in.From)
	if err != nil {
		return err
	}
	defer f.Close()
	return archive.Take(io.LimitReader(f, skills.MaxArchive+1))
}

// tellRefused explains why a skill is not taken.
func tellRefused(w io.Writer, r *skills.Refused) error {
	if err := tellFindings(w, r.Findings); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "not installed: %s\n", r.Why)
	return err
}

func tellFindings(w io.Writer, list []skills.Finding) error {
	for _, f := range list {
		if _, err := fmt.Fprintf(w, "%s: %s\n", f.Severity, f); err != nil {
			return err
		}
	}
	return nil
}
