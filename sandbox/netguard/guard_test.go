package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/netguard"
	"fawn/sandbox/netguard/netguardtest"
)

func TestGuardLetsPublicAddressesThrough(t *testing.T) {
	g := &netguard.Guard{Local: netguardtest.Nobody}
	for _, text := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "8.8.8.8",
		"2606:4700:4700::1111", "2a00:1450::1", "3fff:ffff::1",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2001:0:808:808:0:0:f7f7:f7f7",
		"2606:4700::5efe:808:808",
	} {
		if err := g.Check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("Check(%s) = %v", text, err)
		}
	}
}

func TestAllowPrivateOpensOnlyWhatItNames(t *testing.T) {
	tests := []struct {
		name, entry, addr string
		open              bool
	}{
		{"the network", "192.168.1.0/24", "192.168.1.9", true},
		{"next to it", "192.168.1.0/24", "192.168.2.9", false},
		{"the whole block", "10.0.0.0/8", "10.9.9.9", true},
		{"one address", "10.0.0.7/32", "10.0.0.7", true},
		{"the same, mapped", "10.0.0.0/8", "::ffff:10.0.0.7", true},
		{"entry in mapped form", "::ffff:10.0.0.0/104", "10.0.0.7", true},
		{"everything", "0.0.0.0/0", "10.0.0.7", false},
		{"everything, metadata", "0.0.0.0/0", "169.254.169.254", false},
		{"everything v6", "::/0", "fd00::1", false},
		{"wider than the block", "192.0.0.0/8", "192.168.1.1", false},
		{"unique local", "fd12:3456::/32", "fd12:3456::9", true},
		{"loopback", "127.0.0.0/8", "127.0.0.1", true},
		{"private does not open NAT64", "10.0.0.0/8", "64:ff9b::10.0.0.1", false},
		{"private does not open 6to4", "10.0.0.0/8", "2002:a00:1::1", false},
		{"zone stays closed", "fe80::/10", "fe80::1%eth0", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &netguard.Guard{Local: netguardtest.Nobody, AllowPrivate: netguardtest.Prefixes(tt.entry)}
			if err := g.Check(netip.MustParseAddr(tt.addr)); (err == nil) != tt.open {
				t.Errorf("Check(%s) with %s = %v, want open %v", tt.addr, tt.entry, err, tt.open)
			}
		})
	}
}

func TestGuardRefusesThisHost(t *testing.T) {
	mine := netip.MustParseAddr("8.8.4.4")
	g := &netguard.Guard{
		Local: func() ([]netip.Addr, error) { return []netip.Addr{mine}, nil },
		Own:   func() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort("[::]:2026")} },
	}
	if err := g.Check(mine); err == nil {
		t.Error("the host's own public address was let through")
	}
	g.AllowPrivate = netguardtest.Prefixes("8.8.4.4/32", "127.0.0.0/8")
	for text, open := range map[string]bool{
		"8.8.4.4:80": true, "8.8.4.4:2026": false, "127.0.0.1:2026": false, "127.0.0.1:80": true,
		"[::ffff:127.0.0.1]:2026": false, "9.9.9.9:2026": true,
	} {
		if err := g.CheckPort(netip.MustParseAddrPort(text)); (err == nil) != open {
			t.Errorf("CheckPort(%s) = %v, want open %v", text, err, open)
		}
	}
	g = &netguard.Guard{Local: func() ([]netip.Addr, error) { return nil, errors.New("no netlink") }}
	if err := g.Check(mine); err == nil {
		t.Error("let through although this host's addresses are unknown")
	}
	addrs := must.Get(net.InterfaceAddrs())(t)
	for _, a := range addrs {
		own, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if err := (&netguard.Guard{}).Check(own); err == nil {
			t.Errorf("%s is an address of this host and was let through", own)
		}
	}
}

func TestGuardRefusesNames(t *testing.T) {
	strict := &netguard.Guard{Local: netguardtest.Nobody}
	home := &netguard.Guard{Local: netguardtest.Nobody, AllowPrivate: netguardtest.Prefixes("10.0.0.0/8")}
	local := &netguard.Guard{Local: netguardtest.Nobody, AllowPrivate: netguardtest.Prefixes("127.0.0.0/8")}
	tests := []struct {
		host                string
		strict, home, local bool
	}{
		{"localhost", false, false, true},
		{"a.localhost", false, false, true},
		{"printer.local", false, true, true},
		{"db.internal", false, true, true},
		{"internal", false, true, true},
		{"metadata.google.internal", false, false, false},
		{"instance-data.ec2.internal", false, false, false},
		{"10.0.0.1", false, true, false},
		{"127.0.0.1", false, false, true},
		{"::1", false, false, false},
		{"example.com", true, true, true},
		{"notlocalhost", true, true, true},
		{"internal.example.com", true, true, true},
		{"8.8.8.8", true, true, true},
	}
	for _, tt := range tests {
		for name, c := range map[string]struct {
			guard *netguard.Guard
			open  bool
		}{"strict": {strict, tt.strict}, "home": {home, tt.home}, "local": {local, tt.local}} {
			if err := c.guard.CheckName(tt.host); (err == nil) != c.open {
				t.Errorf("%s: CheckName(%s) = %v, want open %v", name, tt.host, err, c.open)
			}
		}
	}
}

