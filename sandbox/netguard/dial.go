package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

const (
	// dialTries limits the addresses tried for a name.
	dialTries = 4
	// dialShare limits the time for one address while others remain.
	dialShare = 4 * time.Second
	// dialLimit limits resolving and dialing together.
	dialLimit = 15 * time.Second
)

// ErrUnresolved marks a name without an address.
var ErrUnresolved = errors.New("name does not resolve")

// DialContext connects to "host:port" over TCP, for [net/http.Transport] and the like: it resolves the name once,
// checks each address, and connects to the first permitted one that answers. The error is or wraps [*Refused],
// [ErrHost], [ErrUnresolved], or a network error. It gives up after 15 seconds.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, &Refused{Host: address, Reason: "only TCP is open"}
	}
	host, port, err := Authority(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	addrs, err := g.addresses(ctx, host, port)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Control: g.Control, KeepAliveConfig: net.KeepAliveConfig{Enable: true}}
	var failed error
	for i, addr := range addrs {
		if (network == "tcp4" && !addr.Is4()) || (network == "tcp6" && !addr.Is6()) {
			continue
		}
		conn, err := dialOne(ctx, &dialer, network, netip.AddrPortFrom(addr, uint16(port)), i == len(addrs)-1)
		if err == nil {
			return conn, nil
		}
		failed = err
		if ctx.Err() != nil {
			break
		}
	}
	if failed == nil {
		return nil, fmt.Errorf("%w: %s over %s", ErrUnresolved, host, network)
	}
	return nil, fmt.Errorf("connect to %s port %d: %w", host, port, failed)
}

// Judge reports whether a connection to "host:port" would be refused; the error is or wraps [*Refused] or [ErrHost]. A
// name without an address counts as not refused.
func (g *Guard) Judge(ctx context.Context, address string) error {
	host, port, err := Authority(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	if _, err = g.addresses(ctx, host, port); err == nil || errors.As(err, new(*Refused)) || errors.Is(err, ErrHost) {
		return err
	}
	return nil
}

func dialOne(ctx context.Context, d *net.Dialer, network string, to netip.AddrPort, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialShare)
		defer cancel()
	}
	return d.DialContext(ctx, network, to.String())
}

// addresses resolves host once and returns its permitted addresses, at least
// one and at most dialTries.
func (g *Guard) addresses(ctx context.Context, host string, port int) ([]netip.Addr, error) {
	if err := g.CheckName(host); err != nil {
		return nil, err
	}
	found := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		found = append(found, addr)
	} else if found, err = g.lookup(ctx, host); err != nil {
		return nil, err
	}
	var refused error
	var good []netip.Addr
	for _, addr := range found {
		if err := g.CheckPort(netip.AddrPortFrom(addr, uint16(port))); err != nil {
			refused = named(err, host)
		} else {
			good = append(good, addr.Unmap())
		}
	}
	if len(good) > 0 {
		return alternate(good), nil
	}
	if refused != nil {
		return nil, refused
	}
	return nil, fmt.Errorf("%w: %s", ErrUnresolved, host)
}

// alternate orders addresses so that both families get their turn among the
// first ones, and keeps dialTries of them.
func alternate(addrs []netip.Addr) []netip.Addr {
	var same, other, mixed []netip.Addr
	for _, a := range addrs {
		if a.Is4() == addrs[0].Is4() {
			same = append(same, a)
		} else {
			other = append(other, a)
		}
	}
	for i := range max(len(same), len(other)) {
		mixed = append(mixed, same[min(i, len(same)):min(i+1, len(same))]...)
		mixed = append(mixed, other[min(i, len(other)):min(i+1, len(other))]...)
	}
	return mixed[:min(dialTries, len(mixed))]
}

// lookup asks for the addresses of a name.
func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	resolve := g.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			// The final dot prevents a lookup below this host's search domains.
			if strings.Contains(host, ".") {
				host += "."
			}
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := resolve(ctx, host)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("resolve %s: %w", host, ctx.Err())
		}
		// The resolver's own text names the name servers of this network.
		why := "the name servers did not answer"
		if dns := (*net.DNSError)(nil); errors.As(err, &dns) && dns.IsNotFound {
			why = "no such name"
		}
		return nil, fmt.Errorf("%w: %s: %s", ErrUnresolved, host, why)
	}
	return addrs, nil
}
