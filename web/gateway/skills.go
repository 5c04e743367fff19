package gateway

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/skills"
	"fawn/sandbox/files"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// skillJSON is a skill in DeerFlow's form, with the problems found in its files.
type skillJSON struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	License     *string       `json:"license"`
	Category    string        `json:"category"`
	Enabled     bool          `json:"enabled"`
	Editable    bool          `json:"editable"`
	Findings    []findingJSON `json:"findings,omitempty"`
	Content     *string       `json:"content,omitempty"`
}

// findingJSON is something about a file of a skill.
type findingJSON struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Rule     string `json:"rule,omitempty"`
}

func skillOf(s skills.Skill) skillJSON {
	out := skillJSON{Name: s.Name, Description: s.Description, License: route.TextOrNull(s.License),
		Category: string(s.Category),
		Enabled:  s.Enabled && s.Usable(), Editable: s.Editable()}
	for _, f := range s.Findings {
		out.Findings = append(out.Findings, findingJSON{f.File, f.Line, string(f.Severity), f.Text, f.Rule})
	}
	return out
}

type skillList struct {
	Skills []skillJSON `json:"skills"`
}

func skillsOf(list []skills.Skill, take func(skills.Skill) bool) skillList {
	out := []skillJSON{}
	for _, s := range list {
		if take(s) {
			out = append(out, skillOf(s))
		}
	}
	return skillList{out}
}

// onSkills returns the handler of a route of skills.
func (g *Gateway) onSkills(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if g.Skills == nil {
			return httpx.Errorf(http.StatusNotFound, "There are no skills here")
		}
		return h(c)
	}
}

// skillError words an error of a skill.
func skillError(err error, name string) error {
	var refused *skills.Refused
	switch {
	case errors.Is(err, skills.ErrNotFound):
		return httpx.Errorf(http.StatusNotFound, "Skill '%s' not found", route.Cut(name, 80))
	case errors.Is(err, skills.ErrReadOnly):
		return httpx.Errorf(http.StatusBadRequest, "Skill '%s' is not a custom skill and can't be changed",
			route.Cut(name, 80))
	case errors.Is(err, skills.ErrExists):
		return httpx.Errorf(http.StatusConflict, "A skill of that name already exists")
	case errors.As(err, &refused):
		return httpx.Errorf(http.StatusBadRequest, "%s", strings.ToUpper(refused.Why[:1])+refused.Why[1:])
	}
	return err
}

func (g *Gateway) listSkills(c echo.Context) error {
	list, err := g.Skills.List()
	if err != nil {
		return err
	}
	may, err := g.Rights(c.Request().Context())
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, skillsOf(list, func(s skills.Skill) bool { return may.May(access.Skill, s.Name) }))
}

func (g *Gateway) skill(c echo.Context) error {
	name := route.Param(c, "name")
	s, err := g.Skills.Get(name)
	if err != nil {
		return skillError(err, name)
	}
	if may, err := g.Rights(c.Request().Context()); err != nil {
		return err
	} else if !may.May(access.Skill, name) {
		return skillError(skills.ErrNotFound, name)
	}
	return httpx.JSON(c, http.StatusOK, skillOf(s))
}

func (g *Gateway) switchSkill(c echo.Context) error {
	var b enabledBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Enabled == nil {
		return httpx.Invalid("body", "enabled", "is required")
	}
	name := route.Param(c, "name")
	if err := g.Skills.SetEnabled(map[string]bool{name: *b.Enabled}); err != nil {
		return skillError(err, name)
	}
	return g.skill(c)
}

// skillSwitches is the body of switchSkills.
type skillSwitches struct {
	Skills map[string]struct {
		Enabled *bool `json:"enabled"`
	} `json:"skills"`
}

// switchSkills switches several at once: all that the body names, or none.
func (g *Gateway) switchSkills(c echo.Context) error {
	var b skillSwitches
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Skills == nil {
		return httpx.Invalid("body", "skills", "is required")
	}
	list, err := g.Skills.List()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, s := range list {
		known[s.Name] = true
	}
	on := map[string]bool{}
	for name, s := range b.Skills {
		if s.Enabled == nil {
			return httpx.Invalid("body", "skills", "enabled is required for each skill")
		}
		if !known[name] {
			return skillError(skills.ErrNotFound, name)
		}
		on[name] = *s.Enabled
	}
	if err := g.Skills.SetEnabled(on); err != nil {
		return skillError(err, "")
	}
	return g.listSkills(c)
}

