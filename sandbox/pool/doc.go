// Package pool is the common part of all providers of package sandbox: it keeps the boxes of threads warm, runs
// commands in them, watches their output, and turns it into results.
//
// A provider gives a [Pool] a way to start a [Box], in which programs run; everything about one kind of box belongs to
// that provider's package. Begin with pool.go, then member.go (a command waits for a box) and exec.go (it runs).
package pool
