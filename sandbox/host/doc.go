// Package host runs commands as the user of the server and keeps them from nothing, for owners who
// say so twice. Providers that start processes without namespaces build on it.
package host
