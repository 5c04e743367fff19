package account

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/account"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Sessions lists the browsers that are signed in.
func (h *Handlers) Sessions(c echo.Context) (out []views.Session, err error) {
	p := principal.Of(c.Request().Context())
	list, err := h.Accounts.Sessions(c.Request().Context(), p.Owner)
	for _, s := range list {
		one := views.Session{ID: s.ID, Device: device(s.Device), Addr: s.IP, Used: s.UsedAt, Since: s.CreatedAt,
			This: s.ID == p.Session}
		if one.This {
			out = slices.Insert(out, 0, one)
		} else {
			out = append(out, one)
		}
	}
	return out, err
}

// changeSessions handles POST of the section: one session ends, or all others.
func (h *Handlers) changeSessions(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := principal.Of(ctx)
	switch form.Get("do") {
	case "end":
		err = h.Accounts.Revoke(ctx, p.Owner, form.Get("id"))
	case "others":
		err = h.Accounts.RevokeOthers(ctx, p.Owner, p.Session)
	default:
		err = store.ErrNotFound
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("sessions"))
}

// tokenDays returns the possible lifetimes of a token; 0 is unlimited.
func tokenDays() []int { return []int{30, 90, 365, 7, 0} }

// Tokens lists the API tokens.
func (h *Handlers) Tokens(c echo.Context) (views.Tokens, error) {
	ctx := c.Request().Context()
	out := views.Tokens{Scopes: []string{"write", "read"}, Days: tokenDays()}
	user, err := h.Accounts.ByID(ctx, principal.Owner(ctx))
	if err != nil {
		return out, err
	}
	if out.Confirm, err = h.confirmNeeded(c, user, "tokens"); err != nil {
		return out, err
	}
	list, err := h.Accounts.Tokens(ctx, user.ID)
	for _, t := range list {
		out.List = append(out.List, views.Token{ID: t.ID, Name: t.Name, Scope: t.Scope, Made: t.CreatedAt,
			Used: t.UsedAt, Expires: t.ExpiresAt, Expired: !t.ExpiresAt.IsZero() && h.DB.Now().After(t.ExpiresAt)})
	}
	return out, err
}

// changeTokens handles POST of the section: a token is made or revoked.
func (h *Handlers) changeTokens(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	me := principal.Owner(ctx)
	if form.Get("do") == "revoke" {
		if err := h.Accounts.RevokeToken(ctx, me, form.Get("id")); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("tokens"))
	}
	if err := h.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil {
		return h.unconfirmed(c, "tokens", err)
	}
	days, err := strconv.Atoi(form.Get("days"))
	if err != nil || !slices.Contains(tokenDays(), days) {
		days = tokenDays()[0]
	}
	name := strings.TrimSpace(page.PlainText(form.Get("name")))
	secret, made, err := h.Accounts.CreateToken(ctx, me,
		account.NewToken{Name: name, Scope: form.Get("scope"), Expires: time.Duration(days) * 24 * time.Hour})
	problem := ""
	switch {
	case errors.Is(err, account.ErrName):
		problem = page.Say(c, "tokens.name.missing")
	case errors.Is(err, account.ErrTooMany):
		problem = page.Say(c, "account.many")
	case err != nil:
		return err
	}
	p, err := h.Settings(c, "tokens")
	if err != nil {
		return err
	}
	if p.Tokens, err = h.Tokens(c); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	if problem != "" {
		p.Tokens.Name, p.Tokens.Problem = name, problem
		return page.HTML(c, http.StatusUnprocessableEntity, settings.Page(p))
	}
	p.Tokens.Secret, p.Tokens.Made = secret, made.Name
	return page.HTML(c, http.StatusOK, settings.Page(p))
}

// device describes a User-Agent: Firefox on Linux. Other programs are shown by their own name.
func device(agent string) string {
	browser := firstOf(agent, [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"HeadlessChrome/", "Chrome"},
		{"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}})
	system := firstOf(agent, [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"},
		{"Windows", "Windows"}, {"Macintosh", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}})
	switch {
	case browser != "" && system != "":
		return browser + " · " + system
	case browser != "":
		return browser
	}
	name, _, _ := strings.Cut(strings.TrimSpace(agent), " ")
	if name = page.CutRunes(name, 60); name == "" {
		return "?"
	}
	return name
}

func firstOf(s string, list [][2]string) string {
	for _, one := range list {
		if strings.Contains(s, one[0]) {
			return one[1]
		}
	}
	return ""
}
