package runs

// Statuses of a run.
const (
	Pending     = "pending"
	Running     = "running"
	Success     = "success"
	Failed      = "error"
	Timeout     = "timeout"
	Interrupted = "interrupted"
)

// Done tells whether a run with this status has ended.
func Done(status string) bool { return status != Pending && status != Running }

// Statuses of a thread.
const (
	Idle              = "idle"
	Busy              = "busy"
	ThreadInterrupted = "interrupted"
	ThreadError       = "error"
)
