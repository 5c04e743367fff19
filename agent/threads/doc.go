// Package threads does with whole threads what no run of them does: it copies and branches them, finds
// where to tell them anew, takes in those of other servers, prunes what nobody touches any more, and
// checks what they are made of.
//
// What a run does to its thread, and writes to a thread's state between runs, are the business of
// package runs.
package threads
