package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"fawn/agent/config"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/account/factor"
	"fawn/web/httpx"
	"fawn/web/ui"
)

// openAccounts opens the service of accounts and sign-ins.
func (a *App) openAccounts(ctx context.Context, snap *config.Snapshot) error {
	required := a.accountsRequired(snap.File.Auth.Required)
	a.accounts = account.New(account.Options{DB: a.db, Log: a.opts.Log, Required: required, UserHeader: a.vouches})
	a.accounts.RemoveOwned = func(ctx context.Context, user string) error { return a.belongings().remove(ctx, user) }
	a.accounts.StopOwned = a.stopOwned
	a.accounts.Rerole = func(ctx context.Context, user string, change func() error) error {
		return a.projects.Rerole(ctx, user, change)
	}
	factors := factor.Factors{DB: a.db}
	if required {
		var err error
		unreadable := 0
		if factors.Seal, err = a.openSeal(ctx); err == nil {
			unreadable, err = factors.SealAll(ctx)
		}
		if err != nil {
			return fmt.Errorf("second factors: %w", err)
		}
		if unreadable > 0 {
			a.opts.Log.Warn("couldn't decrypt authenticator secrets", "count", unreadable, "err", factor.ErrSealed)
		}
	}
	a.factorSeal = factors.Seal
	a.accounts.SecondFactor = func(ctx context.Context, user store.User, code string) error {
		owes, _, err := factors.Required(ctx, user.ID)
		if err != nil || !owes {
			return err
		}
		if err = factors.Check(ctx, user.ID, code); errors.Is(err, factor.ErrCode) {
			return account.ErrSecondFactor
		}
		if errors.Is(err, factor.ErrSealed) {
			return httpx.Errorf(http.StatusConflict, "%s", err.Error())
		}
		return err
	}
	if !required && !a.local() {
		a.opts.Log.Warn("accounts are off: whoever can reach this address can use everything Fawn may do, with the owner's rights",
			"addr", a.Addr())
	}
	return nil
}

// openSeal has the key that seals second factors: one for all servers of a database, or that of the data folder.
func (a *App) openSeal(ctx context.Context) (*factor.Seal, error) {
	if a.shared == nil {
		key, err := factor.LocalKey(a.dirs.Root)
		if err != nil {
			return nil, err
		}
		return factor.NewSeal(key)
	}
	const use = "second factors"
	key, err := a.shared.SigningKey(ctx, use)
	if err != nil {
		return nil, err
	}
	keys := append([][]byte{key}, a.shared.OlderKeys(use)...)
	// The database may have been that of one server before.
	if _, err := os.Stat(filepath.Join(a.dirs.Root, factor.KeyFile)); err == nil {
		local, err := factor.LocalKey(a.dirs.Root)
		if err != nil {
			return nil, err
		}
		keys = append(keys, local)
	}
	return factor.NewSeal(keys...)
}

// accountsRequired reports whether people need an account. With auto, --insecure disables accounts.
func (a *App) accountsRequired(mode string) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	return !a.opts.Insecure && !a.local()
}

// local reports whether only this machine can reach the server.
func (a *App) local() bool {
	for _, l := range a.listeners {
		if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// announceSetup shows the link that creates the owner's account, while there is none.
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

// signInSteps shares the steps of signing in between servers of a database, so that each step may happen at another
// server.
func (a *App) signInSteps() (ui.Steps, error) {
	if a.shared == nil {
		return ui.Steps{Seal: a.factorSeal}, nil
	}
	key, err := a.shared.SigningKey(context.Background(), "steps of signing in")
	return ui.Steps{Key: key, Once: a.shared.Once, Seal: a.factorSeal}, err
}
