// Package threads does the work on whole threads that no run does: copying and branching, finding the checkpoint before
// a message, importing threads of other servers, pruning old history, and checking.
//
// Changes that a run makes to its thread, and writes to a thread's state between runs, belong to package runs.
package threads
