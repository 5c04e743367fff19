// Package resume reads from stored rows what a run had done that was cut off, and what those that worked for it had.
package resume
