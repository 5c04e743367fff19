package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/skills"
	"fawn/sandbox"
	"fawn/store"
	"fawn/views"
	"fawn/views/agents"
)

// keptArchive is an archive in a file of its own, which nobody changes while it is looked at.
type keptArchive struct {
	*os.File
	size int64
	sum  string
}

func (u *UI) keepArchive() (*keptArchive, error) {
	f, err := os.CreateTemp(u.Dirs.Root, ".skill-*")
	if err != nil {
		return nil, fmt.Errorf("keep an archive: %w", err)
	}
	return &keptArchive{File: f}, nil
}

// take fills the file.
func (a *keptArchive) take(from io.Reader) (err error) {
	h := sha256.New()
	a.size, err = io.Copy(io.MultiWriter(a.File, h), from)
	a.sum = hex.EncodeToString(h.Sum(nil))
	return err
}

func (u *UI) dropArchive(a *keptArchive) {
	if err := errors.Join(a.Close(), os.Remove(a.Name())); err != nil {
		u.Log.Warn("a copy of an archive stays", "err", err)
	}
}

// installSkill is POST /ui/skills/install. The archive goes to a file first, as its list of files
// stands at the end.
func (u *UI) installSkill(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, skills.MaxArchive+maxSmallForm)
	archive, err := u.keepArchive()
	if err != nil {
		return err
	}
	defer u.dropArchive(archive)
	form, _, err := readFormFiles(r, maxSmallForm, func(_ url.Values, files *multipart.Reader) error {
		part, err := files.NextPart()
		if err != nil {
			return formError(err)
		}
		return formErrorOrNil(archive.take(part))
	})
	if err != nil {
		return err
	}
	scan := u.skillEdit().Scan
	p, err := u.Skills.Inspect(archive, archive.size, scan)
	if err != nil {
		return u.skillsPage(c, http.StatusUnprocessableEntity, err)
	}
	if p.Risky() && form.Get("consent") != "yes" {
		return u.skillsPage(c, http.StatusUnprocessableEntity, &unseenSkill{p})
	}
	s, err := u.Skills.Install(archive, archive.size, scan)
	if err != nil {
		return u.skillsPage(c, http.StatusUnprocessableEntity, err)
	}
	return c.Redirect(http.StatusSeeOther, views.SkillURL(s.Name)+"?saved=1")
}

// unseenSkill is a skill whose risks nobody has accepted yet.
type unseenSkill struct{ skills.Proposal }

// Error is for logs.
func (u *unseenSkill) Error() string { return "the skill brings files that can be run" }

// installFile is POST /ui/threads/:id/skill/*: the skill in a file of a chat. One with nothing to run
// and nothing found in it is installed at once; else a page asks, and its answer holds for that very
// file only.
func (u *UI) installFile(c echo.Context, t store.Thread) error {
	if u.Skills == nil {
		return store.ErrNotFound
	}
	form, err := readForm(c.Request(), maxSmallForm)
	if err != nil {
		return err
	}
	clean, err := sandbox.Clean("/" + trimSlash(param(c, "*")))
	if err != nil {
		return err
	}
	if !strings.EqualFold(path.Ext(clean), ".skill") {
		return store.ErrNotFound
	}
	archive, err := u.keepArchive()
	if err != nil {
		return err
	}
	defer u.dropArchive(archive)
	if err := u.takeFile(archive, t.ID, clean); isMissing(err) {
		return store.ErrNotFound
	} else if err != nil {
		return err
	}
	scan := u.skillEdit().Scan
	p, err := u.Skills.Inspect(archive, archive.size, scan)
	if err == nil && (!p.Risky() || form.Get("consent") == archive.sum) {
		var s skills.Skill
		if s, err = u.Skills.Install(archive, archive.size, scan); err == nil {
			return c.Redirect(http.StatusSeeOther, views.SkillURL(s.Name)+"?saved=1")
		}
	}
	page := views.SkillInstallPage{Name: path.Base(clean), Action: views.SkillFromURL(t.ID, trimSlash(clean)), Back: views.ThreadURL(t.ID),
		Skill: skillInfo(p.Skill), Facts: skillFacts(p.Skill), Runs: p.Runs, Findings: skillFindings(p.Findings), Sum: archive.sum}
	for _, f := range p.Files[:min(len(p.Files), 200)] {
		page.Files = append(page.Files, views.SkillFile{Name: f.Name, Size: f.Size})
	}
	status := http.StatusOK
	if err != nil {
		status = http.StatusUnprocessableEntity
		page.Problem, page.Findings = u.skillProblem(c, err)
	}
	if page.Shell, err = u.shell(c, views.NavSkills, ""); err != nil {
		return err
	}
	return html(c, status, agents.InstallSkill(page))
}

// takeFile copies a file of a chat; one that is too large is cut off where it is refused anyway.
func (u *UI) takeFile(archive *keptArchive, thread, clean string) error {
	dir, err := u.Dirs.Open(thread)
	if err != nil {
		return err
	}
	defer dir.Close()
	file, _, err := dir.Open(clean)
	if err != nil {
		return err
	}
	defer file.Close()
	return archive.take(io.LimitReader(file, skills.MaxArchive+1))
}
