package account

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/account"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// groupForm limits the form of a group, in bytes: it lists people and things individually.
const groupForm = 1 << 20

// groupKinds are the lists of a group, by the names of its form.
var groupKinds = []struct {
	name string
	kind access.Kind
}{{"models", access.Model}, {"agents", access.Agent}, {"skills", access.Skill}, {"mcp_servers", access.Server}}

// listOf returns the list of a kind in the rules of a group.
func listOf(r *access.Rules, k access.Kind) *[]string {
	switch k {
	case access.Model:
		return &r.Models
	case access.Agent:
		return &r.Agents
	case access.Skill:
		return &r.Skills
	}
	return &r.Servers
}

// Groups lists the groups, each with its form.
func (h *Handlers) Groups(c echo.Context) (out views.Groups, err error) {
	ctx := c.Request().Context()
	users, err := h.Accounts.List(ctx)
	if err != nil {
		return out, err
	}
	names := map[access.Kind][]string{}
	if h.Names != nil {
		names = h.Names(ctx)
	}
	groups, err := h.Access.Groups(ctx)
	for _, g := range groups {
		out.List = append(out.List, groupView(g, users, names))
	}
	out.New = groupView(access.Group{}, users, names)
	out.Open = c.QueryParam("group")
	return out, err
}

func groupView(g access.Group, users []store.User, names map[access.Kind][]string) views.Group {
	v := views.Group{ID: g.ID, Name: g.Name, Runs: limitText(g.Rules.Runs), Tokens: limitText(g.Rules.Tokens)}
	for _, role := range []string{account.RoleUser, account.RoleAdmin} {
		v.Roles = append(v.Roles, views.Tick{Value: role, On: slices.Contains(g.Roles, role)})
	}
	for _, u := range users {
		if u.Role != account.RoleOwner {
			label := u.Email
			if u.Name != "" {
				label = u.Name + " (" + u.Email + ")"
			}
			v.People = append(v.People, views.Tick{Value: u.ID, Label: label, On: slices.Contains(g.Members, u.ID)})
		}
	}
	for _, k := range groupKinds {
		chosen := *listOf(&g.Rules, k.kind)
		list := views.GroupList{Kind: k.name, All: chosen == nil}
		for _, name := range names[k.kind] {
			list.Ticks = append(list.Ticks, views.Tick{Value: name, Label: name, On: slices.Contains(chosen, name)})
		}
		list.More = strings.Join(slices.DeleteFunc(slices.Clone(chosen), func(name string) bool {
			return slices.Contains(names[k.kind], name)
		}), ", ")
		v.Lists = append(v.Lists, list)
	}
	return v
}

func limitText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// errLimit means that a limit in a form isn't a number.
var errLimit = errors.New("a limit is a whole number")

// groupFrom reads the form of a group.
func groupFrom(form url.Values, id string) (g access.Group, err error) {
	g = access.Group{ID: id, Name: form.Get("name"), Members: form["member"], Roles: form["role"]}
	for _, l := range []struct {
		field string
		into  *int64
	}{{"runs", &g.Rules.Runs}, {"tokens", &g.Rules.Tokens}} {
		text := strings.NewReplacer(" ", "", ",", "", "\u202f", "").Replace(form.Get(l.field))
		if text == "" {
			continue
		}
		if *l.into, err = strconv.ParseInt(text, 10, 64); err != nil || *l.into < 0 {
			return g, errLimit
		}
	}
	for _, k := range groupKinds {
		if form.Get("all_"+k.name) != "" {
			continue
		}
		list := append([]string{}, form[k.name]...)
		for name := range strings.FieldsFuncSeq(form.Get("more_"+k.name), func(r rune) bool { return r == ',' || r == '，' || r == '\n' }) {
			if name = strings.TrimSpace(name); name != "" {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		*listOf(&g.Rules, k.kind) = slices.Compact(list)
	}
	return g, nil
}

// addGroup handles POST /ui/groups.
func (h *Handlers) addGroup(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), groupForm)
	if err != nil {
		return err
	}
	return h.putGroup(c, form, uuid.Must(uuid.NewV7()).String(), true)
}

