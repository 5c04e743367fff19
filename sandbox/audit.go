package sandbox

import "time"

// Record is the audit entry of one command. It holds names of variables, never values.
type Record struct {
	Time     time.Time
	Thread   string
	Origin   Origin
	Provider string
	Layers   []string
	// SHA256 is the hex digest of the whole command, Head its first 500 characters
	// with the values of secrets masked.
	SHA256, Head string
	Cwd          string
	// Env are the names of the variables of the request, sorted.
	Env    []string
	Exit   int
	Signal string
	Took   time.Duration
	Bytes  int64
	// Events of the command and its sandbox.
	Truncated, TimedOut, Cancelled, OOM, Quota, Restarted bool
	Background                                            int
	// Error is set when nothing ran.
	Error string
}
