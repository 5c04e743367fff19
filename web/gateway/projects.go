package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/projects"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/route"
)

// projectRoutes returns the routes of projects.
func (g *Gateway) projectRoutes() []route.Route {
	return []route.Route{
		route.On("GET", "/projects", user, "listProjects", g.listProjects),
		route.On("POST", "/projects", user, "createProject", g.createProject),
		route.On("GET", "/projects/{project_id}", user, "getProject", g.onProject(g.project)),
		route.On("PATCH", "/projects/{project_id}", user, "changeProject", g.onProject(g.changeProject)),
		route.On("DELETE", "/projects/{project_id}", user, "deleteProject", g.onProject(g.deleteProject)),
		route.On("GET", "/projects/{project_id}/files", user, "listProjectFiles", g.onProject(g.projectFiles)),
		route.On("POST", "/projects/{project_id}/files", user, "uploadProjectFiles", g.onProject(g.uploadProjectFiles)),
		route.On("GET", "/projects/{project_id}/files/{name}", user, "getProjectFile", g.onProject(g.projectFile)),
		route.On("DELETE", "/projects/{project_id}/files/{name}", user, "deleteProjectFile", g.onProject(g.deleteProjectFile)),
		route.On("PUT", "/projects/{project_id}/threads/{thread_id}", user, "addProjectThread", g.OnThread(g.putProjectThread)),
		route.On("DELETE", "/projects/{project_id}/threads/{thread_id}", user, "removeProjectThread", g.OnThread(g.takeProjectThread)),
		route.On("GET", "/projects/{project_id}/memory", user, "getProjectMemory", g.onProject(g.projectMemory)),
		route.On("PUT", "/projects/{project_id}/memory", user, "putProjectMemory", g.onProject(g.putProjectMemory)),
		route.On("DELETE", "/projects/{project_id}/memory", user, "clearProjectMemory", g.onProject(g.clearProjectMemory)),
		route.On("GET", "/projects/{project_id}/members", user, "listProjectMembers", g.onProject(g.projectMembers)),
		route.On("POST", "/projects/{project_id}/members", user, "shareProject", g.onProject(g.shareProject)),
		route.On("DELETE", "/projects/{project_id}/members/{user_id}", user, "unshareProject", g.onProject(g.unshareProject)),
	}
}

// projectJSON is a project on the wire. Null leaves a choice to the chat.
type projectJSON struct {
	ID           string   `json:"project_id"`
	Name         string   `json:"name"`
	Icon         string   `json:"icon"`
	Color        string   `json:"color"`
	Instructions string   `json:"instructions"`
	Agent        *string  `json:"agent_name"`
	Model        *string  `json:"model_name"`
	Skills       []string `json:"skills"`
	Servers      []string `json:"mcp_servers"`
	Knowledge    []string `json:"knowledge"`
	Memory       string   `json:"memory"`
	Writable     bool     `json:"writable"`
	Role         string   `json:"role"`
	CreatedAt    string   `json:"created_at"`
	UpdatedAt    string   `json:"updated_at"`
}

// projectFor encodes a project without names that the caller has no right to.
func (g *Gateway) projectFor(c echo.Context, p store.Project) (projectJSON, error) {
	may, err := g.Access.Of(c.Request().Context(), g.Owner(c))
	if err != nil {
		return projectJSON{}, err
	}
	return projectOf(p, may), nil
}

// sendProject answers with a project.
func (g *Gateway) sendProject(c echo.Context, status int, p store.Project) error {
	out, err := g.projectFor(c, p)
	if err != nil {
		return err
	}
	return httpx.JSON(c, status, out)
}

func projectOf(p store.Project, may access.Rights) projectJSON {
	s := projects.Shown(p.Settings, may)
	return projectJSON{ID: p.ID, Name: p.Name, Icon: s.Icon, Color: s.Color, Instructions: s.Instructions,
		Agent: route.TextOrNull(s.Agent), Model: route.TextOrNull(s.Model), Skills: s.Skills, Servers: s.Servers,
		Knowledge: append([]string{}, s.Knowledge...), Memory: s.Memory, Writable: s.Writable, Role: string(p.Role), CreatedAt: wire.Stamp(p.CreatedAt),
		UpdatedAt: wire.Stamp(p.UpdatedAt)}
}