// changeGroup handles POST /ui/groups/:id/:action.
func (h *Handlers) changeGroup(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), groupForm)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), page.Param(c, "id")
	if _, err := h.Access.Group(ctx, id); err != nil {
		return err
	}
	switch page.Param(c, "action") {
	case "save":
		return h.putGroup(c, form, id, false)
	case "delete":
		if form.Get("sure") == "" {
			return h.showGroups(c, http.StatusOK, func(v *views.Groups) { v.Open, v.Confirm = id, id })
		}
		if err := h.Access.Delete(ctx, id); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("groups"))
	}
	return store.ErrNotFound
}

// putGroup stores the group of a form, or shows the form again with the error.
func (h *Handlers) putGroup(c echo.Context, form url.Values, id string, fresh bool) error {
	ctx := c.Request().Context()
	g, err := groupFrom(form, id)
	if err == nil {
		err = h.Access.Put(ctx, g)
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("groups")+"?saved=1&group="+url.QueryEscape(id)+"#g-"+id)
	}
	var text string
	switch {
	case errors.Is(err, errLimit):
		text = page.Say(c, "groups.wrong.limit")
	case errors.Is(err, store.ErrExists):
		text = page.Say(c, "groups.wrong.taken")
	case errors.Is(err, access.ErrRules):
		text = page.Say(c, "groups.wrong.rules", strings.TrimPrefix(err.Error(), access.ErrRules.Error()+": "))
	default:
		return err
	}
	users, err := h.Accounts.List(ctx)
	if err != nil {
		return err
	}
	return h.showGroups(c, http.StatusUnprocessableEntity, func(v *views.Groups) {
		names := map[access.Kind][]string{}
		if h.Names != nil {
			names = h.Names(ctx)
		}
		shown := groupView(g, users, names)
		shown.Runs, shown.Tokens, shown.Problem = form.Get("runs"), form.Get("tokens"), text
		if fresh {
			shown.ID, v.New, v.Adding = "", shown, true
			return
		}
		for i := range v.List {
			if v.List[i].ID == id {
				v.List[i], v.Open = shown, id
			}
		}
	})
}

func (h *Handlers) showGroups(c echo.Context, status int, edit func(*views.Groups)) error {
	p, err := h.Settings(c, "groups")
	if err != nil {
		return err
	}
	if p.Groups, err = h.Groups(c); err != nil {
		return err
	}
	edit(&p.Groups)
	return page.HTML(c, status, settings.Page(p))
}

// announcementDays returns the possible durations of an announcement; 0 is until it is deleted.
func announcementDays() []int { return []int{1, 3, 7, 30, 0} }

// Announcements lists all announcements.
func (h *Handlers) Announcements(c echo.Context) (views.Announcements, error) {
	out := views.Announcements{Days: announcementDays()}
	list, err := h.DB.Announcements(c.Request().Context())
	for _, a := range list {
		v := page.AnnouncementOf(a)
		v.Over = !v.Ends.IsZero() && !v.Ends.After(h.DB.Now())
		out.List = append(out.List, v)
	}
	return out, err
}

// announce handles POST /ui/announcements.
func (h *Handlers) announce(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	now := h.DB.Now()
	var ends *time.Time
	if days, err := strconv.Atoi(form.Get("days")); err == nil && days > 0 && days <= 3650 {
		end := now.AddDate(0, 0, days)
		ends = &end
	}
	a, _, why := access.NewAnnouncement(form.Get("text"), form.Get("level"), ends, now)
	if why == "" {
		if _, err := h.DB.AddAnnouncement(c.Request().Context(), a); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("announcements"))
	}
	p, err := h.Settings(c, "announcements")
	if err != nil {
		return err
	}
	if p.News, err = h.Announcements(c); err != nil {
		return err
	}
	p.News.Text, p.News.Warning = page.Head(form.Get("text"), page.MaxDraft), form.Get("level") == access.Warning
	p.News.Problem = page.Say(c, "news.wrong", access.MostText)
	return page.HTML(c, http.StatusUnprocessableEntity, settings.Page(p))
}

// unannounce handles POST /ui/announcements/:id/delete.
func (h *Handlers) unannounce(c echo.Context) error {
	err := h.DB.DeleteAnnouncement(c.Request().Context(), page.Param(c, "id"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("announcements"))
}

// dismiss handles POST /ui/announcements/:id/dismiss: the reader's pages no longer show it.
func (h *Handlers) dismiss(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	err = h.DB.DismissAnnouncement(ctx, principal.Owner(ctx), page.Param(c, "id"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return page.Frame(c, views.Frame{}, page.LocalPath(form.Get("next"), views.NewChatURL))
}
