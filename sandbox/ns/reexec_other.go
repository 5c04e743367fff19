//go:build !linux

package ns

// Reexec must be the first statement of main. Only Linux starts the server's
// own program as a part of a sandbox.
func Reexec() {}

// Keep does nothing: only Linux has providers that search for private files.
func Keep() {}