func TestControlStopsADialerThatWasMisled(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	var refused *netguard.Refused
	d := net.Dialer{Control: (&netguard.Guard{}).Control}
	if _, err := d.DialContext(t.Context(), "tcp", l.Addr().String()); !errors.As(err, &refused) {
		t.Errorf("dial = %v, want a refusal", err)
	}
	if _, err := d.DialContext(t.Context(), "udp", "8.8.8.8:53"); !errors.As(err, &refused) {
		t.Errorf("dial over UDP = %v, want a refusal", err)
	}
	d.Control = (&netguard.Guard{AllowPrivate: netguardtest.Prefixes("127.0.0.0/8")}).Control
	conn := must.Get(d.DialContext(t.Context(), "tcp", l.Addr().String()))(t)
	conn.Close()
}

func TestDialContextJudgesEveryAddressOfAName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := 0
	g := &netguard.Guard{
		AllowPrivate: netguardtest.Prefixes("127.0.0.0/8"),
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			asked++
			switch host {
			case "mixed.example":
				return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("10.0.0.1"),
					netip.MustParseAddr("::ffff:127.0.0.1")}, nil
			case "bad.example":
				return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
			case "second.example":
				return []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}, nil
			case "closed.example":
				return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
			case "none.example":
				return nil, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.0.0.53:53", IsNotFound: true}
		},
	}
	dial := func(host string) (net.Conn, error) {
		return g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(l.Addr().(*net.TCPAddr).Port)))
	}
	conn := must.Get(dial("MIXED.example."))(t)
	conn.Close()
	if asked != 1 {
		t.Errorf("resolved %d times, want once", asked)
	}
	var refused *netguard.Refused
	if _, err := dial("bad.example"); !errors.As(err, &refused) || refused.Host != "bad.example" {
		t.Errorf("bad.example: %v, want a refusal with its name", err)
	} else if strings.Contains(err.Error(), "169.254") {
		t.Errorf("the error tells the address: %v", err)
	}
	for _, host := range []string{"none.example", "missing.example"} {
		if _, err := dial(host); !errors.Is(err, netguard.ErrUnresolved) || strings.Contains(err.Error(), "10.0.0.53") {
			t.Errorf("%s: %v, want ErrUnresolved without the name server", host, err)
		}
	}
	conn, err = dial("second.example")
	if err != nil {
		t.Errorf("the second of two addresses: %v", err)
	} else {
		conn.Close()
	}
	if _, err := dial("closed.example"); err == nil || errors.As(err, &refused) {
		t.Errorf("an address where netguardtest.Nobody listens: %v", err)
	}
	if _, err := g.DialContext(t.Context(), "tcp6", l.Addr().String()); !errors.Is(err, netguard.ErrUnresolved) {
		t.Errorf("an IPv4 address over tcp6: %v", err)
	}
	g.Resolve = nil
	conn, err = dial("localhost") // from this machine's own table of hosts
	if err != nil {
		t.Errorf("the system's resolver: %v", err)
	} else {
		conn.Close()
	}
	if _, err := dial("10.0.0.1"); !errors.As(err, &refused) {
		t.Errorf("literal: %v, want a refusal", err)
	}
	if _, err := g.DialContext(t.Context(), "udp", "example.com:53"); !errors.As(err, &refused) {
		t.Errorf("udp: %v, want a refusal", err)
	}
	for _, bad := range []string{"", "example.com", ":80", "example.com:0", "example.com:http", "::1:80", "a@b:80"} {
		if _, err := g.DialContext(t.Context(), "tcp", bad); !errors.Is(err, netguard.ErrHost) {
			t.Errorf("%q: %v, want ErrHost", bad, err)
		}
	}
}

func FuzzGuardCheck(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "8.8.8.8", "::ffff:10.0.0.1", "64:ff9b::1", "2002:a00:1::",
		"2001::f5ff:fffe", "fe80::1"} {
		f.Add(netip.MustParseAddr(s).AsSlice())
	}
	g := &netguard.Guard{Local: netguardtest.Nobody}
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		err := g.Check(addr)
		plain := addr.Unmap()
		if err == nil && (!plain.IsGlobalUnicast() || plain.IsPrivate()) {
			t.Fatalf("%s was let through", addr)
		}
		if plain.Is4() {
			mapped := netip.AddrFrom16(plain.As16())
			if (g.Check(mapped) == nil) != (err == nil) {
				t.Fatalf("%s and %s differ", addr, mapped)
			}
			v4 := plain.As4()
			nat := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]})
			six := netip.AddrFrom16([16]byte{0x20, 0x02, v4[0], v4[1], v4[2], v4[3], 15: 1})
			for _, carrier := range []netip.Addr{nat, six} {
				if (g.Check(carrier) == nil) != (err == nil) {
					t.Fatalf("%s leads to %s and is judged differently", carrier, addr)
				}
			}
		}
	})
}
