// Package projects serves the pages of projects. Their rules are package agent/projects.
package projects

import (
	"context"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/knowledge"
	"fawn/agent/profile"
	"fawn/agent/projects"
	"fawn/agent/skills"
	"fawn/memory"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	views_projects "fawn/views/projects"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Handlers serve the pages.
type Handlers struct {
	*page.Site
	Projects *projects.Service
	Agents   *profile.Library // nil means none
	Skills   *skills.Library  // nil means none
	Memory   *memory.Service  // nil learns nothing
	Uploads  func() uploads.Config
}

// Routes returns the pages of projects, and their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/projects", page.User, h.list),
		page.Get("/workspace/projects/:project", page.User, h.project),
		page.Post("/ui/projects", page.User, h.create),
		page.Post("/ui/projects/:project/:action", page.User, h.change),
		page.Get("/ui/threads/:id/project", page.User, h.OnThread(h.move)),
		page.Post("/ui/threads/:id/project", page.User, h.OnThread(h.moved)),
	}
}

// maxChats limits the chats listed on the page of a project.
const maxChats = 100

// maxForm limits the forms of settings and instructions, in bytes.
const maxForm = 4 * projects.MaxInstructions

// list handles GET /workspace/projects.
func (h *Handlers) list(c echo.Context) error {
	return h.listPage(c, http.StatusOK, views.ProjectsPage{New: c.QueryParam("new") != ""})
}

func (h *Handlers) listPage(c echo.Context, status int, p views.ProjectsPage) (err error) {
	if p.Shell, err = h.Shell(c, views.NavProjects, ""); err != nil {
		return err
	}
	all, err := h.DB.Projects(c.Request().Context(), principal.Owner(c.Request().Context()))
	if err != nil {
		return err
	}
	for _, one := range all {
		p.Projects = append(p.Projects, views.ProjectRow{ProjectLink: page.ProjectLink(one), Chats: one.Chats,
			Shared: one.Role != store.ProjectOwner})
	}
	return page.HTML(c, status, views_projects.ListPage(p))
}

// create handles POST /ui/projects.
func (h *Handlers) create(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p, err := h.Projects.Create(ctx, principal.Owner(ctx), page.PlainText(form.Get("name")), store.ProjectSettings{})
	var bad *projects.Invalid
	if errors.As(err, &bad) {
		return h.listPage(c, http.StatusUnprocessableEntity, views.ProjectsPage{Name: form.Get("name"),
			Problem: page.Say(c, "projects.name.bad")})
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.ProjectURL(p.ID))
}

// project handles GET /workspace/projects/:project.
func (h *Handlers) project(c echo.Context) error {
	p, err := h.found(c)
	if err != nil {
		return err
	}
	var notice *views.Notice
	if c.QueryParam("forgotten") != "" {
		notice = &views.Notice{Kind: views.NoticeInfo, Text: page.Say(c, "projects.facts.forgotten")}
	}
	return h.page(c, http.StatusOK, p, notice, views.Refused{})
}

// found returns the project in the path if the reader may read it.
func (h *Handlers) found(c echo.Context) (store.Project, error) {
	ctx := c.Request().Context()
	return h.DB.ProjectFor(ctx, principal.Owner(ctx), page.Param(c, "project"))
}

