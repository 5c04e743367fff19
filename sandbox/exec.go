package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fawn/sandbox/files"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// fileTooLarge is the exit code of a shell whose last program wrote more into a file than
// one may have.
const fileTooLarge = 128 + 25

// Causes for which a command is ended.
var (
	errTimeout   = errors.New("the command ran too long")
	errOverQuota = errors.New("the command wrote too much")
)

// box is a running sandbox of some provider.
type box interface {
	// run runs one command. The end of ctx ends the command, and exit says so. An
	// error means that nothing ran.
	run(ctx context.Context, j job) (exit, error)
	// stat describes processes and memory; disk asks for gone too, which costs a look at
	// every open file.
	stat(ctx context.Context, disk bool) (usage, error)
	// clear ends processes that earlier commands left running. With disk it ends only who
	// writes to the disk, and the running command if that is it.
	clear(ctx context.Context, disk bool) (cleared, error)
	// layers must not be changed by the caller.
	layers() []string
	// done is closed when no process is left.
	done() <-chan struct{}
	// stop ends all processes and waits for them.
	stop()
}

// job is a command as a box runs it. The box closes both outputs, which may be one.
type job struct {
	command string
	args    []string
	env     []string
	cwd     string
	stdin   []byte
	in      *os.File // in place of stdin; may be nil
	out     *os.File
	errs    *os.File
}

// close lets go of the outputs: their end is then a matter of the command alone.
func (j job) close() error {
	err := j.out.Close()
	if j.in != nil {
		err = errors.Join(err, j.in.Close())
	}
	if j.errs != j.out {
		err = errors.Join(err, j.errs.Close())
	}
	return err
}

// usage is what a box uses at the moment.
type usage struct {
	procs    int   // processes of commands
	mem, tmp int64 // bytes
	gone     int64 // bytes of files that were deleted but are still open; -1 means unknown
}

// cleared is what was ended.
type cleared struct {
	procs int
	names string // of their programs
	call  bool   // a running command
}

// exit is what became of a job.
type exit struct {
	code       int
	signal     string
	background int
	oom        string // what was done about memory
	crowded    int    // the limit of processes, if it was reached
	refused    string // why the program could not start
	lost       string // why the box is lost with it
	quota      bool   // it was ended for what it wrote
	cleared    int    // processes that filled the sandbox and were ended for it
	notes      []string
	usage      Rusage
}

// setting is what the commands of a sandbox have in common.
type setting struct {
	cfg      *Config
	provider string
	thread   string
	policy   Policy
	env      map[string]string
	paths    PathMapper
	quota    *files.Quota
}

// execute runs one command in a box to its end.
func (s setting) execute(ctx context.Context, b box, req ExecReq, start func(func())) (res ExecResult, err error) {
	out, w, err := newPump(outside(s.paths), req, s.policy)
	if err != nil {
		return res, fmt.Errorf("make a pipe: %w", err)
	}
	start(func() { out.run(b.done()) })
	if req.Out != nil {
		_ = w[0].Close() // nobody has it
		w[0] = req.Out
	}

	ctx, stop := context.WithTimeoutCause(ctx, cmp.Or(req.Timeout, s.policy.Timeout), errTimeout)
	defer stop()
	e, err := b.run(ctx, job{
		command: s.paths.In(req.Command), args: s.inside(req.Args), cwd: s.paths.In(cmp.Or(req.Cwd, files.Workspace)),
		stdin: req.Stdin, in: req.In, out: w[0], errs: w[1],
		env: s.environment(req),
	})
	cause := context.Cause(ctx)
	out.finish()
	if err != nil {
		return res, err
	}
	res = ExecResult{
		ExitCode: e.code, Signal: e.signal, Background: e.background, OOM: e.oom != "", Usage: e.usage,
		TotalBytes: out.total(), SandboxRestarted: e.lost != "",
	}
	res.Output, res.Errors, res.Truncated = out.texts()
	switch {
	case e.quota:
		res.Quota = true
	case cause == nil || e.signal == "":
		// It ended by itself.
	case errors.Is(cause, errTimeout):
		res.TimedOut = true
	default:
		res.Cancelled = true
	}
	res.Notes = s.notes(ctx, res, e, req)
	return res, nil
}

