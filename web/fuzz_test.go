package web_test

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/web"
)

func FuzzTidy(f *testing.F) {
	for _, p := range []string{"/", "//", "/a//b/", "", "a/", "///", "/%2f//"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got := web.Tidy(p)
		if strings.Contains(got, "//") || len(got) > 1 && strings.HasSuffix(got, "/") || web.Tidy(got) != got {
			t.Errorf("%q became %q", p, got)
		}
		if strings.HasPrefix(p, "/") && !strings.HasPrefix(got, "/") {
			t.Errorf("%q lost its root: %q", p, got)
		}
		parts := func(s string) string {
			return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '/' }), "/")
		}
		if parts(p) != parts(got) {
			t.Errorf("%q became %q", p, got)
		}
	})
}

// FuzzGuard: whatever is let through as a host or origin of this machine is written like
// one, by rules of this test.
func FuzzGuard(f *testing.F) {
	conf, err := config.Load(config.Options{DataDir: f.TempDir(), LookupEnv: func(string) (string, bool) {
		return "", false
	}})
	must.Do(f, err)
	guard := web.Guard("127.0.0.1:2026", conf)
	host := regexp.MustCompile(`^(?:(?i:localhost)|([0-9.]+)|\[?([0-9a-fA-F:.]+)\]?)(?::[^:/\]]*)?$`)
	origin := regexp.MustCompile(`^https?://([^@/?#]+)$`)
	loopback := func(name string) bool {
		m := host.FindStringSubmatch(name)
		if m == nil {
			return false
		}
		ip, err := netip.ParseAddr(m[1] + m[2])
		return m[1]+m[2] == "" || err == nil && ip.Unmap().IsLoopback()
	}
	for _, s := range []string{"localhost:1", "127.0.0.1", "[::1]:80", "::1", "[::1", "evil.example",
		"localhost.evil.example", "http://localhost:3000",
		"http://localhost@evil.example", "https://[::1]:1", "null", "file://localhost", "http://127.0.0.1.evil.example",
		"http://evil.example#@localhost"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if guard.AllowsHost(s) && !loopback(s) && !loopback(strings.Trim(s, "[]")) {
			t.Errorf("host %q is let through", s)
		}
		if m := origin.FindStringSubmatch(s); guard.AllowsOrigin(s) && (m == nil || !loopback(m[1])) {
			t.Errorf("origin %q is let through", s)
		}
	})
}
