package agents

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/skills"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/views"
	"fawn/views/agents"
	"fawn/web/ui/page"
)

// maxSkillForm limits the form with the text of a skill.
const maxSkillForm = 4 * skills.MaxText

// withSkills returns the handler of a page that exists only with skills.
func (h *Handlers) withSkills(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if h.Skills == nil {
			return store.ErrNotFound
		}
		return next(c)
	}
}

// skills handles GET /workspace/skills.
func (h *Handlers) skills(c echo.Context) error {
	return h.skillsPage(c, http.StatusOK, nil)
}

// skillsPage lists the skills, with why an archive was refused.
func (h *Handlers) skillsPage(c echo.Context, status int, failed error) error {
	shell, err := h.Shell(c, views.NavSkills, "")
	if err != nil {
		return err
	}
	p := views.SkillsPage{Shell: shell, Operator: page.MayChange(c)}
	p.Problem, p.Findings = h.skillProblem(c, failed)
	if missed := new(notFetched); errors.As(failed, &missed) {
		p.Address = missed.address
	}
	if h.Skills != nil {
		list, err := h.Skills.List()
		if err != nil {
			return err
		}
		may := h.Rights(c.Request().Context())
		for _, s := range list {
			if !p.Operator && !may.May(access.Skill, s.Name) {
				continue
			}
			p.Skills = append(p.Skills, skillInfo(s))
		}
	}
	return page.HTML(c, status, agents.Skills(p))
}

func skillInfo(s skills.Skill) views.SkillInfo {
	info := views.SkillInfo{Name: s.Name, Text: page.OneLine(s.Description), Custom: s.Editable(), Bundled: s.Bundled,
		On: s.Enabled && s.Usable()}
	for _, f := range s.Findings {
		if f.Severity == skills.Bad && info.Problem == "" {
			info.Problem = f.String()
		}
	}
	return info
}

func skillFindings(list []skills.Finding) (out []views.SkillFinding) {
	for _, f := range list {
		out = append(out, views.SkillFinding{Severity: string(f.Severity), Text: f.String()})
	}
	return out
}

// skillProblem words why a skill was not taken.
func (h *Handlers) skillProblem(c echo.Context, err error) (string, []views.SkillFinding) {
	var refused *skills.Refused
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, errNotWaiting):
		return page.Say(c, "skills.wrong.waited"), nil
	case errors.Is(err, skills.ErrExists):
		return page.Say(c, "skills.wrong.taken"), nil
	case errors.As(err, &refused):
		return page.Say(c, "skills.wrong.refused", refused.Why), skillFindings(refused.Findings)
	}
	return page.Say(c, "skills.wrong.failed"), nil
}

// skill handles GET /workspace/skills/:name.
func (h *Handlers) skill(c echo.Context) error {
	if h.Skills == nil {
		return h.Missing(true)(c)
	}
	return h.skillPage(c, http.StatusOK, nil, nil)
}

// skillPage shows a skill with its form's text; nil uses the stored one.
func (h *Handlers) skillPage(c echo.Context, status int, text *string, failed error) error {
	name := page.Param(c, "name")
	s, err := h.Skills.Get(name)
	if errors.Is(err, skills.ErrNotFound) || !page.MayChange(c) && !h.Rights(c.Request().Context()).May(access.Skill, name) {
		return h.Missing(true)(c)
	}
	if err != nil {
		return err
	}
	p := views.SkillPage{Skill: skillInfo(s), Path: s.Path(files.Skills), Findings: skillFindings(s.Findings),
		Source: s.Text(), Operator: page.MayChange(c)}
	if text != nil {
		p.Source = *text
	}
	p.Problem, _ = h.skillProblem(c, failed)
	if p.Shell, err = h.Shell(c, views.NavSkills, ""); err != nil {
		return err
	}
	p.Facts = skillFacts(s)
	all, found, err := h.Skills.Contents(name)
	if err != nil && !errors.Is(err, skills.ErrNotFound) {
		return err
	}
	p.Findings = append(p.Findings, skillFindings(found)...)
	for _, f := range all[:min(len(all), 200)] {
		p.Files = append(p.Files, views.SkillFile{Name: f.Name, Size: f.Size})
	}
	if s.Editable() {
		changes, err := h.Skills.History(name)
		if err != nil && !errors.Is(err, skills.ErrNotFound) {
			return err
		}
		for i := len(changes) - 1; i >= 0; i-- {
			change := views.SkillChange{Index: i, Action: skillAction(changes[i].Action), At: changes[i].At.UTC(),
				Undo: changes[i].Before != nil}
			if f := changes[i].File; f != skills.File {
				change.File = f
			}
			p.Changes = append(p.Changes, change)
		}
	}
	return page.HTML(c, status, agents.Skill(p))
}

