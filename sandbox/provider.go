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

// Provider runs commands of threads apart from the host. All methods may be
// called by many goroutines.
type Provider interface {
	// Name is what configuration, status pages and audit call the provider.
	Name() string
	// Probe tries everything the provider needs, with a throw-away thread, and
	// remembers the answer for Status pages. It takes some tens of milliseconds.
	Probe(ctx context.Context) Report
	// Acquire returns the sandbox of a thread. It makes the thread's folders if
	// need be; processes start with the first command. Calling it again for the
	// same thread gives the same sandbox, with the newer policy in force as soon
	// as no command runs in it. Errors match ErrUnavailable, ErrThread or ErrGone.
	Acquire(ctx context.Context, thread ThreadRef, policy Policy) (Sandbox, error)
	// Destroy ends every process of a thread and forgets its sandbox. Files stay.
	// A sandbox that was handed out before answers ErrGone from then on.
	Destroy(ctx context.Context, thread ThreadRef, reason string) error
	// Restart ends every process of a thread; its next command starts again. Commands that run, or else the next one,
	// are told the reason. It says whether anything was running.
	Restart(ctx context.Context, thread ThreadRef, reason string) (bool, error)
	// Close ends every process of every thread and waits for them. Later calls of
	// any method fail with ErrGone; closing again does nothing.
	Close(ctx context.Context) error
}

// Sandbox is where the commands of one thread run. All methods may be called by
// many goroutines; commands run in parallel then and share files, /tmp,
// loopback and processes.
type Sandbox interface {
	// ID is "{provider}:{thread}".
	ID() string
	// Exec runs one command to its end. Whatever the command does is data in the
	// result, never an error: exit codes, signals, a timeout, and the end of ctx,
	// which ends the command too. Errors mean that nothing ran or that the fate of
	// the command is unknown; they match ErrUnavailable, ErrInit, ErrBusy, ErrQuota,
	// ErrGone or ErrRequest, or are the cause of a ctx that ended before the start.
	Exec(ctx context.Context, req ExecReq) (ExecResult, error)
	// Status describes the sandbox now. It waits for at most one second.
	Status() Status
	// Paths translates between the paths commands see and those of the host.
	Paths() PathMapper
}

// PathMapper translates between the paths that the agent uses and those that
// commands see, for providers that cannot show files at their virtual paths.
type PathMapper interface {
	// Identity says that nothing is translated.
	Identity() bool
	// In rewrites virtual paths in a command or a value to what works inside.
	In(text string) string
	// Out rewrites paths of the host in output or errors to virtual ones.
	Out(text string) string
}

// ThreadRef names a thread.
type ThreadRef struct {
	// ID is the id of the thread, as for Dirs.
	ID string
	// Owner is whose thread it is, for Acquire; "" for the server itself.
	Owner string
	// Lost is why processes of the thread have ended that ran elsewhere, for Acquire: the next command is told, if none
	// runs here. "" for nothing.
	Lost string
}

// Stream says where a chunk of output came from.
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
	// Env adds variables to those of the policy.
	Env map[string]string
	// Secrets are variables too; their values are masked in the output.
	Secrets map[string]string
	// Timeout ends the command; zero means that of the policy.
	Timeout time.Duration
	// Stdin is what the command can read; none gives /dev/null.
	Stdin []byte
	// OnOutput gets output while the command runs, in pieces that end between
	// characters, at most Policy.StreamBytes in all. It is called by one goroutine
	// at a time, never after Exec has returned, and holds up the command while it
	// runs. The chunk is only valid during the call.
	OnOutput func(stream Stream, chunk []byte)
	// All gets all output as OnOutput would without a limit; nil does not want it. Its
	// errors are ignored.
	All io.Writer
	// Origin is copied into the audit record.
	Origin Origin
	// In and Out are standard input and output, in place of Stdin and of the result's Output. Exec
	// closes them. Sandboxes without namespaces refuse them, and Apart.
	In, Out *os.File
	// Apart gives the command a sandbox of its own with that policy, beside the one of the thread. Its
	// lifetime is the call.
	Apart *Policy
}

// Origin says on whose behalf a command runs.
type Origin struct{ User, Run, ToolCall string }

