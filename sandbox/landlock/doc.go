// Package landlock keeps threads apart where Linux has no namespaces to give: by rules about files, a
// filter of system calls, and a user of their own if the server is root. Whatever it shares with
// namespaces is in package ns.
package landlock