// environment is that of one command.
func (s setting) environment(req ExecReq) []string {
	return s.inside(environment(s.env, s.policy.Env, req))
}

// inside translates each text.
func (s setting) inside(texts []string) []string {
	if s.paths.Identity() {
		return texts
	}
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = s.paths.In(t)
	}
	return all
}

// notes are the sentences for the model.
func (s setting) notes(ctx context.Context, res ExecResult, e exit, req ExecReq) (notes []string) {
	if e.refused != "" {
		notes = append(notes, "The command could not start: "+e.refused+".")
	}
	if res.TimedOut {
		notes = append(notes, fmt.Sprintf("Command timed out after %s and was terminated. To run a long-lived process such as a web server, start it in the background and redirect its output, e.g. \"your-command > %s/server.log 2>&1 &\".",
			seconds(cmp.Or(req.Timeout, s.policy.Timeout)), files.Workspace))
	}
	if res.OOM {
		notes = append(notes, e.oom)
	}
	if e.crowded > 0 {
		notes = append(notes, fmt.Sprintf("process limit %d reached: no more processes or threads could start", e.crowded))
	}
	if e.signal == "SIGXFSZ" || e.code == fileTooLarge {
		notes = append(notes, fmt.Sprintf("file size limit reached: one file can have at most %s",
			files.Amount(s.policy.Limits.FileSize)))
	}
	if e.cleared > 0 {
		notes = append(notes, fmt.Sprintf("Processes that earlier commands had left running filled the sandbox (%d of at most %d); they were ended.", e.cleared, s.policy.Limits.Pids))
	}
	notes = append(notes, e.notes...)
	if res.Quota {
		notes = append(notes, "The command was terminated because the thread's storage is full.")
	}
	if e.lost != "" {
		notes = append(notes, restartNote(e.lost))
	}
	if note := s.quota.Meter(s.thread).FullNote(context.WithoutCancel(ctx), s.cfg.Dirs, s.thread,
		s.policy.Limits.Disk); note != "" {
		notes = append(notes, note)
	}
	for i, note := range notes {
		notes[i] = s.paths.Out(note)
	}
	if s.paths.In(req.Command) != req.Command {
		notes = append(notes, translationNote)
	}
	return notes
}

// translationNote tells what a program would see that looks at its paths.
const translationNote = "path translation active: paths under " + files.UserData + " and " + files.Skills +
	" in the command and its output stand for other folders of this host; programs that build such paths themselves should use relative ones."

func restartNote(reason string) string {
	return fmt.Sprintf("The sandbox was restarted (%s). Files are intact; background processes and /tmp were lost.",
		reason)
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d seconds", d/time.Second)
	}
	return d.String()
}

// audit hands over the record of a command.
func (s setting) audit(start time.Time, layers []string, req ExecReq, res ExecResult, err error) {
	if s.cfg.Audit == nil {
		return
	}
	sum := sha256.Sum256([]byte(req.Command))
	names := slices.AppendSeq(slices.Collect(maps.Keys(req.Env)), maps.Keys(req.Secrets))
	slices.Sort(names)
	r := Record{
		Time: start, Thread: s.thread, Origin: req.Origin, Provider: s.provider, Layers: layers,
		SHA256: hex.EncodeToString(sum[:]), Head: firstChars(newReplacer(req.Secrets).text(req.Command), 500),
		Cwd: cmp.Or(req.Cwd, files.Workspace), Env: names,
		Exit: res.ExitCode, Signal: res.Signal, Took: res.Took, Bytes: res.TotalBytes,
		Truncated: res.Truncated, TimedOut: res.TimedOut, Cancelled: res.Cancelled, OOM: res.OOM, Quota: res.Quota,
		Restarted: res.SandboxRestarted, Background: res.Background,
	}
	if err != nil {
		r.Error = err.Error()
	}
	s.cfg.Audit(r)
}
