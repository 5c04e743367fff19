package proxy

import (
	"net/http"
	"net/netip"
	"path"
	"strings"
)

// Headers of proxies, in their canonical form.
const (
	headerFor       = "X-Forwarded-For"
	headerProto     = "X-Forwarded-Proto"
	headerHost      = "X-Forwarded-Host"
	headerPrefix    = "X-Forwarded-Prefix"
	headerForwarded = "Forwarded"
)

// maxHops limits the proxies followed.
const maxHops = 32

// hop is one proxy's description of its request. Empty fields are unspecified.
type hop struct{ from, proto, host string }

// forwarded applies the headers of trusted proxies, nearest first: as long as a hop came from a trusted proxy, the
// previous hop counts as well. Forwarded counts only without X-Forwarded headers, because proxies that set these pass
// on a client's Forwarded.
func (t Trust) forwarded(h http.Header, c *Client) {
	hops := ofX(h)
	if hops == nil {
		hops = ofForwarded(h)
	}
	for n := len(hops) - 1; n >= 0 && n >= len(hops)-maxHops; n-- {
		one := hops[n]
		if p := strings.ToLower(one.proto); p == "http" || p == "https" {
			c.Scheme = p
		}
		if one.host != "" && !strings.ContainsAny(one.host, "/\\@?# \t\"'<>") {
			c.Host = one.host
		}
		at := node(one.from)
		if !at.IsValid() {
			break
		}
		c.Addr = at
		if !t.Contains(at) {
			break
		}
	}
	if p := last(h, headerPrefix); p != "" {
		c.Base, _ = CleanBase(p)
	}
}

// ofX reads X-Forwarded-For, -Proto and -Host, or returns nil if there are none. Proxies that set Proto or Host replace
// them, so these usually have one value, the nearest proxy's; with one per hop, each hop has its own.
func ofX(h http.Header) []hop {
	from, proto, host := values(h, headerFor), values(h, headerProto), values(h, headerHost)
	n := max(len(from), min(1, max(len(proto), len(host))))
	if n == 0 {
		return nil
	}
	hops := make([]hop, n)
	for i := range hops {
		if k := len(from) - n + i; k >= 0 {
			hops[i].from = from[k]
		}
		hops[i].proto, hops[i].host = at(proto, i, n), at(host, i, n)
	}
	return hops
}

// at returns the value of hop i of n.
func at(list []string, i, n int) string {
	if len(list) == n {
		return list[i]
	}
	if i == n-1 && len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// values returns the parts of a header that is a list.
func values(h http.Header, name string) (out []string) {
	for _, line := range h[name] {
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

func last(h http.Header, name string) string {
	v := values(h, name)
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

// ofForwarded reads the header of RFC 7239.
func ofForwarded(h http.Header) (hops []hop) {
	for _, line := range h[headerForwarded] {
		for _, element := range split(line, ',') {
			var one hop
			for _, pair := range split(element, ';') {
				name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				value = unquote(strings.TrimSpace(value))
				switch strings.ToLower(strings.TrimSpace(name)) {
				case "for":
					one.from = value
				case "proto":
					one.proto = value
				case "host":
					one.host = value
				}
			}
			hops = append(hops, one)
		}
	}
	return hops
}

// split cuts s at a separator that is not inside quotes.
func split(s string, sep byte) (parts []string) {
	begin, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			parts, begin = append(parts, s[begin:i]), i+1
		}
	}
	return append(parts, s[begin:])
}

func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' && i+1 < len(s)-1 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// node reads an address with or without port and brackets. Names such as unknown and _hidden aren't
// addresses.
func node(s string) netip.Addr {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return at.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// CleanBase normalizes a path prefix: "" for the root, else with a leading and without a trailing slash. ok is false
// for an invalid one.
func CleanBase(s string) (base string, ok bool) {
	if s == "" || s == "/" {
		return "", true
	}
	for _, r := range s {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/-._~", r)
		if !plain {
			return "", false
		}
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(s, "/"), "/")
	if base = "/" + bare; bare == "" || path.Clean(base) != base {
		return "", false
	}
	return base, true
}
