// Package acp calls agents that speak the Agent Client Protocol and run on this machine: each call starts a process
// that ends with it, in a folder that belongs to the thread.
package acp