// skillAction returns a catalogue key; actions of other programs count as edits.
func skillAction(action string) string {
	switch action {
	case "create", "delete", "rollback":
		return action
	case "remove_file":
		return "delete"
	}
	return "edit"
}

func skillFacts(s skills.Skill) (out []views.SkillFact) {
	add := func(key, value string) {
		if value != "" {
			out = append(out, views.SkillFact{Key: key, Value: value})
		}
	}
	if s.AllowedTools != nil {
		add("tools", strings.Join(append([]string{}, s.AllowedTools...), ", "))
		if len(s.AllowedTools) == 0 {
			add("tools", "–")
		}
	}
	var secrets []string
	for _, one := range s.Secrets {
		secrets = append(secrets, one.Name)
	}
	add("secrets", strings.Join(secrets, ", "))
	add("license", s.License)
	add("version", s.Version)
	add("author", s.Author)
	add("compatibility", s.Compatibility)
	return out
}

// switchSkill handles POST /ui/skills/by-name/:name/switch.
func (h *Handlers) switchSkill(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	name := page.Param(c, "name")
	err = h.Skills.SetEnabled(map[string]bool{name: form.Get("on") == "true"})
	if errors.Is(err, skills.ErrNotFound) {
		return h.Missing(true)(c)
	}
	if err != nil {
		return err
	}
	if form.Get("from") == "page" {
		return c.Redirect(http.StatusSeeOther, views.SkillURL(name))
	}
	return c.Redirect(http.StatusSeeOther, views.SkillsURL)
}

// skillEdit identifies changes made on the pages.
func (h *Handlers) skillEdit() skills.Edit {
	return skills.Edit{Author: "human", Scan: h.Config.Current().File.SkillScan.Enabled}
}

// saveSkill handles POST /ui/skills/by-name/:name/text.
func (h *Handlers) saveSkill(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), maxSkillForm)
	if err != nil {
		return err
	}
	name, text := page.Param(c, "name"), page.PlainText(form.Get("text"))
	_, err = h.Skills.Write(name, text, h.skillEdit())
	return h.skillChanged(c, name, &text, err)
}

// rollbackSkill handles POST /ui/skills/by-name/:name/rollback.
func (h *Handlers) rollbackSkill(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	index, err := strconv.Atoi(form.Get("index"))
	if err != nil {
		return store.ErrNotFound
	}
	name := page.Param(c, "name")
	_, err = h.Skills.Rollback(name, index, h.skillEdit())
	return h.skillChanged(c, name, nil, err)
}

// skillChanged redirects to a skill's page, or shows the error.
func (h *Handlers) skillChanged(c echo.Context, name string, text *string, err error) error {
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, views.SkillURL(name)+"?saved=1")
	case errors.Is(err, skills.ErrNotFound), errors.Is(err, skills.ErrReadOnly):
		return h.Missing(true)(c)
	case errors.As(err, new(*skills.Refused)):
		return h.skillPage(c, http.StatusUnprocessableEntity, text, err)
	}
	return err
}

// deleteSkill handles POST /ui/skills/by-name/:name/delete.
func (h *Handlers) deleteSkill(c echo.Context) error {
	err := h.Skills.Delete(page.Param(c, "name"), h.skillEdit())
	if err != nil && !errors.Is(err, skills.ErrNotFound) { // twice is as good
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SkillsURL)
}
