package config

import "fawn/agent/config/syntax"

// Value types of configuration files, and problems with them.
type (
	// Secret is text that is never shown.
	Secret = syntax.Secret
	// Headers are names with secret values.
	Headers = syntax.Headers
	// Extra holds the keys that Fawn does not interpret.
	Extra = syntax.Extra
	// Origin is the place where a value was written.
	Origin = syntax.Origin
	// Problem is something to mend at one place of a file.
	Problem = syntax.Problem
	// Invalid is the error for configuration that cannot be used. It matches [ErrInvalid].
	Invalid = syntax.Invalid
)

// ErrInvalid is matched by every error about the content of a configuration file.
var ErrInvalid = syntax.ErrInvalid

// SecretKey reports whether a key's name denotes a secret.
func SecretKey(name string) bool { return syntax.SecretKey(name) }
