package web

import (
	"context"
	"log/slog"
	"net"
	"net/netip"

	"fawn/agent/config"
	"fawn/sandbox/netguard"
	"fawn/web/account"
	"fawn/web/principal"
)

// network makes the guards of connections that the program opens for models and people. None of them reaches the
// program's own port.
type network struct {
	front  *front
	config *config.Store
	log    *slog.Logger
}

// guard refuses private networks except those in a list of the configuration, whose key is named for entries that
// can't be read.
func (n network) guard(key string, private []string) *netguard.Guard {
	g := &netguard.Guard{Own: func() []netip.AddrPort {
		var own []netip.AddrPort
		for _, l := range n.front.listeners {
			if at, ok := l.Addr().(*net.TCPAddr); ok {
				own = append(own, at.AddrPort())
			}
		}
		return own
	}}
	for _, text := range private {
		if p, err := netip.ParsePrefix(text); err == nil {
			g.AllowPrivate = append(g.AllowPrivate, p)
		} else if ip, err := netip.ParseAddr(text); err == nil {
			g.AllowPrivate = append(g.AllowPrivate, netip.PrefixFrom(ip, ip.BitLen()))
		} else {
			n.log.Warn("configuration", "at", key, "problem", text+" isn't a valid address or network")
		}
	}
	return g
}

// web is the guard of web_fetch for the given private networks.
func (n network) web(private []netip.Prefix) *netguard.Guard {
	g := n.guard("web.allow_private", nil)
	g.AllowPrivate = private
	return g
}

// commands is the guard of sandboxes.
func (n network) commands(snap *config.Snapshot) *netguard.Guard {
	return n.guard("sandbox.network.allow_private", snap.File.Sandbox.Network.AllowPrivate)
}

// public dials the public internet and addresses allowed by auth.allow_private.
func (n network) public() *netguard.Guard {
	return n.guard("auth.allow_private", n.config.Current().File.Auth.AllowPrivate)
}

// outward checks addresses of models and MCP servers named by the user of a request. Owners may name any, as may
// everyone on a server without accounts; other administrators may reach the public internet and the networks in
// auth.allow_private. Cloud metadata services are always refused.
func (n network) outward(accounts *account.Service) func(context.Context) *netguard.Guard {
	return func(ctx context.Context) *netguard.Guard {
		if !accounts.Required() || principal.Of(ctx).Role == principal.RoleOwner {
			return &netguard.Guard{Private: true}
		}
		return n.public()
	}
}
