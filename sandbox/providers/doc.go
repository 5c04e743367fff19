// Package providers chooses a provider of package sandbox: the configured one, or the strongest that
// works here. It is the only place that knows all of them. Where none works, the answer is a provider
// that runs nothing and says why: never another, weaker one.
package providers
