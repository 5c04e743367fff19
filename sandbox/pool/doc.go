// Package pool is the common part of all providers of package sandbox: it keeps the boxes of threads running, runs
// commands in them, and collects their output.
//
// A provider supplies a [Pool] with a function to start a [Box], in which programs run; everything about one kind of
// box belongs to that provider's package. Begin with pool.go, then member.go (a command waits for a box) and exec.go
// (it runs).
package pool
