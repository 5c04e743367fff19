// Package commit makes one commit of what many runs write.
//
// # Where to begin
//
// Read stmt.go (what a batch becomes), writer.go (the queue and its goroutine), group.go (one commit), lane.go (deltas of a
// run) and tail.go (deltas between steps). engine.go is what each kind of database does for it; stall.go and strain.go
// find out that commits are slow.
//
// # What belongs here
//
// The order in which changes become durable, who learns of it, and what a failure means. Which rows a change has is not
// known here: it comes as statements. How a group is written is the engine's matter.
//
// # One writer
//
// A single goroutine owns the only writing connection and commits groups: the deltas of all lanes and the batches that
// wait, in one transaction. Deltas alone are committed at most every 3 ms, or 6 ms when there are many; a batch or a
// flush at once. A batch is atomic, and an invalid batch fails alone. When the transaction itself
// fails, as on a full disk, nothing of the group is durable: its batches and lanes get the error, a reserve file is
// deleted so that the end of the runs can still be written, and the writer isn't healthy until a commit works and the
// reserve is back.
//
// # Events and the tail
//
// Everything a run publishes has a number, counted per thread and never reused. Finished steps are
// rows of the table event; a row may stand for many numbers. Deltas of an answer that is still growing are too many and
// too small for rows of their own: all deltas of all runs between two commits are packed into one row of the table
// tail. When a step is done, its event row contains the deltas and they are folded: their tail rows are no longer needed
// and deleted in bulk. The tail is read only at the next start, to find what a crash interrupted.
//
// In a shared database each server has its own rows in the tail, one for each group it commits, in order and without
// gaps. A row also records up to where threads are folded, so readers of another server's rows know everything that
// server has published. Rows stay for half a minute after they are needed, and those of a dead server until its runs have
// been taken over.
package commit
