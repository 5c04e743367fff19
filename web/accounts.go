package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/web/account"
	"fawn/web/errstatus"
	"fawn/web/principal"
)

// openAccounts makes what knows who may use the server.
func (a *App) openAccounts(snap *config.Snapshot) {
	required := a.accountsRequired(snap.File.Auth.Required)
	a.accounts = account.New(account.Options{DB: a.db, Log: a.opts.Log, Required: required})
	if !required && !a.local() {
		a.opts.Log.Warn("accounts are off: whoever can reach this address can use everything Fawn may do, with the owner's rights",
			"addr", a.Addr())
	}
}

// accountsRequired tells whether people need an account. --insecure is what auto gives in to.
func (a *App) accountsRequired(mode string) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	return !a.opts.Insecure && !a.local()
}

// local tells whether only this machine can reach the server.
func (a *App) local() bool {
	for _, l := range a.listeners {
		if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// announceSetup shows the link that makes the owner's account, while there is none.
func (a *App) announceSetup(ctx context.Context) error {
	needs, err := a.accounts.NeedsSetup(ctx)
	if err != nil || !needs {
		return err
	}
	token, err := a.accounts.SetupLink(ctx)
	if err != nil {
		return fmt.Errorf("make the set-up link: %w", err)
	}
	_, err = fmt.Fprintf(a.opts.Out, "This server has no owner yet. To create the owner's account, open this link once:\n  %s\n",
		a.URL()+account.SetupPath(token))
	return err
}

// toLogin sends browsers that ask for a page without being signed in to where they can.
func (a *App) toLogin(next echo.HTTPErrorHandler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		r := c.Request()
		status, _ := errstatus.Of(err)
		page := (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/api/") &&
			strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("X-Fawn") == ""
		if status != http.StatusUnauthorized || !page || c.Response().Committed || principal.Of(r.Context()).Known() {
			next(err, c)
			return
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		to := "/login"
		if r.URL.Path != "/" {
			to += "?next=" + url.QueryEscape(r.URL.RequestURI())
		}
		if err := c.Redirect(http.StatusSeeOther, to); err != nil {
			next(err, c)
		}
	}
}
