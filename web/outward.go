package web

import (
	"context"

	"fawn/sandbox/netguard"
	"fawn/web/principal"
)

// outward judges addresses of models and MCP servers that the user of a request names. What the owner names is the
// owner's choice, as is all on a server without accounts; other administrators reach the public internet and what
// auth.allow_private opens. Nobody reaches metadata services of clouds.
func (a *App) outward(ctx context.Context) *netguard.Guard {
	if !a.accounts.Required() || principal.Of(ctx).Role == principal.RoleOwner {
		return &netguard.Guard{Private: true}
	}
	return a.public()
}

// public dials the public internet and addresses allowed by auth.allow_private.
func (a *App) public() *netguard.Guard {
	return a.guardFor("auth.allow_private", a.config.Current().File.Auth.AllowPrivate)
}
