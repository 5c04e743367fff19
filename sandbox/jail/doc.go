// Package jail implements the inside of a sandbox on Linux, in four
// processes that are all the same small program:
//
//   - setup runs once in fresh namespaces. It builds the view of files, gives up
//     every privilege and becomes the supervisor.
//   - the supervisor is process 1 inside. It starts commands, reaps, watches
//     memory, and takes everything with it when the server goes away.
//   - a call is the parent of one command and of all its descendants, daemons
//     included, for as long as the command runs.
//   - a canary waits outside, so that a probe can look for it from inside.
//
// The server talks to the first two over one socket. Nothing here may import
// more than the standard library and x/sys, or have costly package variables:
// each command pays for the start of such a process.
package jail
