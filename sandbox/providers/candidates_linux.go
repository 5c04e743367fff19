package providers

import (
	"fawn/sandbox"
	"fawn/sandbox/docker"
	"fawn/sandbox/host"
	"fawn/sandbox/landlock"
	"fawn/sandbox/ns"
)

// candidates returns the providers of this system, the strongest first.
func candidates() []candidate {
	return []candidate{
		{name: sandbox.ProviderNamespace, open: ns.New, auto: always},
		{name: sandbox.ProviderDocker, open: docker.New, auto: func(c sandbox.Config) bool { return c.AllowEngine }},
		{name: sandbox.ProviderLandlock, open: landlock.New, auto: always, without: []string{"mountns", "pidns"}},
		{name: sandbox.ProviderHost, open: host.New, auto: never},
	}
}
