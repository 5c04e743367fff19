package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/account/factor"
	"fawn/web/httpx"
	"fawn/web/ui"
)

// people groups the parts that know who asks and what they may use. None of them runs on its own, so none is closed.
type people struct {
	accounts   *account.Service
	access     *access.Service // what people may use
	factorSeal *factor.Seal    // of the secrets of authenticator apps
}

// openPeople opens accounts, then the rules about what they may use.
func (a *App) openPeople(ctx context.Context, snap *config.Snapshot) error {
	if err := a.openAccounts(ctx, snap); err != nil {
		return err
	}
	a.people.access = &access.Service{DB: a.data.db, Required: a.people.accounts.Required,
		Regroup: func(ctx context.Context, group string, change func() error) error {
			return a.engine.projects.Regroup(ctx, group, change)
		},
		Zone: func() string { return a.config.Current().File.Timezone }}
	return nil
}

// openAccounts opens the service of accounts and sign-ins.
func (a *App) openAccounts(ctx context.Context, snap *config.Snapshot) error {
	required := a.accountsRequired(snap.File.Auth.Required)
	a.people.accounts = account.New(account.Options{DB: a.data.db, Log: a.opts.Log, HashMemory: a.opts.HashMemory, Required: required,
		UserHeader: a.front.vouches})
	a.people.accounts.RemoveOwned = func(ctx context.Context, user string) error { return a.belongings().remove(ctx, user) }
	a.people.accounts.StopOwned = a.stopOwned
	a.people.accounts.Rerole = func(ctx context.Context, user string, change func() error) error {
		return a.engine.projects.Rerole(ctx, user, change)
	}
	factors := factor.Factors{DB: a.data.db}
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
	a.people.factorSeal = factors.Seal
	a.people.accounts.SecondFactor = func(ctx context.Context, user store.User, code string) error {
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

// openSeal returns the key that seals second factors: one for all servers of a database, or that of the data
// folder.
func (a *App) openSeal(ctx context.Context) (*factor.Seal, error) {
	if a.data.shared == nil {
		key, err := factor.LocalKey(a.data.dirs.Root)
		if err != nil {
			return nil, err
		}
		return factor.NewSeal(key)
	}
	const use = "second factors"
	key, err := a.data.shared.SigningKey(ctx, use)
	if err != nil {
		return nil, err
	}
	keys := append([][]byte{key}, a.data.shared.OlderKeys(use)...)
	// The database may have been that of one server before.
	if _, err := os.Stat(filepath.Join(a.data.dirs.Root, factor.KeyFile)); err == nil {
		local, err := factor.LocalKey(a.data.dirs.Root)
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
	for _, l := range a.front.listeners {
		if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// announceSetup shows the link that creates the owner's account, while there is none.
func (a *App) announceSetup(ctx context.Context) error {
	needs, err := a.people.accounts.NeedsSetup(ctx)
	if err != nil || !needs {
		return err
	}
	token, err := a.people.accounts.SetupLink(ctx)
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
	if a.data.shared == nil {
		return ui.Steps{Seal: a.people.factorSeal}, nil
	}
	key, err := a.data.shared.SigningKey(context.Background(), "steps of signing in")
	return ui.Steps{Key: key, Once: a.data.shared.Once, Seal: a.people.factorSeal}, err
}
