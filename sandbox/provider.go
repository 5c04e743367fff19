package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Provider runs commands of threads apart from the host. It is safe for concurrent use.
type Provider interface {
	// Name is the provider's name in the configuration, status pages and audit.
	Name() string
	// Probe tries everything the provider needs, with a throw-away thread, and
	// remembers the answer for Status pages. It takes some tens of milliseconds.
	Probe(ctx context.Context) Report
	// Acquire returns the sandbox of a thread. It creates the thread's folders if necessary; processes start with the
	// first command. A repeated call returns the same sandbox, with the newer policy in force as soon as no command
	// runs in it. Errors match ErrUnavailable, ErrThread or ErrGone.
	Acquire(ctx context.Context, thread ThreadRef, policy Policy) (Sandbox, error)
	// Destroy ends every process of a thread and forgets its sandbox. Files stay. Sandboxes acquired before return
	// ErrGone from then on.
	Destroy(ctx context.Context, thread ThreadRef, reason string) error
	// Restart ends every process of a thread; its next command starts a new sandbox. Running commands, or else the next
	// one, report the reason. It returns whether anything was running.
	Restart(ctx context.Context, thread ThreadRef, reason string) (bool, error)
	// Close ends every process of every thread and waits for them. Later calls of
	// any method fail with ErrGone; closing again does nothing.
	Close(ctx context.Context) error
}

// Sandbox runs the commands of one thread. It is safe for concurrent use; concurrent commands share files, /tmp,
// loopback and processes.
type Sandbox interface {
	// ID is "{provider}:{thread}".
	ID() string
	// Exec runs one command to its end. The outcome of the command is in the result, never an error:
	// exit codes, signals, a timeout, and the end of ctx, which also ends the command. Errors mean
	// that nothing ran or that the fate of the command is unknown; they match ErrUnavailable, ErrInit,
	// ErrBusy, ErrQuota, ErrGone or ErrRequest, or are the cause of a ctx that ended before the start.
	Exec(ctx context.Context, req ExecReq) (ExecResult, error)
	// Status describes the sandbox now. It waits for at most one second.
	Status() Status
	// Paths returns the translation between paths of commands and of the host.
	Paths() PathMapper
}

// PathMapper translates between the agent's paths and those of commands, for providers that can't show files at their
// virtual paths.
type PathMapper interface {
	// Identity reports whether paths are unchanged.
	Identity() bool
	// In rewrites virtual paths in a command or value to inside paths.
	In(text string) string
	// Out rewrites paths of the host in output or errors to virtual ones.
	Out(text string) string
}

// ThreadRef names a thread.
type ThreadRef struct {
	// ID is the id of the thread, as for Dirs.
	ID string
	// Owner is the thread's owner for Acquire; "" for the server itself.
	Owner string
	// Lost is why processes of the thread have ended that ran elsewhere, for Acquire: the next command is told, if none
	// runs here. "" for nothing.
	Lost string
}

// Stream is the origin of a chunk of output.
type Stream uint8

// StreamOutput is standard output and standard error in the order in which they arrive.
const StreamOutput Stream = 1

// ExecReq is one command.
type ExecReq struct {
	// Command is a bash script.
	Command string
	// Args are its positional parameters $1, $2 and so on.
	Args []string
	// Cwd is an absolute path inside; empty means the workspace.
	Cwd string
	// Env adds variables to the policy's.
	Env map[string]string
	// Secrets are variables too; their values are masked in the output.
	Secrets map[string]string
	// Timeout ends the command; zero means that of the policy.
	Timeout time.Duration
	// Stdin is the command's input; without it, /dev/null.
	Stdin []byte
	// OnOutput gets output while the command runs, in pieces that end between
	// characters, at most Policy.StreamBytes in all. It is called by one goroutine
	// at a time, never after Exec has returned, and holds up the command while it
	// runs. The chunk is only valid during the call.
	OnOutput func(stream Stream, chunk []byte)
	// All receives the output like OnOutput, but unlimited; nil discards it. Its errors are ignored.
	All io.Writer
	// Origin is copied into the audit record.
	Origin Origin
	// In and Out are standard input and output, in place of Stdin and of the result's Output. Exec
	// closes them. Sandboxes without namespaces refuse them, and Apart.
	In, Out *os.File
	// Apart runs the command in a separate sandbox with that policy, for the duration of the call.
	Apart *Policy
}

// Origin identifies the caller of a command.
type Origin struct{ User, Run, ToolCall string }

// ExecResult is the outcome of a command.
type ExecResult struct {
	// ExitCode is bash's exit code; 128 + n after signal n.
	ExitCode int
	// Signal that ended the command, such as "SIGKILL", or empty.
	Signal string
	// TimedOut, Cancelled, OOM and Quota are reasons for ending the command.
	TimedOut, Cancelled, OOM, Quota bool
	// Truncated means that Output or Errors lacks its middle.
	Truncated bool
	// Output and Errors hold standard output and standard error. Together they have at most Policy.OutputChars
	// characters, with a line that gives the number of skipped ones.
	Output, Errors []byte
	// TotalBytes were written by the command until it ended.
	TotalBytes int64
	// Background processes of this command continue.
	Background int
	// SandboxRestarted means that all other processes and /tmp are lost.
	SandboxRestarted bool
	// Notes are sentences for the model about limits that struck.
	Notes []string
	// Usage is the resource usage of bash and its reaped children.
	Usage Rusage
	// Took is the time from the request to the result.
	Took time.Duration
}

