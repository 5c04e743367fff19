package web

import (
	"context"
	"errors"
	"fmt"
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

// open opens accounts and sign-ins, then the rules about what people may use.
func (p *people) open(ctx context.Context, o Options, conf *config.Store, d *data, f *front, e *engine) error {
	if err := p.openAccounts(ctx, o, conf.Current().File.Auth.Required, d, f); err != nil {
		return err
	}
	p.accounts.Rerole = func(ctx context.Context, user string, change func() error) error {
		return e.projects.Rerole(ctx, user, change)
	}
	p.access = &access.Service{DB: d.db, Required: p.accounts.Required,
		Regroup: func(ctx context.Context, group string, change func() error) error {
			return e.projects.Regroup(ctx, group, change)
		},
		Zone: func() string { return conf.Current().File.Timezone }}
	return nil
}

// openAccounts opens the service of accounts and sign-ins. mode is auth.required.
func (p *people) openAccounts(ctx context.Context, o Options, mode string, d *data, f *front) error {
	required := accountsRequired(mode, o, f)
	p.accounts = account.New(account.Options{DB: d.db, Log: o.Log, HashMemory: o.HashMemory,
		Required: required, UserHeader: f.vouches})
	factors := factor.Factors{DB: d.db}
	if required {
		var err error
		unreadable := 0
		if factors.Seal, err = openSeal(ctx, d); err == nil {
			unreadable, err = factors.SealAll(ctx)
		}
		if err != nil {
			return fmt.Errorf("second factors: %w", err)
		}
		if unreadable > 0 {
			o.Log.Warn("couldn't decrypt authenticator secrets", "count", unreadable, "err", factor.ErrSealed)
		}
	}
	p.factorSeal = factors.Seal
	p.accounts.SecondFactor = func(ctx context.Context, user store.User, code string) error {
		required, _, err := factors.Required(ctx, user.ID)
		if err != nil || !required {
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
	if !required && !f.local() {
		o.Log.Warn("accounts are off: anyone who can reach this address has the owner's rights",
			"addr", f.addr())
	}
	return nil
}

// openSeal returns the key that seals second factors: one for all servers of a database, or that of the data
// folder.
func openSeal(ctx context.Context, d *data) (*factor.Seal, error) {
	if d.shared == nil {
		key, err := factor.LocalKey(d.dirs.Root)
		if err != nil {
			return nil, err
		}
		return factor.NewSeal(key)
	}
	const use = "second factors"
	key, err := d.shared.SigningKey(ctx, use)
	if err != nil {
		return nil, err
	}
	keys := append([][]byte{key}, d.shared.OlderKeys(use)...)
	// The database may have been that of one server before.
	if _, err := os.Stat(filepath.Join(d.dirs.Root, factor.KeyFile)); err == nil {
		local, err := factor.LocalKey(d.dirs.Root)
		if err != nil {
			return nil, err
		}
		keys = append(keys, local)
	}
	return factor.NewSeal(keys...)
}

// accountsRequired reports whether people need an account. With auto, --insecure disables accounts.
func accountsRequired(mode string, o Options, f *front) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	return !o.Insecure && !f.local()
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

// steps shares the steps of signing in between servers of a database, so that each step may happen at another server.
func (p *people) steps(d *data) (ui.Steps, error) {
	if d.shared == nil {
		return ui.Steps{Seal: p.factorSeal}, nil
	}
	key, err := d.shared.SigningKey(context.Background(), "steps of signing in")
	return ui.Steps{Key: key, Once: d.shared.Once, Seal: p.factorSeal}, err
}
