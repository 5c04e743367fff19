package views

import "fawn/sandbox/linediff"

// RunChanges is one line about a run's file changes.
type RunChanges struct {
	Run            string
	Files          int
	Added, Removed int // lines
}

// Changes lists a run's changes by file.
type Changes struct {
	RunChanges
	List []Change
	More bool // there is more than List shows
}

// Change is the change of one file.
type Change struct {
	File         File
	What         string // created, modified, deleted or symlink_created
	Was, Is      int64  // sizes in bytes, -1 if the file was missing
	Added, Taken int    // lines
	Lines        []linediff.Line
	Cut          bool   // Lines are incomplete
	Why          string // why they are missing, as the last part of a catalogue key; empty with Lines
	Gone         bool   // it can no longer be opened
}