// projectBody is a change of a project: absent fields stay, null clears.
type projectBody struct {
	Name         *string         `json:"name"`
	Icon         *string         `json:"icon"`
	Color        *string         `json:"color"`
	Instructions *string         `json:"instructions"`
	Agent        json.RawMessage `json:"agent_name"`
	Model        json.RawMessage `json:"model_name"`
	Skills       json.RawMessage `json:"skills"`
	Servers      json.RawMessage `json:"mcp_servers"`
	Knowledge    json.RawMessage `json:"knowledge"`
	Memory       *string         `json:"memory"`
	Writable     *bool           `json:"writable"`
}

// apply writes a request into a project.
func (b projectBody) apply(p *store.Project) error {
	s := &p.Settings
	for _, f := range []struct {
		from *string
		to   *string
	}{{b.Name, &p.Name}, {b.Icon, &s.Icon}, {b.Color, &s.Color}, {b.Instructions, &s.Instructions},
		{b.Memory, &s.Memory}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if b.Writable != nil {
		s.Writable = *b.Writable
	}
	for _, f := range []struct {
		field, want string
		raw         json.RawMessage
		clear       func()
		into        any
	}{
		{"agent_name", "text or null", b.Agent, func() { s.Agent = "" }, &s.Agent},
		{"model_name", "text or null", b.Model, func() { s.Model = "" }, &s.Model},
		{"skills", "a list of names or null", b.Skills, func() { s.Skills = nil }, &s.Skills},
		{"knowledge", "a list of names or null", b.Knowledge, func() { s.Knowledge = nil }, &s.Knowledge},
		{"mcp_servers", "a list of names or null", b.Servers, func() { s.Servers = nil }, &s.Servers},
	} {
		switch raw := bytes.TrimSpace(f.raw); {
		case len(raw) == 0:
		case string(raw) == "null":
			f.clear()
		default:
			if json.Unmarshal(raw, f.into) != nil {
				return httpx.Invalid("body", f.field, "want %s", f.want)
			}
		}
	}
	return nil
}

// projectError words an error of a project.
func projectError(err error) error {
	var bad *projects.Invalid
	if errors.As(err, &bad) {
		return httpx.Invalid("body", bad.Field, "%s", bad.Why)
	}
	if many := new(projects.TooMany); errors.As(err, &many) {
		return httpx.Errorf(http.StatusTooManyRequests, "%s", many)
	}
	return err
}

// noProject answers that a project doesn't exist, also to users without a role in it.
func noProject(id string) error {
	return httpx.Errorf(http.StatusNotFound, "Project %s not found", route.Cut(id, 80))
}

// onProject handles a route of a project, which it looks up for the asker.
func (g *Gateway) onProject(h func(c echo.Context, p store.Project) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := route.Param(c, "project")
		p, err := g.DB.ProjectFor(c.Request().Context(), g.Owner(c), id)
		if err == nil {
			err = h(c, p)
		}
		if errors.Is(err, store.ErrNotFound) && !errors.Is(err, uploads.ErrNotFound) {
			return noProject(id)
		}
		return projectError(err)
	}
}

// writing rejects members with read-only access to a project.
func writing(p store.Project) error {
	if !p.Role.Writes() {
		return httpx.Errorf(http.StatusForbidden, "You can use this project, but not change it; ask its owner to make you an editor")
	}
	return nil
}

// owning refuses everybody but a project's owner.
func owning(p store.Project) error {
	if p.Role != store.ProjectOwner {
		return httpx.Errorf(http.StatusForbidden, "Only the project's owner can do that")
	}
	return nil
}

// oneProject is a project with the asker's own settings for it.
type oneProject struct {
	projectJSON
	Personal bool `json:"personal_memory"`
}

// listedProject is an entry of the list of projects.
type listedProject struct {
	projectJSON
	Chats int `json:"thread_count"`
}

type projectList struct {
	Projects []listedProject `json:"projects"`
}

func (g *Gateway) listProjects(c echo.Context) error {
	list, err := g.DB.Projects(c.Request().Context(), g.Owner(c))
	if err != nil {
		return err
	}
	may, err := g.Access.Of(c.Request().Context(), g.Owner(c))
	if err != nil {
		return err
	}
	out := make([]listedProject, 0, len(list))
	for _, p := range list {
		out = append(out, listedProject{projectOf(p, may), p.Chats})
	}
	return httpx.JSON(c, http.StatusOK, projectList{out})
}

