package sandbox

// candidates are the providers of this system, the strongest first.
func candidates() []candidate {
	return []candidate{
		{name: ProviderNamespace, open: newNamespace, auto: always},
		{name: ProviderDocker, open: newDocker, auto: func(c Config) bool { return c.AllowEngine }},
		{name: ProviderLandlock, open: newLandlock, auto: always, without: []string{"mountns", "pidns"}},
		{name: ProviderHost, open: newHost, auto: never},
	}
}
