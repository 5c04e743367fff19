package ui

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
)

// The steps of passkeys, and the bytes of what a browser answers.
const (
	stepKey       = "passkey"
	stepNewKey    = "newpasskey"
	maxKeyAnswer  = 64 << 10
	maxPasskeyLen = 100 // characters of a name
)

// pendingKey is a passkey that is being made or used.
type pendingKey struct {
	Ceremony passkey.Ceremony `json:"c"`
	User     string           `json:"u,omitempty"` // who makes it
}

// keyProblem answers the script with why a passkey did not work.
func (u *UI) keyProblem(c echo.Context, err error) error {
	text, status := "", http.StatusBadRequest
	switch {
	case errors.Is(err, passkey.ErrPlace):
		text = say(c, "account.passkey.place")
	case errors.Is(err, passkey.ErrRefused):
		text = say(c, "account.passkey.denied")
	case errors.Is(err, passkey.ErrUnknown), errors.Is(err, store.ErrNotFound), errors.Is(err, account.ErrCredentials):
		text, status = say(c, "account.passkey.unknown"), http.StatusUnauthorized
	case errors.Is(err, factor.ErrMany), errors.Is(err, store.ErrConflict):
		text, status = say(c, "account.passkey.denied"), http.StatusConflict
	default:
		var other error
		if status, text, other = signInProblem(c, err); other != nil {
			return other
		}
	}
	u.Log.Info("a passkey was not accepted", "err", err)
	return httpx.JSON(c, status, views.Frame{Error: text})
}

// based is a path as the browser sees it.
func based(c echo.Context, path string) string { return views.Base(c.Request().Context()) + path }

// keyOptions is POST of the first half of signing in with a passkey.
func (u *UI) keyOptions(c echo.Context) error {
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err != nil {
		return u.keyProblem(c, err)
	}
	options, ceremony, err := site.BeginSignIn()
	if err != nil {
		return err
	}
	if err := u.keep(c, stepKey, pendingKey{Ceremony: ceremony}); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, options)
}

// keySignIn is POST of the second half. A passkey checks who holds it, so no code is asked for.
func (u *UI) keySignIn(c echo.Context) error {
	ctx := c.Request().Context()
	body, err := httpx.Body(c.Request(), httpx.Limit{Bytes: maxKeyAnswer, Key: "server.max_body_bytes"})
	if err != nil {
		return err
	}
	var p pendingKey
	spend, err := u.kept(c, stepKey, &p)
	if err != nil {
		return u.keyProblem(c, err)
	}
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err != nil {
		return u.keyProblem(c, err)
	}
	var user store.User
	who, key, err := site.FinishSignIn(p.Ceremony, body, func(id string) (out passkey.User, err error) {
		if user, err = u.user(ctx, id); err != nil {
			return out, err
		}
		out = passkey.User{ID: user.ID, Email: user.Email, Name: user.Name}
		out.Keys, err = u.factors().Keys(ctx, user.ID)
		return out, err
	})
	if err == nil && !spend() {
		err = errSealed
	}
	if err == nil {
		err = u.factors().UsePasskey(ctx, who.ID, key)
	}
	if err == nil {
		err = u.Accounts.SignIn(c, user, true)
	}
	if err != nil {
		return u.keyProblem(c, err)
	}
	return httpx.JSON(c, http.StatusOK, map[string]string{"next": based(c, afterwards(strings.TrimPrefix(c.QueryParam("next"), based(c, ""))))})
}

// self is the account of a request with its passkeys.
func (u *UI) self(c echo.Context) (passkey.User, error) {
	ctx := c.Request().Context()
	p := principal.Of(ctx)
	keys, err := u.factors().Keys(ctx, p.Owner)
	return passkey.User{ID: p.Owner, Email: p.Email, Name: p.Name, Keys: keys}, err
}

// newKeyOptions is POST of the first half of adding a passkey.
func (u *UI) newKeyOptions(c echo.Context) error {
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err != nil {
		return u.keyProblem(c, err)
	}
	me, err := u.self(c)
	if err != nil {
		return err
	}
	options, ceremony, err := site.BeginRegister(me)
	if err != nil {
		return err
	}
	if err := u.keep(c, stepNewKey, pendingKey{ceremony, me.ID}); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, options)
}

// newKey is POST of the second half.
func (u *UI) newKey(c echo.Context) error {
	body, err := httpx.Body(c.Request(), httpx.Limit{Bytes: maxKeyAnswer, Key: "server.max_body_bytes"})
	if err != nil {
		return err
	}
	var p pendingKey
	spend, err := u.kept(c, stepNewKey, &p)
	if err != nil {
		return u.keyProblem(c, err)
	}
	me, err := u.self(c)
	if err != nil {
		return err
	}
	site, err := passkey.At(httpx.Origin(c.Request()), appName)
	if err == nil && (p.User != me.ID || !spend()) {
		err = errSealed
	}
	if err != nil {
		return u.keyProblem(c, err)
	}
	key, err := site.FinishRegister(me, p.Ceremony, body)
	if err != nil {
		return u.keyProblem(c, err)
	}
	name := cutRunes(plainText(c.QueryParam("name")), maxPasskeyLen)
	if name == "" {
		name = device(c.Request().UserAgent())
	}
	if err := u.factors().AddPasskey(c.Request().Context(), me.ID, name, key); err != nil {
		return u.keyProblem(c, err)
	}
	return httpx.JSON(c, http.StatusOK, map[string]string{"next": based(c, views.SettingsURL("account")+"?saved=passkey#passkeys")})
}

// cutRunes is at most n characters of s.
func cutRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