func (g *Gateway) createProject(c echo.Context) error {
	var body projectBody
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	var p store.Project
	if err := body.apply(&p); err != nil {
		return err
	}
	p, err := g.Projects.Create(c.Request().Context(), g.Owner(c), p.Name, p.Settings)
	if err != nil {
		return projectError(err)
	}
	return g.sendProject(c, http.StatusCreated, p)
}

// project responds with a project and the caller's permissions in it.
func (g *Gateway) project(c echo.Context, p store.Project) error {
	allowed, _, err := g.DB.PersonalMemory(c.Request().Context(), g.Owner(c), p.ID)
	if err != nil {
		return err
	}
	shown, err := g.projectFor(c, p)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, oneProject{shown, allowed})
}

// personalMemory is the body of putProjectMemory.
type personalMemory struct {
	Personal *bool `json:"personal_memory"`
}

// putProjectMemory sets whether the caller's chats in a shared project may read the caller's own memory.
func (g *Gateway) putProjectMemory(c echo.Context, p store.Project) error {
	var body personalMemory
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	if body.Personal == nil {
		return httpx.Invalid("body", "personal_memory", "want true or false")
	}
	if err := g.DB.AllowPersonalMemory(c.Request().Context(), g.Owner(c), p.ID, *body.Personal); err != nil {
		return err
	}
	return g.project(c, p)
}

func (g *Gateway) changeProject(c echo.Context, p store.Project) error {
	var body projectBody
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	if err := writing(p); err != nil {
		return err
	}
	ctx := c.Request().Context()
	may, err := g.Access.Of(ctx, g.Owner(c))
	if err != nil {
		return err
	}
	p, err = g.Projects.Change(ctx, g.Owner(c), p.ID, func(p *store.Project) error {
		was := p.Settings
		if err := body.apply(p); err != nil {
			return err
		}
		projects.Keep(&p.Settings, was, may)
		return nil
	})
	if err != nil {
		return err
	}
	return g.sendProject(c, http.StatusOK, p)
}

func (g *Gateway) deleteProject(c echo.Context, p store.Project) error {
	chats := c.QueryParam("chats")
	if chats != "" && chats != "keep" && chats != "delete" {
		return httpx.Invalid("query", "chats", "want keep or delete, got %q", route.Cut(chats, 40))
	}
	if err := owning(p); err != nil {
		return err
	}
	if _, err := g.Projects.Delete(c.Request().Context(), g.Owner(c), p.ID, chats == "delete"); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (g *Gateway) projectFiles(c echo.Context, p store.Project) error {
	list, err := g.Projects.Files(c.Request().Context(), g.Owner(c), p.ID)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, list)
}

func (g *Gateway) uploadProjectFiles(c echo.Context, p store.Project) error {
	if err := writing(p); err != nil {
		return err
	}
	form, limits, err := g.UploadForm(c)
	if err != nil {
		return err
	}
	out, err := g.Projects.Save(c.Request().Context(), g.Owner(c), p.ID, form, limits)
	if err != nil {
		return route.UploadError(err, limits)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func (g *Gateway) projectFile(c echo.Context, p store.Project) error {
	download, err := httpx.Bool(c.QueryParams(), "download", false)
	if err != nil {
		return err
	}
	dir, err := g.Projects.Open(c.Request().Context(), g.Owner(c), p.ID)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := route.Param(c, "name")
	if path.Base(name) != name {
		return &uploads.NotFoundError{Name: name}
	}
	file, info, err := route.OpenFile(dir, uploads.Folder+"/"+name)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, uploads.HeadBytes)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	kind, active := uploads.ContentType(name, head[:n])
	route.FileHeaders(c.Response().Header(), name, kind, active || download)
	http.ServeContent(c.Response(), c.Request(), name, info.ModTime(), file)
	return nil
}

func (g *Gateway) deleteProjectFile(c echo.Context, p store.Project) error {
	if err := writing(p); err != nil {
		return err
	}
	name := route.Param(c, "name")
	if err := g.Projects.Remove(c.Request().Context(), g.Owner(c), p.ID, name); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, route.DoneMessage{Message: "Deleted " + name, Success: true})
}

