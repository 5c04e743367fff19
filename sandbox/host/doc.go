// Package host runs commands as the server's user without any protection, for owners who confirm it twice. Providers
// without namespaces build on it.
package host
