package sandbox

// candidates are the providers of this system, the strongest first.
func candidates() []candidate {
	return []candidate{
		{name: ProviderSeatbelt, open: newSeatbelt, auto: always, without: []string{"mountns", "pidns", "no_new_privs"}},
		{name: ProviderHost, open: newHost, auto: never},
	}
}
