package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// Guard refuses addresses and names that are not the public internet. The zero value refuses all of them. Its fields
// are set before use; it is safe for concurrent use.
type Guard struct {
	// AllowPrivate opens networks that would be refused. An entry counts only
	// inside one of the refused blocks: 192.168.1.0/24 opens that network, and
	// 0.0.0.0/0 opens nothing. An entry opens this host's own addresses in it
	// too, but never the ports of Own.
	AllowPrivate []netip.Prefix
	// Private permits all non-public addresses except cloud metadata services, for choices of a server's owner. Own
	// still applies.
	Private bool
	// Own returns the addresses that the server listens on. They are refused even in networks that
	// AllowPrivate opens; an unspecified address means all of this host. Nil means none.
	Own func() []netip.AddrPort
	// Local returns the addresses of this host, which are refused also where
	// they are public. Nil asks the system.
	Local func() ([]netip.Addr, error)
	// Resolve returns the addresses of a name. Nil asks the system, without
	// trying the search domains of this host.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Refused is the error of a [Guard] about an address or a name.
type Refused struct {
	Addr   netip.Addr // the address; not valid when the name itself is refused
	Host   string     // the requested name, if any
	Reason string     // kind of the address or name, such as "loopback"
}

// Metadata is the reason of a [Refused] for a service that gives cloud credentials to any local caller.
const Metadata = "cloud metadata"

// Error names the requested host rather than its address, since the text is shown to models.
func (r *Refused) Error() string {
	what := r.Host
	if what == "" {
		what = r.Addr.String()
	}
	return fmt.Sprintf("%s is not reachable: %s", what, r.Reason)
}

// Check judges an address; the error is a [*Refused].
func (g *Guard) Check(addr netip.Addr) error {
	if !addr.IsValid() {
		return &Refused{Reason: "no address"}
	}
	if addr.Zone() != "" && !g.Private {
		return &Refused{Addr: addr, Reason: "address of a local link"}
	}
	addr = addr.Unmap()
	if g.Private {
		if metadata(addr) {
			return &Refused{Addr: addr, Reason: Metadata}
		}
		return nil
	}
	if s, bad := special(addr); bad {
		if g.opens(addr, s.prefix.Bits()) {
			return nil
		}
		return &Refused{Addr: addr, Reason: s.reason}
	}
	own, err := g.isLocal(addr)
	if err != nil {
		return &Refused{Addr: addr, Reason: "the addresses of this host are unknown"}
	}
	// A public address isn't opened by accident with an entry this narrow.
	if own && !g.opens(addr, 8) {
		return &Refused{Addr: addr, Reason: "address of this host"}
	}
	return nil
}

// CheckPort judges an address together with a port, so that the server's own
// ports are refused as well; the error is a [*Refused].
func (g *Guard) CheckPort(ap netip.AddrPort) error {
	if err := g.Check(ap.Addr()); err != nil {
		return err
	}
	if g.Own == nil {
		return nil
	}
	addr := ap.Addr().Unmap()
	for _, own := range g.Own() {
		if own.Port() != ap.Port() {
			continue
		}
		same := own.Addr().Unmap() == addr
		if own.Addr().IsUnspecified() {
			local, err := g.isLocal(addr)
			same = local || err != nil || addr.IsLoopback() || addr.IsUnspecified()
		}
		if same {
			return &Refused{Addr: addr, Reason: "port of this server"}
		}
	}
	return nil
}

// CheckName judges a host in the form that [Host] returns, before anything is
// resolved; the error is a [*Refused]. Names of private networks count as
// refused until AllowPrivate opens one: from then on their addresses decide.
func (g *Guard) CheckName(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if err := g.Check(addr); err != nil {
			return named(err, host)
		}
		return nil
	}
	under := func(zone string) bool { return host == zone || strings.HasSuffix(host, "."+zone) }
	switch {
	case host == "metadata.google.internal" || host == "metadata" || host == "instance-data.ec2.internal":
		return &Refused{Host: host, Reason: Metadata}
	case g.Private:
	case under("localhost") || under("localdomain"):
		if !slices.ContainsFunc(g.AllowPrivate, func(p netip.Prefix) bool { return p.Addr().Unmap().IsLoopback() }) {
			return &Refused{Host: host, Reason: "loopback"}
		}
	case under("internal") || under("local"):
		if len(g.AllowPrivate) == 0 {
			return &Refused{Host: host, Reason: "name of a private network"}
		}
	}
	return nil
}

// Control implements [net.Dialer.Control]: it judges the resolved address of each attempt immediately
// before the connection, regardless of earlier checks.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return &Refused{Host: address, Reason: "only TCP is open"}
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refused{Host: address, Reason: "no address"}
	}
	return g.CheckPort(ap)
}

// opens reports whether an entry of AllowPrivate with at least this many bits contains addr.
func (g *Guard) opens(addr netip.Addr, bits int) bool {
	return slices.ContainsFunc(g.AllowPrivate, func(p netip.Prefix) bool {
		a, n := p.Addr(), p.Bits()
		if a.Is4In6() && n >= 96 {
			a, n = a.Unmap(), n-96
		}
		return n >= bits && netip.PrefixFrom(a, n).Contains(addr)
	})
}

// isLocal reports whether addr belongs to an interface of this host.
func (g *Guard) isLocal(addr netip.Addr) (bool, error) {
	if g.Local != nil {
		addrs, err := g.Local()
		return slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == addr }), err
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("list interfaces: %w", err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(n.IP); ok && own.Unmap() == addr {
				return true, nil
			}
		}
	}
	return false, nil
}

// named returns a refusal with the requested name.
func named(err error, host string) error {
	if r := (*Refused)(nil); errors.As(err, &r) {
		return &Refused{Addr: r.Addr, Host: host, Reason: r.Reason}
	}
	return err
}
