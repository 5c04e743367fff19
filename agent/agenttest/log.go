package agenttest

import (
	"bytes"
	"sync"
)

// Log collects what is written to it and can be read meanwhile, such as the log of a server that runs.
// The zero value is empty and ready.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns all that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
