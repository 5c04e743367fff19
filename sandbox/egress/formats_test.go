package egress

import (
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

func FuzzPackageFiles(f *testing.F) {
	f.Add("[global]\nindex-url = https://a.example\n b\n", "https://x.example")
	f.Add("registry=https://${A}/\n[source.x]\nregistry = 'sparse+https://b'\n", "${A}${")
	f.Add("deb [ a ] https://b c\nURIs: x\n y\nEnabled: no\n", "a+b https://c")
	f.Fuzz(func(t *testing.T, text, value string) {
		lines := strings.Split(text, "\n")
		words := slices.Concat(pipAddresses(lines), npmAddresses(lines, map[string]string{"A": value}),
			goAddresses(text, value), cargoAddresses(lines), aptAddresses(lines), aptStanzas(lines))
		for _, word := range append(words, value) {
			if host, ok := urlHost(word); ok {
				must.Do(t, (Policy{Packages: true, PackageHosts: []string{host}}).Validate())
			}
		}
	})
}
