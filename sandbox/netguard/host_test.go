package netguard_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"fawn/sandbox/netguard"
)

func TestHostHasOneSpelling(t *testing.T) {
	for raw, want := range map[string]string{
		"example.com":           "example.com",
		"EXAMPLE.Com.":          "example.com",
		"my_bucket.example":     "my_bucket.example",
		"r3---sn-x.example":     "r3---sn-x.example",
		"bücher.example":        "xn--bcher-kva.example",
		"BÜCHER.example":        "xn--bcher-kva.example",
		"XN--BCHER-KVA.Example": "xn--bcher-kva.example",
		"ex\u3002example":       "ex.example", // ideographic full stop
		"ｅｘａｍｐｌｅ.com":           "example.com",
		"127.0.0.1":             "127.0.0.1",
		"127.0.0.1.":            "127.0.0.1",
		"１２７。０。０。１":             "127.0.0.1",
		"[::1]":                 "::1",
		"::1":                   "::1",
		"[2001:DB8:0:0::1]":     "2001:db8::1",
		"[::ffff:10.0.0.1]":     "10.0.0.1",
		"a\u200b.com":           "a.com", // zero width space
		"localhost":             "localhost",
		"1password.com":         "1password.com",
		"a.0xg":                 "a.0xg",
	} {
		got, err := netguard.Host(raw)
		if err != nil || got != want {
			t.Errorf("Host(%q) = %q, %v; want %q", raw, got, err, want)
		}
	}
}

func TestHostRefusesWhatOthersCouldReadDifferently(t *testing.T) {
	for name, raw := range map[string]string{
		"empty": "", "dot": ".", "two dots": "example..com", "leading dot": ".example.com",
		"final dots": "example.com..", "nul": "example.com\x00.evil.com", "cr": "example.com\r",
		"lf": "example.com\nHost: x", "space": "a b.com", "tab": "a\t.com", "user": "user@example.com",
		"user and password": "a:b@example.com", "percent": "ex%61mple.com", "percent nul": "example.com%00",
		"slash": "example.com/x", "backslash": "example.com\\x", "question": "a?b", "hash": "a#b",
		"port": "example.com:80", "decimal": "2130706433", "short": "127.1", "octal": "0177.0.0.1",
		"leading zero": "127.0.0.01", "hex": "0x7f000001", "hex parts": "0x7f.0x0.0x0.0x1", "bare hex mark": "a.0x",
		"five parts": "1.2.3.4.5", "too large": "256.1.1.1", "numeric end": "example.1", "zone": "[fe80::1%eth0]",
		"zone, bare": "fe80::1%eth0", "open bracket": "[::1", "v4 in brackets": "[127.0.0.1]",
		"name in brackets": "[example.com]", "hyphen first": "-a.com", "hyphen last": "a-.com",
		"long label": strings.Repeat("a", 64) + ".com", "long": strings.Repeat("a.", 127) + "aa",
		"invalid utf-8": "ex\xffample.com", "bad punycode": "xn--a.com", "fullwidth slash": "a／b.com",
		"account of": "a℀b.com", "bidi override": "a\u202eb.com", "only invisible": "\u00ad",
		"huge": strings.Repeat("a", 5000),
	} {
		if got, err := netguard.Host(raw); err == nil {
			t.Errorf("%s: Host(%q) = %q, want an error", name, raw, got)
		} else if err != nil && !errors.Is(err, netguard.ErrHost) {
			t.Errorf("%s: %v is not ErrHost", name, err)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"example.com", "bücher.example", "xn--bcher-kva.example", "[::1]", "１２７。０。０。１", "a%00",
		"0x7f.1", "a..b", "ẞ.de"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		host, err := netguard.Host(raw)
		if err != nil {
			if !errors.Is(err, netguard.ErrHost) {
				t.Fatalf("%v is not ErrHost", err)
			}
			return
		}
		if again, err := netguard.Host(host); err != nil || again != host {
			t.Fatalf("Host(%q) = %q, and of that %q, %v", raw, host, again, err)
		}
		if _, err := netip.ParseAddr(host); err != nil &&
			strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			t.Fatalf("Host(%q) = %q has other characters", raw, host)
		}
		if strings.HasSuffix(host, ".") || len(host) > 253 {
			t.Fatalf("Host(%q) = %q", raw, host)
		}
	})
}
