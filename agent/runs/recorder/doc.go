// Package recorder stores the work of an agent: a [Recorder] is the sink of one run, or of a write from outside a run.
// It numbers events, shows them to the log once they are stored, and turns each step into one batch of rows with a
// checkpoint.
//
// Starting and ending runs, and the right to write, belong to package runs; events to runevent; SQL to store. Begin
// with recorder.go, then step.go.
package recorder
