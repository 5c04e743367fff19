package netguard

import (
	"net/netip"
	"slices"
	"sync"
)

// span is a block of addresses that is not the public internet.
type span struct {
	prefix netip.Prefix
	reason string
}

var (
	spans4 = sync.OnceValue(func() []span {
		return []span{
			{netip.MustParsePrefix("0.0.0.0/8"), "this host"},
			{netip.MustParsePrefix("10.0.0.0/8"), "private network"},
			{netip.MustParsePrefix("100.64.0.0/10"), "carrier network"},
			{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
			{netip.MustParsePrefix("169.254.0.0/16"), "link-local or cloud metadata"},
			{netip.MustParsePrefix("172.16.0.0/12"), "private network"},
			{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
			{netip.MustParsePrefix("192.168.0.0/16"), "private network"},
			{netip.MustParsePrefix("198.18.0.0/15"), "benchmark network"},
			{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
			{netip.MustParsePrefix("240.0.0.0/4"), "reserved or broadcast"},
		}
	})
	spans6 = sync.OnceValue(func() []span {
		return []span{
			{netip.MustParsePrefix("::/128"), "this host"},
			{netip.MustParsePrefix("::1/128"), "loopback"},
			{netip.MustParsePrefix("::/96"), "IPv4-compatible address"},
			{netip.MustParsePrefix("64:ff9b:1::/48"), "local translation"},
			{netip.MustParsePrefix("100::/64"), "discard"},
			{netip.MustParsePrefix("2001:2::/48"), "benchmark network"},
			{netip.MustParsePrefix("2001:10::/28"), "identifiers, not addresses"},
			{netip.MustParsePrefix("2001:20::/28"), "identifiers, not addresses"},
			{netip.MustParsePrefix("fc00::/7"), "private network"},
			{netip.MustParsePrefix("fe80::/10"), "link-local"},
			{netip.MustParsePrefix("fec0::/10"), "private network"},
			{netip.MustParsePrefix("ff00::/8"), "multicast"},
		}
	})
	carriers = sync.OnceValue(func() []carrier {
		return []carrier{
			{netip.MustParsePrefix("64:ff9b::/96"), "NAT64", []int{12}, false},
			{netip.MustParsePrefix("2002::/16"), "6to4", []int{2}, false},
			// A relay's address and, with every bit flipped, the client's.
			{netip.MustParsePrefix("2001::/32"), "Teredo", []int{4, 12}, true},
		}
	})
	global6 = sync.OnceValue(func() netip.Prefix { return netip.MustParsePrefix("2000::/3") })
)

// metadata reports whether an address belongs to a cloud's metadata service, also if embedded in another one.
func metadata(addr netip.Addr) bool {
	if addr.Is6() {
		raw := addr.As16()
		for _, c := range carriers() {
			if c.prefix.Contains(addr) && slices.ContainsFunc(c.inside(raw), metadata) {
				return true
			}
		}
	}
	switch addr.WithZone("").String() {
	case "169.254.169.254", "169.254.169.253", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192",
		"168.63.129.16", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254":
		return true
	}
	return false
}

// carrier is a block of IPv6 addresses that lead to the IPv4 addresses inside.
type carrier struct {
	prefix  netip.Prefix
	name    string
	at      []int // offsets of the IPv4 addresses
	flipped bool  // whether the last of them is stored inverted
}

// inside returns the IPv4 addresses that a carries.
func (c carrier) inside(a [16]byte) []netip.Addr {
	addrs := make([]netip.Addr, len(c.at))
	for i, at := range c.at {
		v4 := [4]byte(a[at : at+4])
		if c.flipped && i == len(c.at)-1 {
			for j := range v4 {
				v4[j] ^= 0xff
			}
		}
		addrs[i] = netip.AddrFrom4(v4)
	}
	return addrs
}

// special returns the block that keeps addr from being a public address. The
// address must not be an IPv4 address in IPv6 form.
func special(addr netip.Addr) (span, bool) {
	table := spans4
	if addr.Is6() {
		table = spans6
	}
	for _, s := range table() {
		if s.prefix.Contains(addr) {
			return s, true
		}
	}
	if addr.Is4() {
		return span{}, false
	}
	raw := addr.As16()
	for _, c := range carriers() {
		if !c.prefix.Contains(addr) {
			continue
		}
		for _, v4 := range c.inside(raw) {
			if s, bad := special(v4); bad {
				return span{c.prefix, c.name + " to " + s.reason}, true
			}
		}
		return span{}, false
	}
	// ISATAP appends the IPv4 address after this mark to any prefix.
	if raw[8]&^2 == 0 && raw[9] == 0 && raw[10] == 0x5e && raw[11] == 0xfe {
		if s, bad := special(netip.AddrFrom4([4]byte(raw[12:]))); bad {
			return span{netip.PrefixFrom(addr, 64), "ISATAP to " + s.reason}, true
		}
	}
	if !global6().Contains(addr) {
		return span{netip.PrefixFrom(addr, 8), "not a public address"}, true
	}
	return span{}, false
}
