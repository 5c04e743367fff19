// Package affinity has servers that share a database know which of them has the sandbox of a thread, with what runs
// in it between commands.
//
// Runs of the thread begin there if there is room; the claims in store see to that. One that works elsewhere all the
// same has that sandbox ended before its first tool that needs one, so that processes of two servers never change the
// files of one thread.
package affinity
