package netguard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ErrHost marks a host that is neither a DNS name nor an IP address in one of
// their unambiguous spellings.
var ErrHost = errors.New("malformed host")

// Host returns the canonical spelling of a host for comparisons: lower case, international names in
// ASCII, no trailing dot, addresses in canonical form and without brackets. It refuses, with
// [ErrHost], names that other programs might interpret differently: control characters, percent signs,
// user parts, zones, ports, and numbers that some resolvers take for IPv4.
func Host(raw string) (string, error) {
	if raw == "" || len(raw) > 1024 {
		return "", fmt.Errorf("%w: %d bytes", ErrHost, len(raw))
	}
	if inner, ok := strings.CutPrefix(raw, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") {
			return "", fmt.Errorf("%w: unbalanced brackets", ErrHost)
		}
		return literal(inner)
	}
	if strings.Contains(raw, ":") {
		return literal(raw)
	}
	name, err := ascii(raw)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, ".")
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.String(), nil
	}
	return name, checkLabels(name)
}

// literal parses an IPv6 address; one with an embedded IPv4 address becomes that.
func literal(s string) (string, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return "", fmt.Errorf("%w: not an IPv6 address", ErrHost)
	}
	return addr.Unmap().String(), nil
}

// ascii lowers plain names and maps international ones.
func ascii(raw string) (string, error) {
	plain := true
	for i := 0; i < len(raw); i++ {
		if raw[i] >= 0x80 {
			plain = false
			break
		}
	}
	lower := strings.ToLower(raw)
	if plain && !strings.HasPrefix(lower, "xn--") && !strings.Contains(lower, ".xn--") {
		return lower, nil
	}
	if !utf8.ValidString(raw) {
		return "", fmt.Errorf("%w: not UTF-8", ErrHost)
	}
	// Underscores and odd hyphens occur in real names; the labels are checked
	// afterwards, so the mapping need not be strict about characters.
	p := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
		idna.StrictDomainName(false), idna.CheckHyphens(false))
	name, err := p.ToASCII(raw)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrHost, err)
	}
	return strings.ToLower(name), nil
}

// checkLabels refuses names that DNS does not carry.
func checkLabels(name string) error {
	if name == "" || len(name) > 253 {
		return fmt.Errorf("%w: %d bytes", ErrHost, len(name))
	}
	var last string
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Errorf("%w: invalid label", ErrHost)
		}
		for i := 0; i < len(label); i++ {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return fmt.Errorf("%w: character %q", ErrHost, c)
			}
		}
		last = label
	}
	if numeric(last) {
		return fmt.Errorf("%w: ends in a number", ErrHost)
	}
	return nil
}

// numeric reports whether C resolvers could read a last label as part of an IPv4 address, as they do with 2130706433,
// 127.1 and 0x7f.0.0.1.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// Authority splits "host:port", the form of a CONNECT request, and normalises
// the host. The port is between 1 and 65535.
func Authority(s string) (host string, port int, err error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, fmt.Errorf("%w: no port", ErrHost)
	}
	if strings.Contains(s[:i], ":") && s[0] != '[' {
		return "", 0, fmt.Errorf("%w: IPv6 address without brackets", ErrHost)
	}
	port, err = portNumber(s[i+1:])
	if err != nil {
		return "", 0, err
	}
	host, err = Host(s[:i])
	return host, port, err
}

// portNumber reads a decimal port without sign or leading zeros.
func portNumber(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] < '1' || s[0] > '9' {
		return 0, fmt.Errorf("%w: invalid port", ErrHost)
	}
	return int(n), nil
}

// IsAddress reports whether a normalised host is an address, not a name.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Join returns the authority of a host that [Host] returned.
func Join(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}
