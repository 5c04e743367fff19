// Package resume rebuilds the progress of an interrupted run and of its children from stored rows, so that package runs
// can continue it. It only reads. Begin with run.go.
package resume
