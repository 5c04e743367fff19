// Package worker converts documents and draws images, each in a separate process: this program under another role.
package worker

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/providers"
	"fawn/uploads"
	"fawn/uploads/convert"
	"fawn/uploads/documents"
)

// Limits of a conversion.
const (
	convertTime   = 3 * time.Minute
	convertMemory = 1 << 30
	convertDisk   = 1 << 30
	maxMarkdown   = 16 << 20
	maxDrawn      = 64 << 20 // of a picture
)

// Converter starts this program for each document or image: in a sandbox without network, otherwise as a plain process
// that limits itself. The job's folders belong to a reserved thread.
type Converter struct {
	dirs  files.Dirs
	cache string // folder of the compiled PDF reader
	log   *slog.Logger
	// before returns once commands have a sandbox: a job's sandbox may need the path to the data folder that it opens.
	before   func()
	provider string // empty selects the best
	program  copied

	warming sync.Once
	warm    bool // the cache is filled; guarded by warming

	once sync.Once
	jail sandbox.Provider // guarded by once
	err  error            // guarded by once
}

// New returns a converter with folders below a data folder. before returns when sandboxes are ready for commands.
func New(data string, before func(), log *slog.Logger) *Converter {
	return &Converter{cache: filepath.Join(data, "converter"), dirs: files.Dirs{Root: filepath.Join(data, "documents")},
		log: log, before: before, program: copied{dir: filepath.Join(data, "program")}}
}

// Paths of a job, as virtual ones.
const (
	jobInput  = files.Uploads + "/document"
	jobOutput = files.Outputs + "/document.md"
	jobSelf   = "/fawn"
	jobCache  = "/fawn-cache"
)

// open removes leftovers of an earlier server and selects a sandbox.
func (c *Converter) open(ctx context.Context) (sandbox.Provider, error) {
	c.once.Do(func() {
		if c.err = os.MkdirAll(c.dirs.Root, 0o700); c.err != nil {
			return
		}
		if c.err = c.dirs.Threads(c.dirs.Remove); c.err != nil {
			return
		}
		cfg := sandbox.DefaultConfig()
		cfg.Dirs, cfg.MaxSandboxes, cfg.Provider = c.dirs, 3, cmp.Or(c.provider, cfg.Provider)
		if c.before != nil {
			c.before()
		}
		if c.jail, c.err = providers.New(ctx, cfg); c.err == nil && c.jail.Name() == sandbox.ProviderOff {
			c.log.Warn("documents are converted without a sandbox, only with limits",
				"reason", c.jail.Probe(ctx).Reason)
		}
	})
	return c.jail, c.err
}

// Close ends the sandboxes of jobs.
func (c *Converter) Close(ctx context.Context) error {
	c.once.Do(func() { c.err = sandbox.ErrGone })
	if c.jail == nil {
		return nil
	}
	return c.jail.Close(ctx)
}

// Convert converts one document. An error means that it could not be tried.
func (c *Converter) Convert(ctx context.Context, j documents.Job) (out documents.Outcome, err error) {
	if !convert.Answers() {
		return out, errors.New("this program does not call convert.Main")
	}
	jail, err := c.open(ctx)
	if err != nil {
		return out, fmt.Errorf("prepare conversions: %w", err)
	}
	if head := make([]byte, 1024); c.reads(j.File, head) {
		c.compile(ctx)
	}
	return c.run(ctx, jail, task{convert.Role, j.Name, j.Encoding, maxMarkdown}, j.File, &report{progress: j.Progress})
}

// Draw draws a picture with no side longer than side pixels; 0 keeps its size.
func (c *Converter) Draw(ctx context.Context, data io.Reader, side int) ([]byte, error) {
	if !convert.Answers() {
		return nil, errors.New("this program does not call convert.Main")
	}
	jail, err := c.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("prepare conversions: %w", err)
	}
	out, err := c.run(ctx, jail, task{convert.PictureRole, strconv.Itoa(side), "", maxDrawn}, data,
		&report{progress: func(int, int) {}})
	if err == nil && len(out.Text) == 0 {
		err = fmt.Errorf("%w: %w", &uploads.PictureError{}, out.Reason)
	}
	return out.Text, err
}

// task holds the arguments of this program under a role: the last argument, the selected encoding, and the limit of its
// output in bytes.
type task struct {
	role, arg, encoding string
	most                int64
}

// run starts this program once, with a private folder.
func (c *Converter) run(ctx context.Context, jail sandbox.Provider, t task, data io.Reader,
	said *report) (out documents.Outcome, err error) {
	ref := sandbox.ThreadRef{ID: "job-" + rand.Text()}
	if err := c.dirs.Create(ref.ID); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, c.dirs.Remove(ref.ID)) }()
	tree, err := c.dirs.Open(ref.ID)
	if err != nil {
		return out, err
	}
	defer tree.Close()
	if err := c.put(tree, data); err != nil {
		return out, err
	}
	why, err := c.inside(ctx, jail, ref, t, said)
	if err != nil {
		why, err = c.outside(ctx, ref, t, said)
	}
	if err != nil || ctx.Err() != nil {
		return out, errors.Join(err, context.Cause(ctx))
	}
	if out.Reason = why; said.end != nil {
		out.Reason, out.Encoding = said.end.Lack, said.end.Encoding
		if said.end.Text {
			out.Text, err = tree.ReadFile(ctx, jobOutput, t.most)
		}
	}
	return out, err
}

