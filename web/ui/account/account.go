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

// Routes returns the pages to sign in, and the actions of the settings about accounts.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/login", page.Anyone, h.withAccounts(h.loginPage)),
		page.Post("/login", page.Anyone, h.withAccounts(h.login)),
		page.Post("/logout", page.Anyone, h.withAccounts(h.signOut)),
		page.Get("/ui/login/code", page.Anyone, h.withAccounts(h.codePage)),
		page.Post("/ui/login/code", page.Anyone, h.withAccounts(h.code)),
		page.Post("/ui/login/passkey", page.Anyone, h.withAccounts(h.keySignIn)),
		page.Post("/ui/login/passkey/options", page.Anyone, h.withAccounts(h.keyOptions)),
		page.Get("/setup", page.Anyone, h.openLink(false)),
		page.Post("/setup", page.Anyone, h.useLink(false)),
		page.Get("/reset", page.Anyone, h.openLink(true)),
		page.Post("/reset", page.Anyone, h.useLink(true)),
		page.Get("/api/v1/auth/oauth/:provider", page.Anyone, h.withAccounts(h.oauth)),
		page.Get("/api/v1/auth/callback/:provider", page.Anyone, h.withAccounts(h.oauthCallback)),
		page.Post("/ui/account", page.Person, h.withAccounts(h.changeAccount)),
		page.Post("/ui/account/passkey", page.Person, h.withAccounts(h.newKey)),
		page.Post("/ui/account/passkey/options", page.Person, h.withAccounts(h.newKeyOptions)),
		page.Post("/ui/account/sessions", page.Person, h.withAccounts(h.changeSessions)),
		page.Post("/ui/account/tokens", page.Person, h.withAccounts(h.changeTokens)),
		page.Post("/ui/users", page.Operator, h.withAccounts(h.invite)),
		page.Post("/ui/users/:id/:action", page.Operator, h.withAccounts(h.changeUser)),
		page.Post("/ui/groups", page.Operator, h.withAccounts(h.addGroup)),
		page.Post("/ui/groups/:id/:action", page.Operator, h.withAccounts(h.changeGroup)),
		page.Post("/ui/announcements", page.Operator, h.withAccounts(h.announce)),
		page.Post("/ui/announcements/:id/delete", page.Operator, h.withAccounts(h.unannounce)),
		page.Post("/ui/announcements/:id/dismiss", page.User, h.withAccounts(h.dismiss)),
	}
}