type reloadedSkills struct {
	Message string `json:"message"`
	Scope   string `json:"scope"` // as DeerFlow names it
	Success bool   `json:"success"`
}

func (g *Gateway) reloadSkills(c echo.Context) error {
	if err := g.Skills.Refresh(); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK,
		reloadedSkills{"The skills were read again", "process", true})
}

// installBody is the body of installSkill.
type installBody struct {
	Thread string `json:"thread_id"`
	Path   string `json:"path"`
}

type installedSkill struct {
	Findings []findingJSON `json:"findings"`
	Message  string        `json:"message"`
	Name     string        `json:"skill_name"`
	Success  bool          `json:"success"`
}

// installSkill takes a skill from an archive among a thread's files.
func (g *Gateway) installSkill(c echo.Context) error {
	var b installBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if !g.ValidID(b.Thread) {
		return g.BadID("body", b.Thread)
	}
	if err := g.Free(c, b.Thread); err != nil {
		return err
	}
	if !strings.HasSuffix(strings.ToLower(b.Path), ".skill") {
		return httpx.Errorf(http.StatusBadRequest, "The path must end in .skill")
	}
	clean := path.Clean("/" + b.Path)
	if clean != files.UserData && !strings.HasPrefix(clean, files.UserData+"/") {
		return route.Traversal()
	}
	dir, err := g.Dirs.Open(b.Thread)
	if errors.Is(err, fs.ErrNotExist) {
		return route.NoFile(route.Cut(b.Path, 200))
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	file, info, err := route.OpenFile(dir, clean)
	if err != nil {
		return err
	}
	defer file.Close()
	s, err := g.Skills.Install(file, info.Size(), g.Config().File.SkillScan.Enabled)
	if err != nil {
		return skillError(err, "")
	}
	return httpx.JSON(c, http.StatusOK,
		installedSkill{skillOf(s).Findings, "Skill '" + s.Name + "' installed successfully", s.Name, true})
}

func (g *Gateway) listCustomSkills(c echo.Context) error {
	list, err := g.Skills.List()
	if err != nil {
		return err
	}
	may, err := g.Rights(c.Request().Context())
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK,
		skillsOf(list, func(s skills.Skill) bool { return s.Editable() && may.May(access.Skill, s.Name) }))
}

// customSkill answers with a custom skill and its text.
func (g *Gateway) customSkill(c echo.Context) error {
	name := route.Param(c, "name")
	s, err := g.Skills.Get(name)
	if err == nil && !s.Editable() {
		err = skills.ErrNotFound
	}
	if err != nil {
		return skillError(err, name)
	}
	return skillText(c, s)
}

func skillText(c echo.Context, s skills.Skill) error {
	out, text := skillOf(s), s.Text()
	out.Content = &text
	return httpx.JSON(c, http.StatusOK, out)
}

// edit names the API as the author of a change.
func (g *Gateway) edit() skills.Edit {
	return skills.Edit{Author: "human", Scan: g.Config().File.SkillScan.Enabled}
}

// skillContent is the body of putCustomSkill.
type skillContent struct {
	Content *string `json:"content"`
}

func (g *Gateway) putCustomSkill(c echo.Context) error {
	var b skillContent
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Content == nil {
		return httpx.Invalid("body", "content", "is required")
	}
	name := route.Param(c, "name")
	s, err := g.Skills.Write(name, *b.Content, g.edit())
	if err != nil {
		return skillError(err, name)
	}
	return skillText(c, s)
}

func (g *Gateway) deleteCustomSkill(c echo.Context) error {
	name := route.Param(c, "name")
	if err := g.Skills.Delete(name, g.edit()); err != nil {
		return skillError(err, name)
	}
	return httpx.JSON(c, http.StatusOK, route.Done{Success: true})
}

type skillHistory struct {
	History []skills.Change `json:"history"`
}

func (g *Gateway) customSkillHistory(c echo.Context) error {
	name := route.Param(c, "name")
	list, err := g.Skills.History(name)
	if err != nil {
		return skillError(err, name)
	}
	if list == nil {
		list = []skills.Change{}
	}
	return httpx.JSON(c, http.StatusOK, skillHistory{list})
}