// reads reports whether a file needs the PDF reader.
func (c *Converter) reads(f *os.File, head []byte) bool {
	n, err := f.ReadAt(head, 0)
	return (err == nil || errors.Is(err, io.EOF)) && convert.IsPDF(head[:n])
}

// compile fills the cache once, in a process without documents. Later processes may only read it. Without a cache each
// PDF takes a second longer.
func (c *Converter) compile(ctx context.Context) {
	c.warming.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, convertTime)
		defer cancel()
		err := os.MkdirAll(c.cache, 0o755)
		var cmd *exec.Cmd
		if err == nil {
			cmd, err = c.command(ctx, c.cache, convert.Role, "", "", "")
		}
		if err == nil {
			err = cmd.Run()
		}
		// A user of the sandbox's must be able to read it.
		err = errors.Join(err, filepath.WalkDir(c.cache, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, 0o755)
			}
			return os.Chmod(path, 0o644)
		}))
		if err != nil && ctx.Err() == nil {
			c.log.Warn("couldn't cache the compiled PDF reader", "err", err)
		}
		c.warm = err == nil
	})
}

// command returns this program as a converter, without our environment, which contains keys.
func (c *Converter) command(ctx context.Context, temp, role, in, out, arg string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{role, in, out, arg}
	cmd.Dir, cmd.WaitDelay = temp, time.Second
	cmd.Env = []string{"TMPDIR=" + temp, "TMP=" + temp, convert.Cache + "=" + c.cache}
	return cmd, nil
}

func (c *Converter) put(tree *files.Files, from io.Reader) error {
	w, err := tree.Create(jobInput)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(from, convert.MaxInput+1))
	return errors.Join(err, w.Close())
}

// inside converts in a sandbox. An error means that the program couldn't start there; a reason is for a process that
// ended silently.
func (c *Converter) inside(ctx context.Context, jail sandbox.Provider, ref sandbox.ThreadRef, t task,
	said *report) (convert.Reason, error) {
	at, err := c.seat(jail, ref.ID)
	if err != nil {
		return "", err
	}
	env := map[string]string{convert.Encoding: t.encoding}
	if c.warm {
		env[convert.Cache] = at.cache
	}
	box, err := jail.Acquire(ctx, ref, jobPolicy(at.binds))
	if err != nil {
		return "", err
	}
	res, err := box.Exec(ctx, sandbox.ExecReq{
		Command: `exec -a "$1" "$2" "$3" "$4" "$5"`,
		Args:    []string{t.role, at.program, jobInput, jobOutput, t.arg}, Env: env, All: said,
	})
	err = errors.Join(err, jail.Destroy(context.WithoutCancel(ctx), ref, "the document is converted"))
	if err != nil {
		return "", err
	}
	switch {
	case res.TimedOut, res.Signal == "SIGXCPU":
		return convert.Timeout, nil
	case res.OOM, res.Quota:
		return convert.Limits, nil
	case res.ExitCode == 126, res.ExitCode == 127:
		return "", fmt.Errorf("start %s in a sandbox: %s", at.program, bytes.TrimSpace(res.Output))
	}
	return convert.Crashed, nil
}

// outside converts in a plain process.
func (c *Converter) outside(ctx context.Context, ref sandbox.ThreadRef, t task, said *report) (convert.Reason, error) {
	ctx, cancel := context.WithTimeout(ctx, convertTime)
	defer cancel()
	base := filepath.Join(c.dirs.Root, "threads", ref.ID)
	host := func(virtual string) string {
		return filepath.Join(base, "user-data", filepath.FromSlash(strings.TrimPrefix(virtual, files.UserData)))
	}
	cmd, err := c.command(ctx, base, t.role, host(jobInput), host(jobOutput), t.arg)
	if err != nil {
		return "", err
	}
	cmd.Env = append(cmd.Env, convert.Encoding+"="+t.encoding)
	cmd.Stdout = said
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return convert.Timeout, nil
	case errors.As(err, &exit):
		return convert.Crashed, nil
	}
	return convert.Crashed, err
}

// report parses the child's output.
type report struct {
	progress func(done, of int)
	rest     []byte
	end      *convert.Line
}

// maxReport limits a line of the child.
const maxReport = 64 << 10

func (r *report) Write(p []byte) (int, error) {
	for chunk := range bytes.Lines(p) {
		if r.rest = append(r.rest, chunk...); len(r.rest) > maxReport {
			return 0, fs.ErrInvalid
		}
		if !bytes.HasSuffix(r.rest, []byte("\n")) {
			continue
		}
		var l convert.Line
		if json.Unmarshal(r.rest, &l) == nil && r.end == nil {
			if l.End {
				r.end = &l
			} else {
				r.progress(l.Done, l.Pages)
			}
		}
		r.rest = r.rest[:0]
	}
	return len(p), nil
}

// Read converts web content.
func (c *Converter) Read(ctx context.Context, name string, data []byte) (text, why string, err error) {
	if !convert.Answers() {
		return "", "", errors.New("this program does not call convert.Main")
	}
	jail, err := c.open(ctx)
	if err != nil {
		return "", "", fmt.Errorf("prepare conversions: %w", err)
	}
	if convert.IsPDF(data[:min(len(data), 1024)]) {
		c.compile(ctx)
	}
	out, err := c.run(ctx, jail, task{convert.Role, name, "", maxMarkdown}, bytes.NewReader(data),
		&report{progress: func(int, int) {}})
	return string(out.Text), string(out.Reason), err
}
