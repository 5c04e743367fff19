package gateway

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/route"
)

// groupRoutes returns the routes of groups, permissions and announcements.
func (g *Gateway) groupRoutes() []route.Route {
	return []route.Route{
		route.On("GET", "/access", user, "getAccess", g.access),
		route.On("GET", "/groups", operator, "listGroups", g.withAccounts(g.listGroups)),
		route.On("POST", "/groups", operator, "createGroup", g.withAccounts(g.createGroup)),
		route.On("GET", "/groups/{group_id}", operator, "getGroup", g.withAccounts(g.group)),
		route.On("PUT", "/groups/{group_id}", operator, "changeGroup", g.withAccounts(g.changeGroup)),
		route.On("DELETE", "/groups/{group_id}", operator, "deleteGroup", g.withAccounts(g.deleteGroup)),
		route.On("GET", "/announcements", user, "listAnnouncements", g.withAccounts(g.listAnnouncements)),
		route.On("POST", "/announcements", operator, "createAnnouncement", g.withAccounts(g.createAnnouncement)),
		route.On("DELETE", "/announcements/{announcement_id}", operator, "deleteAnnouncement", g.withAccounts(g.deleteAnnouncement)),
		route.On("POST", "/announcements/{announcement_id}/dismiss", user, "dismissAnnouncement",
			g.withAccounts(g.dismissAnnouncement)),
	}
}

// withAccounts returns the handler of a route that exists only with accounts.
func (g *Gateway) withAccounts(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if g.Access == nil || !g.Accounts.Required() {
			return httpx.Errorf(http.StatusNotFound, "This server has no accounts (auth.required in the config)")
		}
		return next(c)
	}
}

type todayJSON struct {
	Runs      int64  `json:"runs"`
	Tokens    int64  `json:"tokens"`
	MaxRuns   *int64 `json:"max_runs"` // null means no limit
	MaxTokens *int64 `json:"max_tokens"`
	Until     string `json:"until"`
}

// accessJSON holds the caller's permissions, null for everything, and today's usage.
type accessJSON struct {
	Agents  []string   `json:"agents"`
	Limited bool       `json:"limited"`
	Servers []string   `json:"mcp_servers"`
	Models  []string   `json:"models"`
	Skills  []string   `json:"skills"`
	Today   *todayJSON `json:"today"`
}

