// Package account answers on the pages to sign in, the links of invitations, and the settings
// about accounts: one's own, sessions, tokens and users.
package account

import (
	"fawn/web/account/sso"
	"fawn/web/ui/page"
)

// Handlers are those of the pages.
type Handlers struct {
	*page.Site
	SSO *sso.Client // signs in through other services; nil has none

	sealed *sealer // what browsers keep between the steps of signing in
}

// New makes the handlers. Its error is of the system's source of random numbers or ciphers.
func New(site *page.Site, services *sso.Client) (*Handlers, error) {
	sealed, err := newSealer()
	return &Handlers{Site: site, SSO: services, sealed: sealed}, err
}