// ExecResult is what became of a command.
type ExecResult struct {
	// ExitCode is that of bash; 128 + n after signal n.
	ExitCode int
	// Signal that ended the command, such as "SIGKILL", or empty.
	Signal string
	// TimedOut, Cancelled, OOM and Quota say why the command was ended, if it was.
	TimedOut, Cancelled, OOM, Quota bool
	// Truncated says that Output or Errors lacks its middle.
	Truncated bool
	// Output and Errors hold what came from standard output and standard error. Together
	// they have at most Policy.OutputChars characters, and each a line that tells how many
	// were skipped, if any.
	Output, Errors []byte
	// TotalBytes were written by the command until it ended.
	TotalBytes int64
	// Background processes of this command go on.
	Background int
	// SandboxRestarted says that all other processes and /tmp are lost.
	SandboxRestarted bool
	// Notes are sentences for the model about limits that struck.
	Notes []string
	// Usage is what bash and those of its children that it waited for consumed.
	Usage Rusage
	// Took is the time from the request to the result.
	Took time.Duration
}

// Rusage is what processes consumed.
type Rusage struct {
	User, System time.Duration
	// MaxRSS is the largest memory of a single process, in bytes.
	MaxRSS int64
}

// Status describes a sandbox.
type Status struct {
	ID       string    `json:"id"`
	Provider string    `json:"provider"`
	Running  bool      `json:"running"` // processes exist; the rest is zero without
	Layers   []string  `json:"layers"`
	Calls    int       `json:"calls"`     // commands running now
	Procs    int       `json:"procs"`     // processes of commands, background ones included
	MemBytes int64     `json:"mem_bytes"` // private memory, /tmp and /dev/shm
	TmpBytes int64     `json:"tmp_bytes"` // /tmp and /dev/shm
	Started  time.Time `json:"started"`
	LastUsed time.Time `json:"last_used"`
	Restarts int       `json:"restarts"` // for a reason other than idleness
}

// Report is the answer of a probe: what protects the host, what is missing and
// what the owner can do about it.
type Report struct {
	Provider string   `json:"provider"`
	OK       bool     `json:"ok"`
	Layers   []string `json:"layers,omitempty"`   // in force
	Degraded []string `json:"degraded,omitempty"` // weaker than they could be, in words
	Step     string   `json:"step,omitempty"`     // where it failed
	Errno    string   `json:"errno,omitempty"`    // what the system said there, such as "EPERM"
	Reason   string   `json:"reason,omitempty"`   // a code such as "userns_forbidden"
	Detail   string   `json:"detail,omitempty"`   // for the owner; may name paths of the host
	Hint     string   `json:"hint,omitempty"`     // what to do, for the owner
	Tried    []Report `json:"tried,omitempty"`    // providers that auto passed over
	TookMS   int64    `json:"took_ms"`
}

// String tells the outcome in one line without paths of the host.
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
	// ErrUnavailable is a provider that cannot run anything on this host.
	ErrUnavailable = errors.New("no sandbox is available")
	// ErrInit is a sandbox that could not start although the probe passed.
	ErrInit = errors.New("the sandbox did not start")
	// ErrBusy is a host that ran as many sandboxes as it may, none of them idle, for as long as a command may take.
	ErrBusy = errors.New("all sandboxes are busy, try again later")
	// ErrGone is a sandbox whose thread was deleted or whose provider was closed.
	ErrGone = errors.New("the sandbox is gone")
	// ErrRequest is a request that cannot be run as written.
	ErrRequest = errors.New("invalid request")
	// ErrConfig is a configuration that no provider can follow.
	ErrConfig = errors.New("invalid sandbox configuration")
)

// UnavailableError says why nothing can run. It matches ErrUnavailable.
type UnavailableError struct{ Reason, Hint string }

// Error returns a sentence for the model; it names no path of the host.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf(`bash is disabled: no sandbox is available on this host (reason: %s). Ask the owner to run "fawn doctor", or set sandbox.provider explicitly.`, e.Reason)
}

// Is matches ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// InitError is the step at which a sandbox failed to start and what the system
// said. It matches ErrInit and the error number.
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

// Unwrap gives what the system said.
func (e *InitError) Unwrap() error { return e.Err }