// access handles GET /access: the caller's permissions, null for everything, and today's usage.
func (g *Gateway) access(c echo.Context) error {
	ctx := c.Request().Context()
	may, err := g.Access.Of(ctx, g.Owner(c))
	if err != nil {
		return err
	}
	out := accessJSON{Agents: may.Narrow(access.Agent, nil), Limited: may.Limited(), Servers: may.Narrow(access.Server, nil),
		Models: may.Narrow(access.Model, nil), Skills: may.Narrow(access.Skill, nil)}
	if g.Access != nil {
		t, err := g.Access.Today(ctx, g.Owner(c), may)
		if err != nil {
			return err
		}
		limit := func(n int64) *int64 {
			if n == 0 {
				return nil
			}
			return &n
		}
		out.Today = &todayJSON{t.Runs, t.Tokens, limit(t.MaxRuns), limit(t.MaxTokens), wire.Stamp(t.Until)}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

type groupJSON struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Members []string `json:"members"` // ids of users
	Roles   []string `json:"roles"`   // roles whose users are all members
	access.Rules
}

func groupOf(v access.Group) groupJSON {
	out := groupJSON{v.ID, v.Name, v.Members, v.Roles, v.Rules}
	if out.Members == nil {
		out.Members = []string{}
	}
	if out.Roles == nil {
		out.Roles = []string{}
	}
	return out
}

func groupError(err error) error {
	switch {
	case errors.Is(err, access.ErrRules):
		return httpx.Invalid("body", "group", "%s", strings.TrimPrefix(err.Error(), access.ErrRules.Error()+": "))
	case errors.Is(err, store.ErrExists):
		return httpx.Errorf(http.StatusConflict, "A group of that name already exists")
	case errors.Is(err, store.ErrNotFound):
		return httpx.Errorf(http.StatusNotFound, "Group not found")
	}
	return err
}

type groupList struct {
	Groups []groupJSON `json:"groups"`
}

func (g *Gateway) listGroups(c echo.Context) error {
	list, err := g.Access.Groups(c.Request().Context())
	if err != nil {
		return err
	}
	out := make([]groupJSON, len(list))
	for i, v := range list {
		out[i] = groupOf(v)
	}
	return httpx.JSON(c, http.StatusOK, groupList{out})
}

func (g *Gateway) group(c echo.Context) error {
	v, err := g.Access.Group(c.Request().Context(), route.Param(c, "gid"))
	if err != nil {
		return groupError(err)
	}
	return httpx.JSON(c, http.StatusOK, groupOf(v))
}

// createGroup handles POST /groups. Omitted members of the body aren't limited.
func (g *Gateway) createGroup(c echo.Context) error {
	return g.putGroup(c, uuid.Must(uuid.NewV7()).String(), http.StatusCreated)
}

// changeGroup handles PUT /groups/:gid: it replaces the whole group.
func (g *Gateway) changeGroup(c echo.Context) error {
	id := route.Param(c, "gid")
	if _, err := g.Access.Group(c.Request().Context(), id); err != nil {
		return groupError(err)
	}
	return g.putGroup(c, id, http.StatusOK)
}

// groupBody is the body of putGroup.
type groupBody struct {
	Name    string   `json:"name"`
	Members []string `json:"members"`
	Roles   []string `json:"roles"`
	Models  []string `json:"models"`
	Agents  []string `json:"agents"`
	Skills  []string `json:"skills"`
	Servers []string `json:"mcp_servers"`
	Tokens  int64    `json:"tokens_per_day"`
	Runs    int64    `json:"runs_per_day"`
}

func (g *Gateway) putGroup(c echo.Context, id string, status int) error {
	var b groupBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := g.Access.Put(ctx, access.Group{ID: id, Name: b.Name, Members: b.Members, Roles: b.Roles,
		Rules: access.Rules{Models: b.Models, Agents: b.Agents, Skills: b.Skills, Servers: b.Servers, Tokens: b.Tokens, Runs: b.Runs}}); err != nil {
		return groupError(err)
	}
	v, err := g.Access.Group(ctx, id)
	if err != nil {
		return groupError(err)
	}
	return httpx.JSON(c, status, groupOf(v))
}

func (g *Gateway) deleteGroup(c echo.Context) error {
	if err := g.Access.Delete(c.Request().Context(), route.Param(c, "gid")); err != nil {
		return groupError(err)
	}
	return message(c, "Group deleted")
}

type announcementJSON struct {
	ID        string  `json:"id"`
	Text      string  `json:"text"`
	Level     string  `json:"level"`
	EndsAt    *string `json:"ends_at"`
	CreatedAt string  `json:"created_at"`
}

func announcementOf(a store.Announcement) announcementJSON {
	return announcementJSON{a.ID, a.Text, a.Level, route.StampOrNull(a.EndsAt), wire.Stamp(a.CreatedAt)}
}

type announcementList struct {
	Announcements []announcementJSON `json:"announcements"`
}

// listAnnouncements handles GET /announcements: those that the caller hasn't dismissed, or all for operators that
// request them.
func (g *Gateway) listAnnouncements(c echo.Context) error {
	all, err := httpx.Bool(c.QueryParams(), "all", false)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	var list []store.Announcement
	if all && principal.Of(ctx).Operator() {
		list, err = g.DB.Announcements(ctx)
	} else {
		list, err = g.DB.AnnouncementsFor(ctx, g.Owner(c))
	}
	if err != nil {
		return err
	}
	out := make([]announcementJSON, len(list))
	for i, a := range list {
		out[i] = announcementOf(a)
	}
	return httpx.JSON(c, http.StatusOK, announcementList{out})
}

// announcementBody is the body of createAnnouncement.
type announcementBody struct {
	Text   string     `json:"text"`
	Level  string     `json:"level"`
	EndsAt *time.Time `json:"ends_at"`
}

func (g *Gateway) createAnnouncement(c echo.Context) error {
	var b announcementBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	a, field, why := access.NewAnnouncement(b.Text, b.Level, b.EndsAt, g.DB.Now())
	if why != "" {
		return httpx.Invalid("body", field, "%s", why)
	}
	a, err := g.DB.AddAnnouncement(c.Request().Context(), a)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusCreated, announcementOf(a))
}

