// Package netguardtest contains helpers for tests of guards and of the proxies behind them.
package netguardtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/netguard"
)

// Main runs the tests of a package and fails where a goroutine is left.
func Main(m *testing.M) {
	code := m.Run()
	var leaked error
	for end := time.Now().Add(time.Minute); code == 0 && time.Now().Before(end); { // each check is slow
		if leaked = goleak.Find(); leaked == nil {
			break
		}
	}
	if leaked != nil {
		fmt.Fprintln(os.Stderr, leaked)
		code = 1
	}
	os.Exit(code)
}

// Prefixes reads prefixes.
func Prefixes(texts ...string) (all []netip.Prefix) {
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}

// Nobody is a host without addresses, so that tests do not depend on this one.
func Nobody() ([]netip.Addr, error) { return nil, nil }

// Hosts is a guard for which loopback is open and names resolve to it, except those with an address of their own.
func Hosts(own map[string]string) *netguard.Guard {
	return &netguard.Guard{AllowPrivate: Prefixes("127.0.0.0/8"), Local: Nobody,
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if text, ok := own[host]; ok {
				return []netip.Addr{netip.MustParseAddr(text)}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}}
}

// PortOf is the port of a test server.
func PortOf(s *httptest.Server) int { return s.Listener.Addr().(*net.TCPAddr).Port }

// At is an address on a test server under another name.
func At(s *httptest.Server, host, path string) string {
	scheme := "http"
	if s.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(PortOf(s))) + path
}

// Fetch gets an address and returns its body.
func Fetch(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	resp, err := c.Do(must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
