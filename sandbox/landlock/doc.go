// Package landlock isolates threads on hosts without namespaces: by file rules, a system call filter, and separate
// users if the server is root. Code shared with namespaces is in package ns.
package landlock