func (g *Gateway) deleteAnnouncement(c echo.Context) error {
	if err := g.DB.DeleteAnnouncement(c.Request().Context(), route.Param(c, "nid")); err != nil {
		return notThere(err, "Announcement not found")
	}
	return message(c, "Announcement deleted")
}

func (g *Gateway) dismissAnnouncement(c echo.Context) error {
	if err := g.DB.DismissAnnouncement(c.Request().Context(), g.Owner(c), route.Param(c, "nid")); err != nil {
		return notThere(err, "Announcement not found")
	}
	return message(c, "Announcement dismissed")
}

// describeGroups describes the routes of groups, permissions and announcements.
func describeGroups() []o.Op {
	const tag = "Groups"
	said := route.Answered("Done", o.Of[messageJSON]())
	one := o.Ref("Group")
	names := o.Nullable(o.List(o.String()))
	body := o.Reads[groupBody](o.Req("name", o.String()), o.Is("roles", o.List(o.Enum("user", "admin"))), o.Is("tokens_per_day", o.Int(0)),
		o.Is("runs_per_day", o.Int(0)))
	const rules = "A list that is null or left out allows everything, an empty one nothing; a limit of 0 is none. People in several groups " +
		"may use what any of them allows, with the highest limit. Owners aren't limited."
	return []o.Op{
		{ID: "getAccess", Tag: tag, Text: "Tell what the asker may use, and what they used today",
			More: "A list that is null stands for everything.",
			Out: route.Answered("The rights", o.Of[accessJSON](o.Is("models", names), o.Is("agents", names),
				o.Is("skills", names), o.Is("mcp_servers", names),
				o.Is("today", o.Nullable(o.Of[todayJSON](o.Is("until", o.Time()))))))},
		{ID: "listGroups", Tag: tag, Text: "List groups of users",
			Out: route.Answered("The groups by name", o.Of[groupList](o.Is("groups", o.List(one)))), Fail: []int{404}},
		{ID: "createGroup", Tag: tag, Text: "Create a group of users", More: rules, Need: true, Body: body,
			Out: []o.Answer{{Status: 201, Text: "The group", Schema: one}}, Fail: []int{404, 409}},
		{ID: "getGroup", Tag: tag, Text: "Get a group", Out: route.Answered("The group", one)},
		{ID: "changeGroup", Tag: tag, Text: "Replace a group", More: rules, Need: true, Body: body,
			Out: route.Answered("The group", one), Fail: []int{409}},
		{ID: "deleteGroup", Tag: tag, Text: "Delete a group; its members stay", Out: said},
		{ID: "listAnnouncements", Tag: tag, Text: "List announcements that have not ended and were not dismissed",
			Query: []o.Param{{Name: "all", Schema: o.Bool(), Text: "For administrators: also those that ended or were dismissed"}},
			Out:   route.Answered("The announcements, newest first", o.Of[announcementList](o.Is("announcements", o.List(o.Ref("Announcement"))))),
			Fail:  []int{404}},
		{ID: "createAnnouncement", Tag: tag, Text: "Show a text on everybody's pages", Need: true,
			Body: o.Reads[announcementBody](o.Req("text", o.String()), o.Is("level", o.Enum("info", "warning"))),
			Out:  []o.Answer{{Status: 201, Text: "The announcement", Schema: o.Ref("Announcement")}}, Fail: []int{404}},
		{ID: "deleteAnnouncement", Tag: tag, Text: "Delete an announcement", Out: said},
		{ID: "dismissAnnouncement", Tag: tag, Text: "Hide an announcement from the asker", Out: said},
	}
}

// groupSchemas returns the schemas of describeGroups.
func groupSchemas() map[string]o.Schema {
	names := o.Nullable(o.List(o.String()))
	return map[string]o.Schema{
		"Group":        o.Of[groupJSON](o.Is("models", names), o.Is("agents", names), o.Is("skills", names), o.Is("mcp_servers", names)),
		"Announcement": o.Of[announcementJSON](o.Is("level", o.Enum("info", "warning"))),
	}
}