// page renders the page of a project, with the input of a refused form.
func (h *Handlers) page(c echo.Context, status int, p store.Project, notice *views.Notice, typed views.Refused) (err error) {
	ctx := c.Request().Context()
	me := principal.Owner(ctx)
	v := views.ProjectPage{Project: page.ProjectLink(p), Notice: notice, Owns: p.Role == store.ProjectOwner,
		Writes: p.Role.Writes(), Instructions: p.Settings.Instructions, Accounts: h.Accounts != nil && h.Accounts.Required(), Typed: typed}
	if v.Shell, err = h.Shell(c, views.NavProjects, ""); err != nil {
		return err
	}
	v.Shell.Project = p.ID
	rows, _, err := h.DB.Threads(ctx, store.ThreadQuery{Owner: me, Project: p.ID, Limit: maxChats})
	if err != nil {
		return err
	}
	if v.Chats, err = h.Rows(ctx, rows); err != nil {
		return err
	}
	list, err := h.Projects.Files(ctx, me, p.ID)
	if err != nil {
		return err
	}
	for _, f := range list.Files {
		at, _ := time.Parse(time.RFC3339, f.Modified) // the zero time if unreadable
		v.Files = append(v.Files, views.ProjectFile{Name: f.Filename, URL: f.ArtifactURL, Bytes: f.Size, Modified: at})
	}
	shown := p
	if typed.Form == "settings" {
		set(&shown, typed.Values)
		projects.Keep(&shown.Settings, p.Settings, h.Rights(ctx))
	}
	if v.Settings, err = h.settings(ctx, me, shown); err != nil {
		return err
	}
	if h.Memory != nil {
		facts, err := h.Memory.All(ctx, store.ProjectMemory(me, p.ID))
		if err != nil {
			return err
		}
		allowed, shared, err := h.DB.PersonalMemory(ctx, me, p.ID)
		if err != nil {
			return err
		}
		v.Asks, v.Personal = shared && p.Settings.Memory != store.MemoryIsolated, allowed
		for _, f := range facts {
			v.Facts = append(v.Facts, views.MemoryFact{ID: f.ID, Text: f.Content})
		}
	}
	if v.Accounts {
		if v.Members, err = h.members(c, p); err != nil {
			return err
		}
		if v.Owns {
			teams, err := projects.Groups(ctx, h.DB, p.Owner, principal.Of(ctx).Operator())
			if err != nil {
				return err
			}
			for _, t := range teams {
				v.Groups = append(v.Groups, t.Name)
			}
		}
	}
	return page.HTML(c, status, views_projects.Page(v))
}

// settings returns the settings of a project with all available choices.
func (h *Handlers) settings(ctx context.Context, me string, p store.Project) (views.ProjectSettings, error) {
	may := h.Rights(ctx)
	s := projects.Shown(p.Settings, may)
	v := views.ProjectSettings{Agent: s.Agent, Model: s.Model, Memory: s.Memory, Writable: s.Writable,
		AllSkills: s.Skills == nil, AllServers: s.Servers == nil}
	if p.Settings.Model != s.Model {
		v.Model, v.Models = views.KeptChoice, []string{views.KeptChoice}
	}
	if p.Settings.Agent != s.Agent {
		v.Agent, v.Agents = views.KeptChoice, []string{views.KeptChoice}
	}
	snap := h.Config.Current()
	for _, m := range h.Models(ctx) {
		v.Models = append(v.Models, m.Name)
	}
	if h.Agents != nil {
		list, err := h.Agents.List(principal.Owner(ctx))
		if err != nil {
			return v, err
		}
		for _, e := range list {
			if e.Err == nil && may.May(access.Agent, e.Name) {
				v.Agents = append(v.Agents, e.Name)
			}
		}
	}
	var all []string
	if h.Skills != nil {
		list, err := h.Skills.List()
		if err != nil {
			return v, err
		}
		for _, one := range list {
			if one.Usable() && one.Enabled && may.May(access.Skill, one.Name) {
				all = append(all, one.Name)
			}
		}
	}
	v.Skills = offered(all, s.Skills)
	all = nil
	for name := range snap.Extensions.MCPServers {
		if may.May(access.Server, name) {
			all = append(all, name)
		}
	}
	v.Servers = offered(all, s.Servers)
	collections, err := knowledge.Choices(ctx, h.DB, me, s.Knowledge, p.Owner)
	if err != nil {
		return v, err
	}
	for _, c := range collections {
		v.Knowledge = append(v.Knowledge, views.ProjectChoice{Name: c.Ref, Label: c.Label, On: c.Chosen})
	}
	for _, one := range []struct {
		chosen string
		among  *[]string
	}{{s.Agent, &v.Agents}, {s.Model, &v.Models}} {
		if one.chosen != "" && !slices.Contains(*one.among, one.chosen) { // otherwise saving the form would change it
			*one.among = append(*one.among, one.chosen)
		}
	}
	return v, nil
}

