package account

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/web/account"
	"fawn/web/account/factor"
	"fawn/web/account/passkey"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// The steps of passkeys, and the size limit of a browser's response.
const (
	stepKey       = "passkey"
	stepNewKey    = "newpasskey"
	maxKeyAnswer  = 64 << 10
	maxPasskeyLen = 100 // characters of a name
)

// pendingKey is a passkey that is being made or used.
type pendingKey struct {
	Ceremony passkey.Ceremony `json:"c"`
	User     string           `json:"u,omitempty"` // its creator
}

// keyProblem answers the script with why a passkey did not work.
func (h *Handlers) keyProblem(c echo.Context, err error) error {
	text, status := "", http.StatusBadRequest
	switch {
	case errors.Is(err, passkey.ErrPlace):
		text = page.Say(c, "account.passkey.place")
	case errors.Is(err, account.ErrConfirm):
		text, status = page.Say(c, "account.confirm.first"), http.StatusForbidden
	case errors.Is(err, passkey.ErrRefused):
		text = page.Say(c, "account.passkey.denied")
	case errors.Is(err, passkey.ErrUnknown), errors.Is(err, store.ErrNotFound), errors.Is(err, account.ErrCredentials):
		text, status = page.Say(c, "account.passkey.unknown"), http.StatusUnauthorized
	case errors.Is(err, factor.ErrMany), errors.Is(err, store.ErrConflict):
		text, status = page.Say(c, "account.passkey.denied"), http.StatusConflict
	default:
		var other error
		if status, text, other = signInProblem(c, err); other != nil {
			return other
		}
	}
	h.Log.Info("passkey rejected", "err", err)
	return httpx.JSON(c, status, views.Frame{Error: text})
}

// keyOptions handles POST of the first half of signing in with a passkey.
func (h *Handlers) keyOptions(c echo.Context) error {
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err != nil {
		return h.keyProblem(c, err)
	}
	options, ceremony, err := site.BeginSignIn()
	if err != nil {
		return err
	}
	if err := h.keep(c, stepKey, pendingKey{Ceremony: ceremony}); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, options)
}

// keySignIn handles POST of the second half. A passkey verifies its user, so no code is required.
func (h *Handlers) keySignIn(c echo.Context) error {
	ctx := c.Request().Context()
	body, err := httpx.Body(c.Request(), httpx.Limit{Bytes: maxKeyAnswer, Key: "server.max_body_bytes"})
	if err != nil {
		return err
	}
	var p pendingKey
	spend, err := h.kept(c, stepKey, &p)
	if err != nil {
		return h.keyProblem(c, err)
	}
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err != nil {
		return h.keyProblem(c, err)
	}
	var user store.User
	who, key, err := site.FinishSignIn(p.Ceremony, body, func(id string) (out passkey.User, err error) {
		if user, err = h.user(ctx, id); err != nil {
			return out, err
		}
		out = passkey.User{ID: user.ID, Email: user.Email, Name: user.Name}
		out.Keys, err = h.factors().Keys(ctx, user.ID)
		return out, err
	})
	if err == nil && !spend() {
		err = errSealed
	}
	if err == nil {
		err = h.factors().UsePasskey(ctx, who.ID, key)
	}
	if err == nil {
		err = h.Accounts.SignIn(c, user, true)
	}
	if err != nil {
		return h.keyProblem(c, err)
	}
	next := afterwards(strings.TrimPrefix(c.QueryParam("next"), page.Based(c, "")))
	return httpx.JSON(c, http.StatusOK, map[string]string{"next": page.Based(c, next)})
}

// self returns the account of a request with its passkeys.
func (h *Handlers) self(c echo.Context) (passkey.User, error) {
	ctx := c.Request().Context()
	p := principal.Of(ctx)
	keys, err := h.factors().Keys(ctx, p.Owner)
	return passkey.User{ID: p.Owner, Email: p.Email, Name: p.Name, Keys: keys}, err
}

// newKeyOptions handles POST of the first half of adding a passkey.
func (h *Handlers) newKeyOptions(c echo.Context) error {
	ctx := c.Request().Context()
	if err := h.Accounts.Confirmed(ctx, principal.Of(ctx)); err != nil {
		return h.keyProblem(c, err)
	}
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err != nil {
		return h.keyProblem(c, err)
	}
	me, err := h.self(c)
	if err != nil {
		return err
	}
	options, ceremony, err := site.BeginRegister(me)
	if err != nil {
		return err
	}
	if err := h.keep(c, stepNewKey, pendingKey{ceremony, me.ID}); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, options)
}

// newKey handles POST of the second half.
func (h *Handlers) newKey(c echo.Context) error {
	body, err := httpx.Body(c.Request(), httpx.Limit{Bytes: maxKeyAnswer, Key: "server.max_body_bytes"})
	if err != nil {
		return err
	}
	var p pendingKey
	spend, err := h.kept(c, stepNewKey, &p)
	if err != nil {
		return h.keyProblem(c, err)
	}
	me, err := h.self(c)
	if err != nil {
		return err
	}
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err == nil && (p.User != me.ID || !spend()) {
		err = errSealed
	}
	if err != nil {
		return h.keyProblem(c, err)
	}
	key, err := site.FinishRegister(me, p.Ceremony, body)
	if err != nil {
		return h.keyProblem(c, err)
	}
	name := page.CutRunes(page.PlainText(c.QueryParam("name")), maxPasskeyLen)
	if name == "" {
		name = device(c.Request().UserAgent())
	}
	if err := h.factors().AddPasskey(c.Request().Context(), me.ID, name, key); err != nil {
		return h.keyProblem(c, err)
	}
	return httpx.JSON(c, http.StatusOK,
		map[string]string{"next": page.Based(c, views.SettingsURL("account")+"?saved=passkey#passkeys")})
}
