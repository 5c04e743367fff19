package postgres

import (
	"errors"
	"fmt"
	"time"
)

// DefaultLease is the time without renewal after which another node may take over.
const DefaultLease = 10 * time.Second

// NodeFormat is the newest form of events that this program reads.
const NodeFormat = 1

// ErrFenced means that this process may no longer write: another has taken over the database, or may have. Only a
// restart helps.
var ErrFenced = errors.New("this server may not write to the database any more")

// Node is a server that has a database.
type Node struct {
	ID      int64
	Host    string
	PID     int64
	Addr    string // served address, "" for a command
	Version string
	Started time.Time
	Expires time.Time     // by the database's clock
	Left    time.Duration // remaining lease at the time of the query

	Settings string // hash of its configuration

	folder  string
	cluster bool // it shares the database with others
	schema  int  // newest supported schema version, 0 if not reported
}

// String describes the node for its owner.
func (n Node) String() string {
	s := fmt.Sprintf("process %d on %s", n.PID, n.Host)
	if n.Addr != "" {
		s += " serving " + n.Addr
	}
	return s
}

// TakenError means that another server uses the database.
type TakenError struct {
	Schema string
	Node   Node   // the zero value for a server that is starting
	Why    string // why it can't be joined, for a joining server
}

// Error reports which, and when another may have it.
func (e *TakenError) Error() string {
	switch {
	case e.Node.PID == 0:
		return fmt.Sprintf("%v that is starting (schema %s); try again", errTaken, e.Schema)
	case e.Why != "":
		return fmt.Sprintf("%v: %v (schema %s), which cannot be joined: %s", errTaken, e.Node, e.Schema, e.Why)
	case e.Node.Expires.IsZero():
		return fmt.Sprintf("%v: %v (schema %s); stop it first, as one at a time can", errTaken, e.Node, e.Schema)
	}
	return fmt.Sprintf("%v: %v (schema %s). It lives: its lease is for %s more, and it keeps "+
		"renewing it. Stop it first, as one at a time can", errTaken, e.Node, e.Schema, e.Node.Left.Round(time.Second))
}

// Unwrap supports errors.Is.
func (e *TakenError) Unwrap() error { return errTaken }

// NodeStatus is this process's lease.
type NodeStatus struct {
	ID     int64
	Lease  time.Duration // remaining validity without renewal, never negative
	Fenced uint64        // commits refused because the lease was over
	Format int64         // newest event format that every server reads, and the limit for writing
	Ended  error         // why this process may no longer write, nil while it may
}

// Status returns the state of this process's lease.
func (e *Engine) Status() NodeStatus {
	return NodeStatus{ID: e.Lease.id, Lease: e.Lease.left(e.Lease.lease), Fenced: e.Lease.fenced.Load(),
		Format: e.Lease.format.Load(), Ended: e.Lease.Ended()}
}
