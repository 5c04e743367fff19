package pool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fawn/sandbox"
	"fawn/sandbox/files"
)

// fileTooLarge is a shell's exit code if its last program exceeded the file size limit.
const fileTooLarge = 128 + 25

// Causes for which a command is ended.
var (
	errTimeout = errors.New("the command ran too long")
	// ErrOverQuota means that a command's thread exceeds its disk quota.
	ErrOverQuota = errors.New("the command wrote too much")
)

// Box is a running sandbox of some provider.
type Box interface {
	// Run runs one command. The end of ctx ends it, which exit reports. An error means that nothing ran.
	Run(ctx context.Context, j Job) (Exit, error)
	// Stat describes processes and memory; disk also requests gone, which requires a scan of every open file.
	Stat(ctx context.Context, disk bool) (Usage, error)
	// Clear ends the writer to the disk: leftover processes of earlier commands, or the running command unless it began
	// after the count.
	Clear(ctx context.Context, counted time.Time) (Cleared, error)
	// Layers must not be changed by the caller.
	Layers() []string
	// Done is closed when no process is left.
	Done() <-chan struct{}
	// Stop ends all processes and waits for them.
	Stop()
}

// Job is a command as a box runs it. The box closes both outputs, which may be one.
type Job struct {
	Command string
	Args    []string
	Env     []string
	Cwd     string
	Stdin   []byte
	In      *os.File // replaces Stdin; may be nil
	Out     *os.File
	Errs    *os.File
}

// Close closes our copies of the outputs, so that only the command holds them open.
func (j Job) Close() error {
	err := j.Out.Close()
	if j.In != nil {
		err = errors.Join(err, j.In.Close())
	}
	if j.Errs != j.Out {
		err = errors.Join(err, j.Errs.Close())
	}
	return err
}

// Usage is a box's current use of resources.
type Usage struct {
	Procs    int   // processes of commands
	Mem, Tmp int64 // bytes
	Gone     int64 // bytes of deleted files that are still open; -1 means unknown
}

// Cleared counts the ended processes.
type Cleared struct {
	Procs int
	Names string // names of the writing programs
	Call  bool   // a running command is the writer; it was ended unless it began after the count
}

// Exit is the outcome of a job.
type Exit struct {
	Code       int
	Signal     string
	Background int
	OOM        string // actions of the memory guard
	Crowded    int    // the process limit, if it was reached
	Refused    string // why the program could not start
	Lost       string // why the box was lost, too
	Quota      bool   // ended for exceeding the quota
	Cleared    int    // number of processes ended because they filled the sandbox
	Notes      []string
	Usage      sandbox.Rusage
}

// setting is common to the commands of a sandbox.
type setting struct {
	cfg      *sandbox.Config
	provider string
	thread   string
	policy   sandbox.Policy
	env      map[string]string
	paths    sandbox.PathMapper
	quota    *files.Quota
}

// execute runs one command in a box to its end.
func (s setting) execute(ctx context.Context, b Box, req sandbox.ExecReq,
	start func(func())) (res sandbox.ExecResult, err error) {
	out, w, err := newPump(outside(s.paths), req, s.policy)
	if err != nil {
		return res, fmt.Errorf("make a pipe: %w", err)
	}
	start(func() { out.run(b.Done()) })
	if req.Out != nil {
		_ = w[0].Close() // not passed to any process
		w[0] = req.Out
	}

	ctx, stop := context.WithTimeoutCause(ctx, cmp.Or(req.Timeout, s.policy.Timeout), errTimeout)
	defer stop()
	e, err := b.Run(ctx, Job{
		Command: s.paths.In(req.Command), Args: s.inside(req.Args), Cwd: s.paths.In(cmp.Or(req.Cwd, files.Workspace)),
		Stdin: req.Stdin, In: req.In, Out: w[0], Errs: w[1],
		Env: s.environment(req),
	})
	cause := context.Cause(ctx)
	out.finish()
	if err != nil {
		return res, err
	}
	res = sandbox.ExecResult{
		ExitCode: e.Code, Signal: e.Signal, Background: e.Background, OOM: e.OOM != "", Usage: e.Usage,
		TotalBytes: out.total(), SandboxRestarted: e.Lost != "",
	}
	res.Output, res.Errors, res.Truncated = out.texts()
	switch {
	case e.Quota:
		res.Quota = true
	case cause == nil || e.Signal == "":
		// It ended normally.
	case errors.Is(cause, errTimeout):
		res.TimedOut = true
	default:
		res.Cancelled = true
	}
	res.Notes = s.notes(ctx, res, e, req)
	return res, nil
}

// environment returns the environment of one command.
func (s setting) environment(req sandbox.ExecReq) []string {
	return s.inside(Environment(s.env, s.policy.Env, req))
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

// notes returns the sentences for the model.
func (s setting) notes(ctx context.Context, res sandbox.ExecResult, e Exit, req sandbox.ExecReq) (notes []string) {
	if e.Refused != "" {
		notes = append(notes, "The command could not start: "+e.Refused+".")
	}
	if res.TimedOut {
		notes = append(notes,
			fmt.Sprintf("Command timed out after %s and was terminated. To run a long-lived process such as a web server, start it in the background and redirect its output, e.g. \"your-command > %s/server.log 2>&1 &\".",
				seconds(cmp.Or(req.Timeout, s.policy.Timeout)), files.Workspace))
	}
	if res.OOM {
		notes = append(notes, e.OOM)
	}
	if e.Crowded > 0 {
		notes = append(notes, fmt.Sprintf("process limit %d reached: no more processes or threads could start",
			e.Crowded))
	}
	if e.Signal == "SIGXFSZ" || e.Code == fileTooLarge {
		notes = append(notes, fmt.Sprintf("file size limit reached: one file can have at most %s",
			files.Amount(s.policy.Limits.FileSize)))
	}
	if e.Cleared > 0 {
		notes = append(notes,
			fmt.Sprintf("Processes that earlier commands had left running filled the sandbox (%d of at most %d); they were ended.",
				e.Cleared, s.policy.Limits.Pids))
	}
	notes = append(notes, e.Notes...)
	if res.Quota {
		notes = append(notes, "The command was terminated because the thread's storage is full.")
	}
	if e.Lost != "" {
		notes = append(notes, restartNote(e.Lost))
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

// translationNote describes the paths that a program sees.
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

// audit passes on the record of a command.
func (s setting) audit(start time.Time, layers []string, req sandbox.ExecReq, res sandbox.ExecResult, err error) {
	if s.cfg.Audit == nil {
		return
	}
	sum := sha256.Sum256([]byte(req.Command))
	names := slices.AppendSeq(slices.Collect(maps.Keys(req.Env)), maps.Keys(req.Secrets))
	slices.Sort(names)
	r := sandbox.Record{
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

// Environment builds the variables of a command from nothing.
func Environment(base, policy map[string]string, r sandbox.ExecReq) []string {
	all := maps.Clone(base)
	for _, vars := range []map[string]string{policy, r.Env, r.Secrets} {
		maps.Copy(all, vars)
	}
	env := make([]string, 0, len(all))
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// firstChars cuts a text after n characters and mends broken ones.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			text = text[:i]
			break
		}
		n--
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

// CommonTests end each self test. They use nothing but bash.
const CommonTests = `
read -r word < <(echo ok) && [ "$word" = ok ] || miss process_substitution
for file in /proc/[0-9]*/environ; do
  while IFS= read -r -d '' word || [ -n "$word" ]; do
    [[ $word == SANDBOX_CANARY=* ]] && miss environment
  done 2>/dev/null < "$file"
done 2>/dev/null
echo done
`
