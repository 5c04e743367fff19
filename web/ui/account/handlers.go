// Package account serves the pages of signing in, invitation links, and the settings about accounts: one's own,
// sessions, tokens and users. Accounts themselves are package web/account.
package account

import (
	"context"
	"time"

	"fawn/agent/access"
	"fawn/web/account/factor"
	"fawn/web/account/sso"
	"fawn/web/ui/page"
)

// Handlers serve the account pages.
type Handlers struct {
	*page.Site
	// Names returns the names that a group's rules may contain, by kind; nil means none.
	Names func(ctx context.Context) map[access.Kind][]string
	SSO   *sso.Client // signs in through other services; nil means none

	sealed *sealer      // data kept by browsers between sign-in steps
	seal   *factor.Seal // seals the secrets of authenticator apps
}

// Steps is the state of sign-ins shared by several servers. The zero value is for one server.
type Steps struct {
	Key  []byte                                  // 32 bytes
	Once func(hash string, until time.Time) bool // notes that something was used, false if it was before
	Seal *factor.Seal                            // seals the secrets of authenticator apps; nil stores them unsealed
}

// New returns the handlers. Its error is of the system's source of random numbers or ciphers.
func New(site *page.Site, services *sso.Client, steps Steps) (*Handlers, error) {
	sealed, err := newSealer(steps.Key, steps.Once, site.DB.Now)
	return &Handlers{Site: site, SSO: services, sealed: sealed, seal: steps.Seal}, err
}