// rollbackBody is the body of rollbackCustomSkill.
type rollbackBody struct {
	Index int `json:"history_index"`
}

func (g *Gateway) rollbackCustomSkill(c echo.Context) error {
	b := rollbackBody{-1}
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	name := route.Param(c, "name")
	s, err := g.Skills.Rollback(name, b.Index, g.edit())
	if err != nil {
		return skillError(err, name)
	}
	return skillText(c, s)
}

// describeSkills returns the routes of skills.
func describeSkills() []o.Op {
	const tag = "Skills"
	one, text := route.Answered("The skill", o.Ref("Skill")), route.Answered("The skill with its text", o.Ref("Skill"))
	list := o.Of[skillList](o.Is("skills", o.List(o.Ref("Skill"))))
	change := o.Of[skills.Change](o.Is("action", o.Enum("create", "edit", "patch", "write_file", "remove_file", "delete", "rollback")),
		o.Is("scanner", o.Of[skills.Scan](o.Is("decision", o.Enum("allow", "warn")))))
	return []o.Op{
		{ID: "listSkills", Tag: tag, Text: "List skills",
			More: "One whose files can't be used has a finding that is an error.",
			Out:  route.Answered("The skills by name", list)},
		{ID: "switchSkills", Tag: tag, Text: "Switch several skills",
			More: "An unknown name is a 404, and nothing changes.", Need: true,
			Body: o.Reads[skillSwitches](o.Req("skills", o.Map(o.Object(o.Req("enabled", o.Bool()))))), Out: route.Answered("All skills", list),
			Fail: []int{404}},
		{ID: "getSkill", Tag: tag, Text: "Get a skill", Out: one},
		{ID: "switchSkill", Tag: tag, Text: "Switch a skill on or off",
			More: "It leaves prompts and sandboxes at once.", Need: true, Body: o.Reads[enabledBody](o.Req("enabled", o.Bool())), Out: one},
		{ID: "installSkill", Tag: tag, Text: "Install a skill from an archive among a thread's files",
			More: "Nothing of an archive that is refused stays. The rules are in docs/skills.md.", Need: true,
			Body: o.Reads[installBody](o.Req("thread_id", o.String()), o.Req("path", o.String())),
			Out: route.Answered("Installed", o.Of[installedSkill](
				o.Is("findings", o.Nullable(o.List(o.Ref("SkillFinding")))))), Fail: []int{400, 403, 404, 409}},
		{ID: "reloadSkills", Tag: tag, Text: "Look for changes of skills", More: "Fawn also does so by itself.",
			Out: route.Answered("Done", o.Of[reloadedSkills]())},
		{ID: "listCustomSkills", Tag: tag, Text: "List custom skills", Out: route.Answered("The skills by name", list)},
		{ID: "getCustomSkill", Tag: tag, Text: "Get a custom skill with its text", Out: text},
		{ID: "putCustomSkill", Tag: tag, Text: "Replace the text of a custom skill", Need: true,
			Body: o.Reads[skillContent](o.Req("content", o.String())), Out: text, Fail: []int{400}},
		{ID: "deleteCustomSkill", Tag: tag, Text: "Delete a custom skill and its files",
			Out: route.Answered("Deleted", o.Of[route.Done]()), Fail: []int{400}},
		{ID: "listSkillChanges", Tag: tag, Text: "List the changes of a custom skill, the oldest first",
			Out: route.Answered("The changes", o.Of[skillHistory](o.Is("history", o.List(change)))), Fail: []int{400}},
		{ID: "rollbackSkill", Tag: tag, Text: "Undo a change of a custom skill",
			More: "history_index is its place in the history; negative ones count from the newest, which is -1.",
			Body: o.Reads[rollbackBody](o.Is("history_index", o.Schema{"type": "integer", "default": -1})), Out: text,
			Fail: []int{400}},
	}
}

// skillSchemas returns the schemas of describeSkills.
func skillSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"Skill":        o.Of[skillJSON](o.Is("category", o.Enum("public", "custom")), o.Is("findings", o.List(o.Ref("SkillFinding")))),
		"SkillFinding": o.Of[findingJSON](o.Is("severity", o.Enum("error", "warning", "note"))),
	}
}
