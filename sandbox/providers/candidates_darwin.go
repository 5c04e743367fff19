package providers

import (
	"fawn/sandbox"
	"fawn/sandbox/host"
	"fawn/sandbox/seatbelt"
)

// candidates returns the providers of this system, the strongest first.
func candidates() []candidate {
	return []candidate{
		{name: sandbox.ProviderSeatbelt, open: seatbelt.New, auto: always,
			without: []string{"mountns", "pidns", "no_new_privs"}},
		{name: sandbox.ProviderHost, open: host.New, auto: never},
	}
}
