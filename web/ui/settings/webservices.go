package settings

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/settings"
	"fawn/web/ui/page"
)

// webServices lists the web services: first the enabled ones, in their order.
func (h *Handlers) webServices() views.WebServices {
	if h.Web == nil {
		return views.WebServices{}
	}
	snap := h.Config.Current()
	w := views.WebServices{Fallback: snap.File.Web.Fallback, Off: !snap.File.Web.Enabled}
	asked := h.Web.Asked()
	for _, s := range community.Services() {
		one := views.WebService{Name: s.Name, Label: s.Label, Search: s.Search, Read: s.Read, Images: s.Images, Own: s.Own,
			NeedsKey: !s.Keyless, KeyPage: s.KeyPage, Place: 1 + slices.Index(asked, s.Name),
			Last: len(asked) > 0 && asked[len(asked)-1] == s.Name}
		if s.Own {
			one.Address = redacted(snap.File.Web.SearXNGURL)
		}
		for i, name := range s.Env {
			if v, set := snap.Env(name); i == 0 || set && v != "" && one.KeyFrom == "" {
				one.Key = name
				if set && v != "" {
					one.KeyFrom = "environment"
				}
				if set && v != "" && snap.SetHere(name) {
					one.KeyFrom = "here"
				}
			}
		}
		w.List = append(w.List, one)
	}
	slices.SortStableFunc(w.List, func(a, b views.WebService) int { return cmp.Compare(rank(a), rank(b)) })
	return w
}

func rank(s views.WebService) int {
	if s.Place == 0 {
		return len(community.Providers()) + 1
	}
	return s.Place
}

// showTools answers an action on the section with it.
func (h *Handlers) showTools(c echo.Context, status int, w views.WebServices) error {
	p, err := h.Settings(c, "tools")
	if err != nil {
		return err
	}
	p.Tools, p.Web, p.Media = h.toolList(c), w, h.mediaModels()
	return page.HTML(c, status, settings.Page(p))
}

// onService returns an action on one of the services.
func (h *Handlers) onService(do func(c echo.Context, form func(string) string, s views.WebService) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := page.ReadForm(c.Request(), page.SmallForm)
		if err != nil {
			return err
		}
		list := h.webServices().List
		i := slices.IndexFunc(list, func(s views.WebService) bool { return s.Name == page.Param(c, "name") })
		if i < 0 {
			return store.ErrNotFound
		}
		return do(c, func(key string) string { return strings.TrimSpace(page.OneLine(page.PlainText(form.Get(key)))) },
			list[i])
	}
}

// saveService handles POST /ui/web/by-name/:name/save: its key, or its self-hosted address.
func (h *Handlers) saveService(c echo.Context, form func(string) string, s views.WebService) error {
	var e config.WebEdit
	switch key := form("key"); {
	case s.Own:
		e.SearXNG = new(form("address"))
		e.Judge = func(at string) error { return h.Outward.Address(c.Request().Context(), at) }
		e.PublicOnly = h.publicOnly(c)
	case form("forget") != "":
		e.Keys = map[string]config.Secret{s.Key: ""}
	case key != "" && s.Key != "":
		e.Keys = map[string]config.Secret{s.Key: config.Secret(key)}
	}
	return h.changeWeb(c, s.Name, e)
}

// publicOnly reports whether addresses from the user of a request are limited to those that the owner permits
// administrators.
func (h *Handlers) publicOnly(c echo.Context) bool {
	g := h.Outward.Guard(c.Request().Context())
	return g != nil && !g.Private
}

// moveService handles POST /ui/web/by-name/:name/move.
func (h *Handlers) moveService(c echo.Context, form func(string) string, s views.WebService) error {
	order := slices.Clone(h.Config.Current().File.Web.Order)
	for _, name := range h.Web.Asked() {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	asked := h.Web.Asked()
	at, to := slices.Index(asked, s.Name), form("to")
	switch {
	case at < 0:
	case to == "first":
		order = append([]string{s.Name}, slices.DeleteFunc(order, func(n string) bool { return n == s.Name })...)
	case at+1 < len(asked): // the next used one comes first, regardless of unused ones in between
		next := asked[at+1]
		order = slices.DeleteFunc(order, func(n string) bool { return n == next })
		order = slices.Insert(order, slices.Index(order, s.Name), next)
	}
	return h.changeWeb(c, s.Name, config.WebEdit{Order: order})
}

// switchFallback handles POST /ui/web/fallback.
func (h *Handlers) switchFallback(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	return h.changeWeb(c, "", config.WebEdit{Fallback: new(form.Get("on") == "true")})
}

func (h *Handlers) changeWeb(c echo.Context, service string, e config.WebEdit) error {
	err := h.Config.ChangeWeb(e)
	var wrong *config.EditError
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("tools"))
	case errors.As(err, &wrong) && service != "":
		w := h.webServices()
		w.Wrong, w.Problem = service, page.Say(c, "models.wrong."+string(wrong.Reason))
		return h.showTools(c, http.StatusUnprocessableEntity, w)
	}
	return modelError(err)
}

// tryService handles POST /ui/web/by-name/:name/try: one search, or one page without search, using the form's values.
func (h *Handlers) tryService(c echo.Context, form func(string) string, s views.WebService) error {
	select {
	case h.probes <- struct{}{}:
		defer func() { <-h.probes }()
	case <-c.Request().Context().Done():
		return c.Request().Context().Err()
	}
	trial := views.WebTrial{Name: s.Name, Label: s.Label}
	var refused error
	if at := form("address"); s.Own && at != h.Config.Current().File.Web.SearXNGURL {
		refused = h.Outward.Address(c.Request().Context(), at)
	}
	if refused != nil {
		trial.Problem, trial.Detail = "models.wrong."+string(config.PrivateAddress), refused.Error()
		return h.tried(c, trial)
	}
	got, err := h.Web.Try(c.Request().Context(), s.Name, form("key"), form("address"), page.Say(c, "web.try.query"),
		h.publicOnly(c))
	var p *community.Problem
	switch {
	case err == nil:
		trial.Titles, trial.Took = got.Titles, views.Duration(page.ReadPrefs(c.Request()).Lang, max(got.Took, tenth))
	case errors.As(err, &p):
		trial.Problem, trial.Detail = "web.problem."+string(p.Class), p.Error()
		if s.Own && cmp.Or(form("address"), s.Address) == "" {
			trial.Problem, trial.Detail = "web.problem.noaddress", ""
		}
	default:
		return err
	}
	return h.tried(c, trial)
}

// tried shows how a service answered.
func (h *Handlers) tried(c echo.Context, trial views.WebTrial) error {
	if page.WantsFragment(c.Request()) {
		return page.HTML(c, http.StatusOK, i18n.In(page.ReadPrefs(c.Request()).Lang, settings.WebTrial(trial)))
	}
	w := h.webServices()
	w.Trial = &trial
	return h.showTools(c, http.StatusOK, w)
}

// switchTool handles POST /ui/tools/by-name/:name/switch.
func (h *Handlers) switchTool(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	name := page.Param(c, "name")
	if !slices.ContainsFunc(h.toolList(c), func(t views.ToolInfo) bool { return t.Name == name && !t.Fixed }) {
		return store.ErrNotFound
	}
	if err := h.Config.SwitchTool(name, form.Get("on") == "true"); err != nil {
		return modelError(err)
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("tools"))
}
