// Package affinity tracks which server has the sandbox of a thread, with the processes that run in it between commands.
//
// Runs of the thread begin there if there is room; the claims in store ensure that. A run on another server has that sandbox ended before its first tool that needs one, so that processes of two servers never change the files of one thread.
package affinity
