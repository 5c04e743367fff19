package agents

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/browsing"
	"fawn/agent/community"
	"fawn/agent/knowledge"
	"fawn/agent/profile"
	"fawn/agent/tools"
	"fawn/store"
	"fawn/views"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// maxAgentForm limits the forms of an agent, in bytes. Everything in them may be escaped.
const maxAgentForm = 4 * profile.MaxExport

// blankAgent returns the initial form of a new agent.
func (h *Handlers) blankAgent(ctx context.Context) views.AgentForm {
	f := h.agentForm(ctx, profile.Agent{})
	f.New = true
	return f
}

// agentForm returns the form of an agent.
func (h *Handlers) agentForm(ctx context.Context, a profile.Agent) views.AgentForm {
	f := views.AgentForm{Name: a.Name, Description: a.Description, Soul: a.Soul, Model: a.Model,
		AllTools: a.ToolGroups == nil, Effort: a.Effort}
	for _, m := range h.Models(ctx) {
		f.Models = append(f.Models, views.ModelChoice{Name: m.Name, Label: m.DisplayName})
	}
	if a.Model != "" && !slices.ContainsFunc(f.Models, func(m views.ModelChoice) bool { return m.Name == a.Model }) {
		f.Models = append(f.Models, views.ModelChoice{Name: a.Model})
	}
	groups := []string{tools.GroupRead, tools.GroupWrite, tools.GroupBash, community.Group, browsing.Group}
	seen := map[string]bool{}
	for _, g := range append(groups, a.ToolGroups...) {
		if !seen[g] {
			seen[g] = true
			f.Groups = append(f.Groups,
				views.AgentGroup{Name: g, On: a.ToolGroups == nil || slices.Contains(a.ToolGroups, g)})
		}
	}
	collections, err := knowledge.Choices(ctx, h.DB, principal.Owner(ctx), a.Knowledge)
	for _, c := range collections {
		f.Knowledge = append(f.Knowledge, views.ProjectChoice{Name: c.Ref, Label: c.Label, On: c.Chosen})
	}
	for _, name := range a.Knowledge {
		if err != nil { // those chosen stay
			f.Knowledge = append(f.Knowledge, views.ProjectChoice{Name: name, Label: name, On: true})
		}
	}
	if a.Thinking != nil {
		f.Thinking = map[bool]string{true: "on", false: "off"}[*a.Thinking]
	}
	if a.Temperature != nil {
		f.Temperature = strconv.FormatFloat(*a.Temperature, 'f', -1, 64)
	}
	if a.MaxTokens != nil {
		f.MaxTokens = strconv.Itoa(*a.MaxTokens)
	}
	return f
}

// agentProblem is a problem with a field of a form, as a key of the catalogue.
type agentProblem struct{ field, key string }

func (p *agentProblem) Error() string { return p.field + ": " + p.key }

// fill writes a form into an agent, except its name and skills.
func (h *Handlers) fill(a *profile.Agent, form url.Values) error {
	was := a.Model
	a.Description, a.Soul = page.OneLine(page.PlainText(form.Get("description"))), page.PlainText(form.Get("soul"))
	a.Model, a.Effort, a.ToolGroups = form.Get("model"), form.Get("effort"), nil
	if form.Get("all_tools") == "" {
		a.ToolGroups = append([]string{}, form["group"]...)
	}
	if form.Has("shownknowledge") {
		a.Knowledge = form["knowledge"]
	}
	a.Thinking, a.Temperature, a.MaxTokens = nil, nil, nil
	if v := form.Get("thinking"); v != "" {
		on := v == "on"
		a.Thinking = &on
	}
	if v := strings.TrimSpace(strings.ReplaceAll(form.Get("temperature"), ",", ".")); v != "" {
		t, err := strconv.ParseFloat(v, 64)
		if a.Temperature = &t; err != nil {
			return &agentProblem{"temperature", "agents.wrong.temperature"}
		}
	}
	if v := strings.TrimSpace(form.Get("max_tokens")); v != "" {
		n, err := strconv.Atoi(v)
		if a.MaxTokens = &n; err != nil {
			return &agentProblem{"max_tokens", "agents.wrong.tokens"}
		}
	}
	if _, ok := h.Config.Current().Model(a.Model); a.Model != "" && a.Model != was && !ok {
		return &agentProblem{"model", "agents.wrong.model"}
	}
	return a.Check()
}

