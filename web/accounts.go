package web

import (
	"context"
	"errors"
	"fmt"
	"net"

	"fawn/agent/config"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/account/factor"
)

// openAccounts makes what knows who may use the server.
func (a *App) openAccounts(snap *config.Snapshot) {
	required := a.accountsRequired(snap.File.Auth.Required)
	a.accounts = account.New(account.Options{DB: a.db, Log: a.opts.Log, Required: required, UserHeader: a.vouches})
	a.accounts.RemoveOwned = func(ctx context.Context, user string) error { return a.belongings().remove(ctx, user) }
	factors := factor.Factors{DB: a.db}
	a.accounts.SecondFactor = func(ctx context.Context, user store.User, code string) error {
		owes, _, err := factors.Required(ctx, user.ID)
		if err != nil || !owes {
			return err
		}
		if err = factors.Check(ctx, user.ID, code); errors.Is(err, factor.ErrCode) {
			return account.ErrSecondFactor
		}
		return err
	}
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

// accounts tells who may use the server, and what is easily forgotten.
func (d *doctor) accounts(o Options, s *config.Snapshot) {
	host, _, err := net.SplitHostPort(o.Addr)
	local := err == nil && isLoopback(host)
	server := s.File.Server
	switch mode := s.File.Auth.Required; {
	case mode == "never" && !local:
		d.line("note", "accounts", "off: whoever can reach "+o.Addr+" has the owner's rights; remove auth.required: never")
	case mode == "never" || mode == "auto" && local:
		if len(server.TrustedProxies)+len(server.Hosts) > 0 || server.BasePath != "" {
			d.line("note", "accounts", "off, but the configuration is for a reverse proxy: whoever reaches that has the owner's "+
				"rights. Set auth.required: always, unless the proxy controls access")
			return
		}
		d.line("good", "accounts", "not needed: only this machine can reach "+o.Addr)
	case len(server.TrustedProxies) == 0 && local:
		d.line("note", "accounts", "needed. If a reverse proxy is in front, name it in server.trusted_proxies: otherwise all "+
			"visitors share its address")
	default:
		d.line("good", "accounts", "needed")
	}
}
