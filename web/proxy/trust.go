package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Loopback represents the addresses of this machine in a list of trusted proxies.
const Loopback = "loopback"

// Trust is the set of proxies with trusted headers. The zero value trusts none.
type Trust struct{ nets []netip.Prefix }

// Parse reads addresses, networks such as 10.0.0.0/8, and the word loopback.
func Parse(list []string) (Trust, error) {
	var t Trust
	for _, s := range list {
		s = strings.TrimSpace(s)
		if strings.EqualFold(s, Loopback) {
			t.nets = append(t.nets, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
			continue
		}
		if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
			addr = addr.Unmap()
			t.nets = append(t.nets, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		net, err := netip.ParsePrefix(s)
		if err != nil || net.Addr().Is4In6() {
			return Trust{}, fmt.Errorf("%q is neither an address, nor a network such as 10.0.0.0/8, nor the word %s", s,
				Loopback)
		}
		t.nets = append(t.nets, net.Masked())
	}
	return t, nil
}

// Contains reports whether an address is one of a trusted proxy.
func (t Trust) Contains(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(t.nets, func(n netip.Prefix) bool { return n.Contains(addr) })
}
