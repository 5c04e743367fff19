// Package threads implements operations on whole threads outside of runs: copying and branching, finding the checkpoint
// before a message, importing threads of other servers, pruning old history, and checking.
//
// Changes by a run to its thread, and writes to a thread's state between runs, belong to package runs.
package threads