// Rusage is the resource usage of processes.
type Rusage struct {
	User, System time.Duration
	// MaxRSS is the largest memory of a single process, in bytes.
	MaxRSS int64
}

// Status describes a sandbox.
type Status struct {
	ID       string    `json:"id"`
	Provider string    `json:"provider"`
	Running  bool      `json:"running"` // processes exist; otherwise the other fields are zero
	Layers   []string  `json:"layers"`
	Calls    int       `json:"calls"`     // commands running now
	Procs    int       `json:"procs"`     // processes of commands, background ones included
	MemBytes int64     `json:"mem_bytes"` // private memory, /tmp and /dev/shm
	TmpBytes int64     `json:"tmp_bytes"` // /tmp and /dev/shm
	Started  time.Time `json:"started"`
	LastUsed time.Time `json:"last_used"`
	Restarts int       `json:"restarts"` // for a reason other than idleness
}

// Report is the result of a probe: active protections, missing ones, and advice for the owner.
type Report struct {
	Provider string   `json:"provider"`
	OK       bool     `json:"ok"`
	Layers   []string `json:"layers,omitempty"`   // active layers
	Degraded []string `json:"degraded,omitempty"` // weakened layers, as text
	Step     string   `json:"step,omitempty"`     // step that failed
	Errno    string   `json:"errno,omitempty"`    // the system's error there, such as "EPERM"
	Reason   string   `json:"reason,omitempty"`   // a code such as "userns_forbidden"
	Detail   string   `json:"detail,omitempty"`   // for the owner; may name paths of the host
	Hint     string   `json:"hint,omitempty"`     // advice for the owner
	Tried    []Report `json:"tried,omitempty"`    // providers that auto passed over
	TookMS   int64    `json:"took_ms"`
}

// String describes the outcome in one line without paths of the host.
func (r Report) String() string {
	var b strings.Builder
	b.WriteString(r.Provider)
	if r.OK {
		b.WriteString(": " + strings.Join(append(append([]string{}, r.Layers...), r.Degraded...), ", "))
	} else {
		b.WriteString(": not available")
	}
	if r.Reason != "" {
		b.WriteString(" (" + r.Reason)
		if r.Step != "" {
			b.WriteString(" at " + r.Step)
		}
		if r.Errno != "" {
			b.WriteString(", " + r.Errno)
		}
		b.WriteString(")")
	}
	return b.String()
}

// Errors of providers. ErrUnavailable and ErrInit are carried by the types
// UnavailableError and InitError.
var (
	// ErrUnavailable means that a provider can't run anything on this host.
	ErrUnavailable = errors.New("no sandbox is available")
	// ErrInit means that a sandbox couldn't start although the probe passed.
	ErrInit = errors.New("the sandbox did not start")
	// ErrBusy means that the host ran as many sandboxes as allowed, none of them idle, for as long as a command may
	// take.
	ErrBusy = errors.New("all sandboxes are busy, try again later")
	// ErrGone means that the sandbox's thread was deleted or its provider closed.
	ErrGone = errors.New("the sandbox is gone")
	// ErrRequest means that a request is invalid.
	ErrRequest = errors.New("invalid request")
	// ErrConfig means that no provider supports the configuration.
	ErrConfig = errors.New("invalid sandbox configuration")
)

// UnavailableError is the reason why nothing can run. It matches ErrUnavailable.
type UnavailableError struct{ Reason, Hint string }

// Error returns a sentence for the model; it names no path of the host.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf(`bash is disabled: no sandbox is available on this host (reason: %s). Ask the owner to run "fawn doctor", or set sandbox.provider explicitly.`, e.Reason)
}

// Is matches ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// InitError is the failed step of a sandbox's start with the system's error. It matches ErrInit and the error number.
type InitError struct {
	Step   string
	Err    error
	Detail string // for logs; may name paths of the host
}

// Error names the step without paths of the host.
func (e *InitError) Error() string {
	return fmt.Sprintf("%v: %s: %v", ErrInit, e.Step, e.Err)
}

// Is matches ErrInit.
func (e *InitError) Is(target error) bool { return target == ErrInit }

// Unwrap returns the system's error.
func (e *InitError) Unwrap() error { return e.Err }

// Tested records the failed checks of a self test, or the reason why there was none.
func (r *Report) Tested(missed []string, err error) {
	switch {
	case err != nil:
		r.Reason, r.Step, r.Detail = "self_test", "self_test", err.Error()
	case len(missed) > 0:
		r.Reason, r.Step = "self_test:"+strings.Join(missed, ","), "self_test"
	}
}

// Built records the layers of a sandbox, and the weakened ones.
func (r *Report) Built(layers []string) {
	for _, l := range layers {
		if name, ok := strings.CutPrefix(l, "DEGRADED:"); ok {
			r.Degraded = append(r.Degraded, name)
		} else {
			r.Layers = append(r.Layers, l)
		}
	}
}