// agentWrong explains in the reader's language the problem with a form, and names the field; other
// errors are returned unchanged.
func agentWrong(c echo.Context, err error) (field, text string, _ error) {
	var own *agentProblem
	var bad *profile.Invalid
	switch {
	case errors.As(err, &own):
		return own.field, page.Say(c, own.key), nil
	case errors.Is(err, profile.ErrExists):
		return "name", page.Say(c, "agents.wrong.taken"), nil
	case errors.Is(err, profile.ErrFull):
		return "", page.Say(c, "agents.wrong.full", profile.MaxAgents), nil
	case !errors.As(err, &bad):
		return "", "", err
	}
	switch bad.Field {
	case "name":
		return "name", page.Say(c, "agents.wrong.name"), nil
	case "model_settings.temperature":
		return "temperature", page.Say(c, "agents.wrong.temperature"), nil
	case "model_settings.max_tokens":
		return "max_tokens", page.Say(c, "agents.wrong.tokens"), nil
	}
	return bad.Field, views.Safe(bad.Why), nil
}

// readAgentForm reads a form about agents.
func (h *Handlers) readAgentForm(c echo.Context) (url.Values, string, error) {
	if h.Agents == nil {
		return nil, "", store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), maxAgentForm)
	return form, principal.Owner(c.Request().Context()), err
}

// addAgent handles POST /ui/agents.
func (h *Handlers) addAgent(c echo.Context) error {
	form, owner, err := h.readAgentForm(c)
	if err != nil {
		return err
	}
	asked := strings.TrimSpace(form.Get("name"))
	a := profile.Agent{}
	a.Name, err = profile.Name(asked)
	if bad := h.fill(&a, form); err == nil {
		err = bad
	}
	if err == nil {
		err = h.Agents.Create(owner, a)
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, views.AgentURL(a.Name)+"?saved=1")
	}
	p := views.NewAgentPage{Open: "form", Form: h.agentForm(c.Request().Context(), a)}
	p.Form.New, p.Form.Name = true, page.Head(asked, page.MaxTitle)
	p.Form.Temperature, p.Form.MaxTokens = page.Head(form.Get("temperature"), page.MaxPref),
		page.Head(form.Get("max_tokens"), page.MaxPref)
	if p.Form.Wrong, p.Form.Problem, err = agentWrong(c, err); err != nil {
		return err
	}
	return h.newAgentPage(c, http.StatusUnprocessableEntity, p)
}

// saveAgent handles POST /ui/agents/by-name/:name.
func (h *Handlers) saveAgent(c echo.Context) error {
	form, owner, err := h.readAgentForm(c)
	if err != nil {
		return err
	}
	name := page.Param(c, "name")
	var tried profile.Agent
	_, err = h.Agents.Change(owner, name, func(a *profile.Agent) error {
		err := h.fill(a, form)
		tried = *a
		return err
	})
	switch {
	case errors.Is(err, profile.ErrNotFound):
		return store.ErrNotFound
	case err == nil:
		return c.Redirect(http.StatusSeeOther, views.AgentURL(name)+"?saved=1")
	case tried.Name == "": // its files are broken by now
		return h.agentPage(c, http.StatusConflict, name, nil, nil)
	}
	f := h.agentForm(c.Request().Context(), tried)
	f.Temperature = page.Head(form.Get("temperature"), page.MaxPref)
	f.MaxTokens = page.Head(form.Get("max_tokens"), page.MaxPref)
	if f.Wrong, f.Problem, err = agentWrong(c, err); err != nil {
		return err
	}
	return h.agentPage(c, http.StatusUnprocessableEntity, name, &f, nil)
}

