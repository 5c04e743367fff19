// Package placement has servers that share a database know which of them has the sandbox of a thread, with what runs
// in it between commands. Runs of the thread go there if there is room; the claims in store see to that.
package placement
