package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/skills"
	"fawn/agent/skills/fetch"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/views"
	"fawn/views/agents"
	"fawn/web/ui/page"
)

// keepArchive creates a file for an archive; drop removes it.
func (h *Handlers) keepArchive() (archive *fetch.Archive, drop func(), err error) {
	archive, err = fetch.Keep(h.Dirs.Root)
	if err != nil {
		return nil, nil, err
	}
	return archive, func() { h.dropArchive(archive) }, nil
}

func (h *Handlers) dropArchive(archive *fetch.Archive) {
	if err := archive.Drop(); err != nil {
		h.Log.Warn("couldn't remove a copy of an archive", "err", err)
	}
}

// undecided holds archives pending a person's decision.
func (h *Handlers) undecided() fetch.Waiting {
	return fetch.Waiting(filepath.Join(h.Dirs.Root, "skills-waiting"))
}

// uploadSkill handles POST /ui/skills/install. The archive goes to a file first, as its directory is at the end.
func (h *Handlers) uploadSkill(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, skills.MaxArchive+page.SmallForm)
	archive, drop, err := h.keepArchive()
	if err != nil {
		return err
	}
	defer drop()
	name := ""
	_, _, err = page.ReadFormFiles(r, page.SmallForm, func(_ url.Values, parts *multipart.Reader) error {
		part, err := parts.NextPart()
		if err != nil {
			return page.FormError(err)
		}
		name = part.FileName()
		return page.FormError(archive.Take(part))
	})
	if err != nil {
		return err
	}
	return h.proposeOrAsk(c, archive, name)
}

// fetchSkill handles POST /ui/skills/fetch: a skill at an address.
func (h *Handlers) fetchSkill(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	address := strings.TrimSpace(form.Get("address"))
	source, err := fetch.Parse(address)
	if err != nil {
		return h.skillsPage(c, http.StatusUnprocessableEntity, &notFetched{err, address})
	}
	archive, drop, err := h.keepArchive()
	if err != nil {
		return err
	}
	defer drop()
	err = archive.Fill(func(to io.Writer) error {
		return source.Write(c.Request().Context(), h.Fetch, h.Dirs.Root, to)
	})
	if errors.As(err, new(*skills.Refused)) {
		return h.skillsPage(c, http.StatusUnprocessableEntity, &notFetched{err, address})
	}
	if err != nil {
		return err
	}
	return h.proposeOrAsk(c, archive, address)
}

// notFetched is the reason why an address provided no skill; the form keeps the address.
type notFetched struct {
	error
	address string
}

func (n *notFetched) Unwrap() error { return n.error }

// proposeOrAsk installs the skill in an archive, or stores it until a person answers.
func (h *Handlers) proposeOrAsk(c echo.Context, archive *fetch.Archive, from string) error {
	p, done, err := h.propose(archive, "")
	switch {
	case err != nil:
		return h.skillsPage(c, http.StatusUnprocessableEntity, err)
	case done:
		return c.Redirect(http.StatusSeeOther, views.SkillURL(p.Skill.Name)+"?saved=1")
	}
	if err := h.undecided().Put(archive); err != nil {
		return err
	}
	return h.askForSkill(c, views.SkillInstallPage{Name: from, Action: views.SkillWaitingURL(archive.Sum),
		Back: views.SkillsURL, Sum: archive.Sum}, p, nil)
}

// installWaiting handles POST /ui/skills/waiting/:sum: the answer to proposeOrAsk.
func (h *Handlers) installWaiting(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	archive, err := h.undecided().Open(page.Param(c, "sum"))
	if errors.Is(err, fs.ErrNotExist) {
		return h.skillsPage(c, http.StatusUnprocessableEntity, errNotWaiting)
	}
	if err != nil {
		return fmt.Errorf("open an archive: %w", err)
	}
	defer h.dropArchive(archive)
	p, done, err := h.propose(archive, form.Get("consent"))
	if err != nil || !done {
		return h.skillsPage(c, http.StatusUnprocessableEntity, cmp.Or(err, errNotWaiting))
	}
	return c.Redirect(http.StatusSeeOther, views.SkillURL(p.Skill.Name)+"?saved=1")
}

var errNotWaiting = errors.New("the archive is no longer waiting")

// propose inspects an archive and installs its skill if it has no executables and no findings, or if the person
// approved this exact file.
func (h *Handlers) propose(archive *fetch.Archive, consent string) (p skills.Proposal, done bool, err error) {
	scan := h.skillEdit().Scan
	p, err = h.Skills.Inspect(archive, archive.Size, scan)
	if err != nil || p.Risky() && consent != archive.Sum {
		return p, false, err
	}
	_, err = h.Skills.Install(archive, archive.Size, scan)
	return p, err == nil, err
}

// askForSkill returns the page that asks whether to install a skill, or explains why it can't be.
func (h *Handlers) askForSkill(c echo.Context, view views.SkillInstallPage, p skills.Proposal,
	failed error) (err error) {
	view.Skill, view.Facts, view.Runs, view.Findings = skillInfo(p.Skill), skillFacts(p.Skill), p.Runs,
		skillFindings(p.Findings)
	for _, f := range p.Files[:min(len(p.Files), 200)] {
		view.Files = append(view.Files, views.SkillFile{Name: f.Name, Size: f.Size})
	}
	status := http.StatusOK
	if failed != nil {
		status = http.StatusUnprocessableEntity
		view.Problem, view.Findings = h.skillProblem(c, failed)
	}
	if view.Shell, err = h.Shell(c, views.NavSkills, ""); err != nil {
		return err
	}
	return page.HTML(c, status, agents.InstallSkill(view))
}

// installFile handles POST /ui/threads/:id/skill/*: the skill in a chat's file. Without executables and findings it is
// installed at once; otherwise a page asks, and its answer is valid for this exact file only.
func (h *Handlers) installFile(c echo.Context, t store.Thread) error {
	if h.Skills == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	clean, err := files.Clean("/" + page.TrimSlash(page.Param(c, "*")))
	if err != nil {
		return err
	}
	if !strings.EqualFold(path.Ext(clean), ".skill") {
		return store.ErrNotFound
	}
	archive, drop, err := h.keepArchive()
	if err != nil {
		return err
	}
	defer drop()
	if err := h.takeFile(archive, t.ID, clean); page.IsMissing(err) {
		return store.ErrNotFound
	} else if err != nil {
		return err
	}
	p, done, err := h.propose(archive, form.Get("consent"))
	if done {
		return c.Redirect(http.StatusSeeOther, views.SkillURL(p.Skill.Name)+"?saved=1")
	}
	view := views.SkillInstallPage{Name: path.Base(clean), Action: views.SkillFromURL(t.ID, page.TrimSlash(clean)),
		Back: views.ThreadURL(t.ID), Chat: true, Sum: archive.Sum}
	return h.askForSkill(c, view, p, err)
}

// takeFile copies a file of a chat; an oversized one is truncated beyond the limit that refuses it.
func (h *Handlers) takeFile(archive *fetch.Archive, thread, clean string) error {
	dir, err := h.Dirs.Open(thread)
	if err != nil {
		return err
	}
	defer dir.Close()
	file, _, err := dir.Open(clean)
	if err != nil {
		return err
	}
	defer file.Close()
	return archive.Take(io.LimitReader(file, skills.MaxArchive+1))
}
