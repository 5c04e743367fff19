package web

import (
	"context"

	"fawn/sandbox/netguard"
	"fawn/web/principal"
)

// outward checks addresses of models and MCP servers named by the user of a request. Owners may name any, as may
// everyone on a server without accounts; other administrators may reach the public internet and the networks in
// auth.allow_private. Cloud metadata services are always refused.
func (a *App) outward(ctx context.Context) *netguard.Guard {
	if !a.people.accounts.Required() || principal.Of(ctx).Role == principal.RoleOwner {
		return &netguard.Guard{Private: true}
	}
	return a.public()
}

// public dials the public internet and addresses allowed by auth.allow_private.
func (a *App) public() *netguard.Guard {
	return a.guardFor("auth.allow_private", a.config.Current().File.Auth.AllowPrivate)
}
