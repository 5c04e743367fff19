// Package providers selects a provider of package sandbox: the configured one, or the strongest that works here. No
// other package imports them all. If none works, it returns a provider that refuses to run anything and gives the
// reason: never a weaker one.
package providers