// putProjectThread moves a thread into a project.
func (g *Gateway) putProjectThread(c echo.Context, t store.Thread) error {
	id := route.Param(c, "project")
	err := g.Projects.Move(c.Request().Context(), g.Owner(c), id, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return noProject(id)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// takeProjectThread moves a thread out of a project.
func (g *Gateway) takeProjectThread(c echo.Context, t store.Thread) error {
	if id := route.Param(c, "project"); t.Project == "" || t.Project != id {
		return httpx.Errorf(http.StatusNotFound, "Thread %s isn't in project %s", t.ID, route.Cut(id, 80))
	}
	if err := g.Projects.Move(c.Request().Context(), g.Owner(c), "", t.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// projectMemory answers the facts learned from the asker's chats in a project.
func (g *Gateway) projectMemory(c echo.Context, p store.Project) error {
	d, err := g.Memory.Document(c.Request().Context(), store.ProjectMemory(g.Owner(c), p.ID))
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, d)
}

func (g *Gateway) clearProjectMemory(c echo.Context, p store.Project) error {
	d, err := g.Memory.Clear(c.Request().Context(), store.ProjectMemory(g.Owner(c), p.ID), 0)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, d)
}

// memberJSON is a member of a shared project, a person or a group.
type memberJSON struct {
	ID    string `json:"user_id"`
	Kind  string `json:"kind"`
	Email string `json:"email"`
	Name  string `json:"name"`
	Role  string `json:"role"`
}

type projectMembers struct {
	Members []memberJSON `json:"members"`
}

func (g *Gateway) projectMembers(c echo.Context, p store.Project) error {
	list, err := g.DB.Members(c.Request().Context(), p.ID)
	if err != nil {
		return err
	}
	out := []memberJSON{}
	for _, m := range append([]store.Member{{ID: p.Owner, Role: store.ProjectOwner}}, list...) {
		one, err := g.namedMember(c.Request().Context(), m)
		if err != nil {
			return err
		}
		out = append(out, memberJSON{one.ID, one.Kind, one.Email, one.Name, one.Role})
	}
	return httpx.JSON(c, http.StatusOK, projectMembers{out})
}

// memberBody is the body of shareProject.
type memberBody struct {
	Email string `json:"email"`
	Group string `json:"group"`
	Role  string `json:"role"`
}

// shareProject gives an account or a group a role in a project, or changes it.
func (g *Gateway) shareProject(c echo.Context, p store.Project) error {
	var body memberBody
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	if err := owning(p); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := g.Projects.Share(ctx, p, principal.Of(ctx).Operator(), body.Email, body.Group, store.Role(body.Role)); err != nil {
		return err
	}
	return g.projectMembers(c, p)
}

// unshareProject ends a role: the owner revokes it, or the member leaves.
func (g *Gateway) unshareProject(c echo.Context, p store.Project) error {
	who := route.Param(c, "uid")
	if who != g.Owner(c) {
		if err := owning(p); err != nil {
			return err
		}
	}
	err := g.Projects.Unshare(c.Request().Context(), p, who)
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "Project %s isn't shared with %s: no such member", p.ID, route.Cut(who, 80))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// describeProjects returns the routes of projects.
func describeProjects() []o.Op {
	const tag = "Projects"
	names := o.List(o.String())
	parts := []o.Prop{o.Is("color", o.Enum(append([]string{""}, projects.Colors()...)...)), o.Is("agent_name", o.String()),
		o.Is("model_name", o.String()), o.Is("skills", names), o.Is("mcp_servers", names), o.Is("knowledge", names),
		o.Is("memory", o.Enum(projects.Memories()...))}
	one := route.Answered("The project", o.Ref("Project"))
	mine := route.Answered("The project", o.Ref("OneProject"))
	files := o.List(o.Ref("ProjectFile"))
	members := route.Answered("The owner, then the others", o.Of[projectMembers](o.Is("members",
		o.List(o.Of[memberJSON](o.Is("kind", o.Enum("user", "group")), o.Is("role", o.Enum("owner", "editor", "viewer")))))))
	facts := route.Answered("The facts", o.Map(nil))
	return []o.Op{
		{ID: "listProjects", Tag: tag, Text: "List the projects that you own or share",
			Out: route.Answered("The projects by name", o.Of[projectList](o.Is("projects", o.List(o.Ref("ListedProject")))))},
		{ID: "createProject", Example: `{"name": "Deer", "instructions": "Answer with sources."}`, Tag: tag, Text: "Create a project", Need: true,
			Body: o.Reads[projectBody](append(parts, o.Req("name", o.String()))...),
			Out:  []o.Answer{{Status: 201, Text: "The project", Schema: o.Ref("Project")}}},
		{ID: "getProject", Tag: tag, Text: "Get a project", Out: mine},
		{ID: "changeProject", Tag: tag, Text: "Change a project; absent fields stay, null clears",
			Body: o.Reads[projectBody](parts...), Out: one},
		{ID: "deleteProject", Tag: tag, Text: "Delete a project and its files",
			More:  "Its chats stay unless chats is delete, which deletes those of the project's owner.",
			Query: []o.Param{{Name: "chats", Schema: o.Enum("keep", "delete")}},
			Out:   route.Emptied("Deleted")},
		{ID: "listProjectFiles", Tag: tag, Text: "List the files of a project",
			Out: route.Answered("The files", o.Of[uploads.List](o.Is("files", files), o.Is("count", o.Int(0))))},
		{ID: "uploadProjectFiles", Tag: tag, Text: "Add files to a project, or replace those of the same names", Form: "files",
			Out: route.Answered("What was stored", o.Of[uploads.Result](o.Is("files", files))), Fail: []int{400, 413, 507}},
		{ID: "getProjectFile", Tag: tag, Text: "Get a file of a project",
			Query: []o.Param{{Name: "download", Schema: o.Bool(), Text: "Send it as an attachment"}},
			Out:   []o.Answer{{Status: 200, Text: "The file", Type: "application/octet-stream", Schema: o.String()}}, Fail: []int{400, 416}},
		{ID: "deleteProjectFile", Tag: tag, Text: "Delete a file of a project",
			Out: route.Answered("Done", o.Of[route.DoneMessage]()), Fail: []int{400}},
		{ID: "addProjectThread", Tag: tag, Text: "Move a thread into a project", Out: route.Emptied("Moved")},
		{ID: "removeProjectThread", Tag: tag, Text: "Move a thread out of a project", Out: route.Emptied("Moved")},
		{ID: "getProjectMemory", Tag: tag, Text: "Get what your chats in a project have taught", Out: facts},
		{ID: "putProjectMemory", Tag: tag, Text: "Let your chats in a shared project read your own memory, or not", Need: true,
			Body: o.Reads[personalMemory](o.Req("personal_memory", o.Bool())), Out: mine},
		{ID: "clearProjectMemory", Tag: tag, Text: "Forget what your chats in a project have taught",
			More: "Also what waits to be learned from them. Your own memory and those of other members stay.", Out: facts},
		{ID: "listProjectMembers", Tag: tag, Text: "List who can use a project", Out: members},
		{ID: "shareProject", Tag: tag, Text: "Share a project with a user or a group, or change their role", Need: true,
			More: "Only its owner can. Viewers have chats in it, editors change its files and settings, too.",
			Body: o.Reads[memberBody](o.Req("role", o.Enum("viewer", "editor"))), Out: members, Fail: []int{429}},
		{ID: "unshareProject", Tag: tag, Text: "Stop sharing a project with a user or a group, or leave it",
			More: "The chats of those who have no role then leave the project.", Out: route.Emptied("Done")},
	}
}

// projectSchemas returns the schemas of describeProjects.
func projectSchemas() map[string]o.Schema {
	names := o.Nullable(o.List(o.String()))
	project := []o.Prop{o.Is("skills", names), o.Is("mcp_servers", names), o.Is("knowledge", o.List(o.String())),
		o.Is("memory", o.Enum(projects.Memories()...)), o.Is("role", o.Enum("owner", "editor", "viewer"))}
	return map[string]o.Schema{
		"Project":       o.Of[projectJSON](project...),
		"OneProject":    o.Of[oneProject](project...),
		"ListedProject": o.Of[listedProject](project...),
		"ProjectFile":   o.Of[uploads.File](),
	}
}