// offered returns all names with their selection, including selected ones that no longer exist.
func offered(all, chosen []string) (list []views.ProjectChoice) {
	all = append(slices.Clone(all), chosen...)
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		list = append(list, views.ProjectChoice{Name: name, On: slices.Contains(chosen, name)})
	}
	return list
}

func (h *Handlers) members(c echo.Context, p store.Project) (list []views.ProjectMember, err error) {
	ctx := c.Request().Context()
	all, err := h.DB.Members(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range append([]store.Member{{ID: p.Owner, Role: store.ProjectOwner}}, all...) {
		one := views.ProjectMember{ID: m.ID, Name: m.ID, Role: string(m.Role), Self: m.ID == principal.Owner(ctx)}
		if group, ok := store.MemberGroup(m.ID); ok {
			t, err := h.DB.Team(ctx, group)
			if err == nil {
				one.Name = t.Name
			} else if !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
		} else if u, err := h.DB.User(ctx, m.ID); err == nil {
			one.Name = u.Email
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// change handles POST /ui/projects/:project/:action. Without write access the response is that for a missing
// project.
func (h *Handlers) change(c echo.Context) error {
	p, err := h.found(c)
	if err != nil {
		return err
	}
	action := page.Param(c, "action")
	if action == "upload" {
		return h.changed(c, p, h.upload(c, p), views.Refused{})
	}
	form, err := page.ReadForm(c.Request(), maxForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	me := principal.Owner(ctx)
	switch action {
	case "instructions":
		_, err = h.Projects.Change(ctx, me, p.ID, func(p *store.Project) error {
			p.Settings.Instructions = page.PlainText(form.Get("instructions"))
			return nil
		})
	case "settings":
		may := h.Rights(ctx)
		_, err = h.Projects.Change(ctx, me, p.ID, func(p *store.Project) error {
			was := p.Settings
			set(p, form)
			projects.Keep(&p.Settings, was, may)
			return nil
		})
	case "remove":
		err = h.Projects.Remove(ctx, me, p.ID, form.Get("name"))
	case "forget":
		if h.Memory == nil {
			break
		}
		if _, err = h.Memory.Clear(ctx, store.ProjectMemory(me, p.ID), 0); err == nil {
			return c.Redirect(http.StatusSeeOther, views.ProjectURL(p.ID)+"?forgotten=1")
		}
	case "personal":
		err = h.DB.AllowPersonalMemory(ctx, me, p.ID, form.Get("on") != "")
	case "share", "unshare":
		return h.share(c, p, action, form)
	case "delete":
		return h.remove(c, p, form.Get("chats") == "delete")
	default:
		return store.ErrNotFound
	}
	return h.changed(c, p, err, views.Refused{Form: action, Values: form})
}

// changed redirects to the page, or renders it with the problem and the input.
func (h *Handlers) changed(c echo.Context, p store.Project, err error, typed views.Refused) error {
	var bad *projects.Invalid
	status, text := 0, ""
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, views.ProjectURL(p.ID))
	case errors.Is(err, uploads.ErrTooLarge):
		status, text = http.StatusRequestEntityTooLarge, page.Say(c, "projects.files.large")
	case errors.As(err, new(*projects.TooMany)):
		status, text = http.StatusTooManyRequests, page.Say(c, "projects.members.wait")
	case errors.As(err, &bad) && bad.Field == "email" && typed.Values.Get("group") != "":
		status, text = http.StatusUnprocessableEntity, page.Say(c, "projects.members.both")
	case errors.As(err, &bad) && bad.Field == "email":
		status, text = http.StatusUnprocessableEntity, page.Say(c, "projects.members.unknown")
	case errors.As(err, &bad) && bad.Field == "group":
		status, text = http.StatusUnprocessableEntity, page.Say(c, "knowledge.group.unknown")
	case errors.As(err, &bad) && bad.Field == "name":
		status, text = http.StatusUnprocessableEntity, page.Say(c, "projects.name.bad")
	case errors.As(err, &bad) && bad.Field == "instructions":
		status, text = http.StatusUnprocessableEntity, page.Say(c, "projects.instructions.bad")
	case errors.As(err, &bad):
		status, text = http.StatusUnprocessableEntity, page.Say(c, "projects.invalid")
	default:
		status, _ = httpx.StatusOf(err)
		if status != http.StatusInsufficientStorage {
			return err
		}
		text = page.Say(c, "projects.files.full")
	}
	return h.page(c, status, p, &views.Notice{Kind: views.NoticeError, Text: text}, typed)
}

// set takes the form of settings.
func set(p *store.Project, form url.Values) {
	s := &p.Settings
	agent, model := s.Agent, s.Model
	p.Name, s.Icon, s.Color = page.PlainText(form.Get("name")), page.PlainText(form.Get("icon")), form.Get("color")
	s.Agent, s.Model, s.Memory = form.Get("agent"), form.Get("model"), form.Get("memory")
	if s.Agent == views.KeptChoice {
		s.Agent = agent
	}
	if s.Model == views.KeptChoice {
		s.Model = model
	}
	s.Writable = form.Get("writable") != ""
	if form.Has("shownknowledge") {
		s.Knowledge = form["knowledge"]
	}
	for _, f := range []struct {
		name string
		into *[]string
	}{{"skills", &s.Skills}, {"servers", &s.Servers}} {
		switch {
		case !form.Has("shown" + f.name): // there was nothing to choose from
		case form.Get("all"+f.name) != "":
			*f.into = nil
		default:
			*f.into = append([]string{}, form[f.name]...)
		}
	}
}

// upload stores the files of a form.
func (h *Handlers) upload(c echo.Context, p store.Project) error {
	limits := h.Uploads()
	return page.SaveFiles(c, limits, func(ctx context.Context, files *multipart.Reader) error {
		_, err := h.Projects.Save(ctx, principal.Owner(ctx), p.ID, files, limits)
		return err
	})
}

// share gives a member a role, revokes it, or ends the reader's own.
func (h *Handlers) share(c echo.Context, p store.Project, action string, form url.Values) error {
	ctx := c.Request().Context()
	me := principal.Owner(ctx)
	leaves := action == "unshare" && form.Get("member") == me
	if p.Role != store.ProjectOwner && !leaves {
		return store.ErrNotFound
	}
	if action == "share" {
		err := h.Projects.Share(ctx, p, principal.Of(ctx).Operator(), page.PlainText(form.Get("email")), page.PlainText(form.Get("group")),
			store.Role(form.Get("role")))
		return h.changed(c, p, err, views.Refused{Form: action, Values: form})
	}
	err := h.Projects.Unshare(ctx, p, form.Get("member"))
	if leaves && err == nil {
		return c.Redirect(http.StatusSeeOther, views.ProjectsURL)
	}
	return h.changed(c, p, err, views.Refused{})
}

// remove deletes the project, and shows how its chats can be had back if they went along.
func (h *Handlers) remove(c echo.Context, p store.Project, chats bool) error {
	ctx := c.Request().Context()
	at, err := h.Projects.Delete(ctx, principal.Owner(ctx), p.ID, chats)
	if err != nil {
		return err
	}
	where := views.ProjectsURL
	if chats {
		where = page.WithQuery(where, "undo", page.UndoToken(at))
	}
	return c.Redirect(http.StatusSeeOther, where)
}

// move handles GET /ui/threads/:id/project.
func (h *Handlers) move(c echo.Context, t store.Thread) (err error) {
	p := views.MovePage{Modal: page.WantsFragment(c.Request()), ThreadID: t.ID, Project: t.Project}
	if p.Shell, err = h.Shell(c, views.NavNone, t.ID); err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, views_projects.MovePage(p))
}

// moved handles POST /ui/threads/:id/project.
func (h *Handlers) moved(c echo.Context, t store.Thread) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.Projects.Move(ctx, principal.Owner(ctx), form.Get("project"), t.ID); err != nil {
		return err
	}
	return page.Frame(c, views.Frame{Location: views.ThreadURL(t.ID)}, views.ThreadURL(t.ID))
}