// saveAgentFiles handles POST /ui/agents/by-name/:name/files: both files as edited by hand.
func (h *Handlers) saveAgentFiles(c echo.Context) error {
	form, owner, err := h.readAgentForm(c)
	if err != nil {
		return err
	}
	name := page.Param(c, "name")
	f := agentFiles{config: page.PlainText(form.Get("config")), soul: page.PlainText(form.Get("soul"))}
	err = h.Agents.Rewrite(owner, name, f.config, f.soul)
	var bad *profile.Invalid
	switch {
	case errors.Is(err, profile.ErrNotFound):
		return store.ErrNotFound
	case errors.As(err, &bad):
		f.problem = views.Safe(bad.Error())
		if strings.HasPrefix(bad.Why, "config.yaml") {
			f.problem = views.Safe(bad.Why)
		}
		return h.agentPage(c, http.StatusUnprocessableEntity, name, nil, &f)
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.AgentURL(name)+"?saved=1")
}

// deleteAgent handles POST /ui/agents/by-name/:name/delete.
func (h *Handlers) deleteAgent(c echo.Context) error {
	if h.Agents == nil {
		return store.ErrNotFound
	}
	err := h.Agents.Delete(principal.Owner(c.Request().Context()), page.Param(c, "name"))
	if err != nil && !errors.Is(err, profile.ErrNotFound) { // twice is as good
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.AgentsURL)
}

// exportAgent handles GET /ui/agents/by-name/:name/export.
func (h *Handlers) exportAgent(c echo.Context) error {
	if h.Agents == nil {
		return store.ErrNotFound
	}
	name := page.Param(c, "name")
	data, err := h.Agents.Export(principal.Owner(c.Request().Context()), name)
	var bad *profile.Invalid
	switch {
	case errors.Is(err, profile.ErrNotFound):
		return store.ErrNotFound
	case errors.As(err, &bad):
		return httpx.Errorf(http.StatusConflict, "%s", bad.Why)
	case err != nil:
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Disposition", `attachment; filename="`+name+`.md"`)
	header.Set("X-Content-Type-Options", "nosniff")
	return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", data)
}

// importAgent handles POST /ui/agents/import.
func (h *Handlers) importAgent(c echo.Context) error {
	if h.Agents == nil {
		return store.ErrNotFound
	}
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxAgentForm)
	var data []byte
	form, _, err := page.ReadFormFiles(r, page.SmallForm, func(_ url.Values, files *multipart.Reader) error {
		part, err := files.NextPart()
		if err != nil {
			return page.FormError(err)
		}
		data, err = io.ReadAll(io.LimitReader(part, profile.MaxExport+1))
		return page.FormError(err)
	})
	if err != nil {
		return err
	}
	as := strings.TrimSpace(form.Get("name"))
	a, err := h.Agents.Import(principal.Owner(r.Context()), data, as)
	if err == nil {
		return c.Redirect(http.StatusSeeOther, views.AgentURL(a.Name)+"?saved=1")
	}
	p := views.NewAgentPage{Open: "import", Form: h.blankAgent(c.Request().Context()), Name: page.Head(as, page.MaxTitle)}
	if p.Wrong, p.Problem, err = agentWrong(c, err); err != nil {
		return err
	}
	return h.newAgentPage(c, http.StatusUnprocessableEntity, p)
}

// talkAgent handles POST /ui/agents/talk: a chat that creates an agent.
func (h *Handlers) talkAgent(c echo.Context) error {
	form, owner, err := h.readAgentForm(c)
	if err != nil {
		return err
	}
	p := views.NewAgentPage{Open: "talk", Form: h.blankAgent(c.Request().Context()),
		Name: page.Head(strings.TrimSpace(form.Get("name")), page.MaxTitle),
		Text: strings.TrimSpace(page.PlainText(form.Get("text")))}
	name, err := profile.Name(p.Name)
	if err == nil && h.Agents.Has(owner, name) {
		err = profile.ErrExists
	}
	if err != nil {
		if p.Wrong, p.Problem, err = agentWrong(c, err); err != nil {
			return err
		}
		return h.newAgentPage(c, http.StatusUnprocessableEntity, p)
	}
	text := page.Say(c, "agents.talk.first", name)
	if p.Text != "" {
		text += "\n\n" + p.Text
	}
	thread := uuid.Must(uuid.NewV7()).String()
	problem, status, err := h.Talk(c, thread, name, text)
	if err != nil {
		return err
	}
	if p.Problem = problem; problem != "" {
		return h.newAgentPage(c, status, p)
	}
	return c.Redirect(http.StatusSeeOther, views.ThreadURL(thread))
}
