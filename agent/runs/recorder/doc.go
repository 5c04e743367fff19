// Package recorder writes down what an agent does: a [Recorder] is the sink of one run, or of a write from
// outside a run. It numbers events, shows them to the log once they are stored, and makes of each step
// one batch of rows, with a checkpoint.
//
// When a run starts, how it ends and who may write belongs to package runs; what an event is, to
// runevent; how rows are written, to store.
package recorder
