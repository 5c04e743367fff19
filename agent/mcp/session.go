package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
	"fawn/agent/mcp/process"
)

// legacy is the protocol version tried first: newer servers support it, and old servers don't understand the newest
// handshake.
const legacy = "2025-11-25"

// session is one connection to a server, for one thread or for learning its tools.
type session struct {
	server *server
	thread string
	client *sdk.ClientSession
	proc   *process.Process // nil for HTTP
	tmp    string           // folder of its temporary files, by its path inside the server
	began  time.Time
	done   chan struct{} // closed when everything has ended
	cause  error         // why it ended, once done is closed

	closing chan struct{} // closed by us
	mu      sync.Mutex
	calls   int
	used    time.Time
	closed  bool
	calling map[string]watcher // the active calls
	asking  int                // questions that calls wait for
	settled chan struct{}      // closed when no question is left; nil without any
	nobody  chan struct{}      // closed when no call is active; nil before the first
}

// watcher receives the events of a call.
type watcher struct {
	tell  func(*sdk.ProgressNotificationParams)
	pause func(bool) // stops the call's clock while a question is open

	ctx    context.Context // context of the call
	sample Sampler         // nil makes no model calls
}

// open starts a session. The context is of the server: it ends the session.
func (s *server) open(ctx context.Context, conf Server, thread string) (*session, error) {
	// It lives as long as the session, which the SSE stream belongs to.
	starting, cancel := context.WithCancelCause(ctx)
	watch := s.watch(conf, func(waited time.Duration) { cancel(fmt.Errorf("it did not answer within %v", waited)) })
	defer watch.end()
	began := time.Now()
	e, err := s.connect(ctx, starting, conf, thread, legacy, watch)
	var refused *jsonrpc.Error
	if err != nil && starting.Err() == nil && errors.As(err, &refused) {
		e, err = s.connect(ctx, starting, conf, thread, "", watch) // it may speak the newest version only
	}
	if err == nil {
		s.pool.work.Go(func() {
			<-e.done
			cancel(nil)
		})
		return e, nil
	}
	defer cancel(nil)
	if cause := context.Cause(starting); cause != nil {
		err = cause
	}
	return nil, s.explain(err, began)
}

func (s *server) connect(ctx, starting context.Context, conf Server, thread, version string, watch *watch) (*session,
	error) {
	e := &session{server: s, thread: thread, began: time.Now(), used: time.Now(), done: make(chan struct{}),
		closing: make(chan struct{}), calling: map[string]watcher{}}
	transport, finish, err := s.transport(starting, e, conf, thread)
	if err != nil {
		return nil, err
	}
	watch.follow(e.proc)
	client := sdk.NewClient(&sdk.Implementation{Name: "fawn", Version: "1"}, s.sampling(e, conf, &sdk.ClientOptions{
		Capabilities:               appFeature(),
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { s.changed() },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { s.changed() },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { s.changed() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			e.reportProgress(r.Params)
		},
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return s.elicit(ctx, e, r.Params)
		},
	}))
	if err := knowTasks(client); err != nil {
		finish()
		return nil, fmt.Errorf("prepare for tasks: %w", err)
	}
	if e.proc != nil {
		// A server that does not answer is ended, which ends the waiting for it too.
		stop := context.AfterFunc(starting, e.proc.End)
		defer stop()
	}
	e.client, err = client.Connect(starting, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		if finish(); e.proc != nil && e.proc.Refused() != nil {
			err = e.proc.Refused()
		}
		return nil, err
	}
	s.pool.work.Go(func() {
		select {
		case <-ctx.Done():
			e.close()
		case <-e.closing:
		case <-e.done:
			return
		}
		if e.proc != nil {
			e.proc.End() // unanswered calls end with it
		}
		_ = e.client.Close() // the result is irrelevant
	})
	s.pool.work.Go(func() {
		err := e.client.Wait()
		_ = e.client.Close() // it has ended
		finish()
		e.mu.Lock()
		if !e.closed {
			e.cause = cmp.Or(err, errors.New("it has ended"))
		}
		e.mu.Unlock()
		close(e.done)
		s.wakeUp()
	})
	return e, nil
}

// transport returns the transport to the server. finish releases its resources.
func (s *server) transport(life context.Context, e *session, conf Server,
	thread string) (_ sdk.Transport, finish func(),
	err error) {
	if conf.Type != Stdio {
		w, err := newWeb(conf, s.tokens, &s.pool.o, s.pool.o.MaxMessage)
		if err != nil {
			return nil, nil, err
		}
		w.life = life
		if conf.mayLogIn() {
			w.told = s.unknown.Store
		}
		if conf.Type == SSE {
			return &sdk.SSEClientTransport{Endpoint: conf.URL, HTTPClient: w.client(),
				MaxEventSize: s.pool.o.MaxMessage}, w.close, nil
		}
		return &sdk.StreamableClientTransport{Endpoint: conf.URL, HTTPClient: w.client(),
			MaxEventSize: s.pool.o.MaxMessage, MaxRetries: 2}, w.close, nil
	}
	if conf.Sandboxed {
		if e.proc, err = s.confined(conf, thread); err != nil {
			return nil, nil, err
		}
		return s.pipes(e.proc), e.proc.End, nil
	}
	folder, err := s.pool.folder(thread)
	if err != nil {
		return nil, nil, err
	}
	work := filepath.Join(folder, "workspace")
	program, err := process.Find(conf.Command, process.SearchPath(conf.Env), work)
	if err != nil {
		return nil, nil, err
	}
	tmp, err := temporary(work)
	if err != nil {
		return nil, nil, err
	}
	tmp, remove := shortened(tmp)
	e.tmp = tmp
	defer func() {
		if err != nil {
			remove()
		}
	}()
	args := make([]string, len(conf.Args))
	for i, a := range conf.Args {
		args[i] = toHost(a, folder)
	}
	e.proc, err = process.Start(process.Command{Path: program, Args: args, Env: process.Environment(conf.Env, tmp),
		Dir: work}, s.log.add)
	if err != nil {
		return nil, nil, err
	}
	return s.pipes(e.proc), func() {
		e.proc.End()
		remove()
	}, nil
}

func (s *server) pipes(p *process.Process) sdk.Transport {
	most := s.pool.o.MaxMessage
	return &sdk.IOTransport{Reader: newMessages(p.Output(), most, s.log.add), Writer: p.Input(), MaxLineLength: 2 * most}
}

// tempFolder is the folder for temporary files of servers in a thread's workspace.
const tempFolder = ".mcp/tmp"

// temporary creates the folder. The thread's commands also write to the workspace, and their links must not lead the
// server elsewhere.
func temporary(work string) (string, error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return "", fmt.Errorf("open the workspace for an MCP server: %w", err)
	}
	defer root.Close()
	err = root.MkdirAll(tempFolder, 0o700)
	if err == nil {
		var info os.FileInfo
		if info, err = root.Stat(tempFolder); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", tempFolder)
		}
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for temporary files of an MCP server: %w", err)
	}
	return filepath.Join(work, filepath.FromSlash(tempFolder)), nil
}

// socketRoom is the path length in bytes that a server needs for a socket below its temporary folder: names such as
// playwright-mcp-x/mcp-x.sock take about half of the 108 allowed.
const socketRoom = 108 - 64

// The names of such links.
const (
	linkPrefix  = "fawn-"
	linkLetters = 10
)

// shortened returns a path of a folder short enough for sockets, a link if its own is too long. The caller removes the
// link.
func shortened(folder string) (path string, remove func()) {
	none := func() {}
	if len(folder) <= socketRoom || runtime.GOOS == "windows" {
		return folder, none
	}
	for _, at := range []string{os.TempDir(), "/tmp"} {
		link := filepath.Join(at, linkPrefix+strings.ToLower(rand.Text()[:linkLetters]))
		if len(link) > socketRoom || os.Symlink(folder, link) != nil {
			continue
		}
		return link, func() { _ = os.Remove(link) } // it may be gone already
	}
	return folder, none
}

// RemoveLinks removes the links to temporary folders that a killed process left for servers of threads in a folder. If
// other processes use the same threads, only dangling links are removed.
func RemoveLinks(threads string, shared bool) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	var errs []error
	for _, at := range slices.Compact([]string{os.TempDir(), "/tmp"}) {
		links, err := filepath.Glob(filepath.Join(at, linkPrefix+strings.Repeat("?", linkLetters)))
		if err != nil {
			return err
		}
		for _, link := range links {
			to, err := os.Readlink(link) // an error means that it isn't a link
			if err != nil || !strings.HasPrefix(to, threads+string(filepath.Separator)) ||
				!strings.HasSuffix(to, filepath.FromSlash("/"+tempFolder)) {
				continue
			}
			if _, err := os.Stat(link); shared && !errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// userData is the path of a thread's files for models and their tools.
const userData = "/mnt/user-data"

// toHost converts a path of a thread's files for a server on this machine. Other texts are unchanged.
func toHost(s, folder string) string {
	rest, ok := strings.CutPrefix(s, userData)
	if !ok || rest != "" && rest[0] != '/' {
		return s
	}
	return filepath.Join(folder, filepath.FromSlash(filepath.Clean("/"+rest)))
}

// close ends the session; done is closed when it has ended.
func (e *session) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.closed = true
		close(e.closing)
	}
}

// alive reports whether calls can be made.
func (e *session) alive() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.done:
		return false
	default:
		return !e.closed
	}
}

// exitReason returns the reason why the session ended without being closed; nil if it was closed or is still open.
func (e *session) exitReason() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cause
}

// begin and end count the calls in progress.
func (e *session) begin() bool {
	if !e.alive() {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	return true
}

func (e *session) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls--
	e.used = time.Now()
}

// idle returns since when the session is idle; false while in use.
func (e *session) idle() (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.used, e.calls == 0
}

// reportProgress passes progress to its call.
func (e *session) reportProgress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	e.mu.Lock()
	take := e.calling[token].tell
	e.mu.Unlock()
	if take != nil {
		take(p)
	}
}

// follow watches a call until its stop.
func (e *session) follow(token string, w watcher) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.calling) == 0 {
		e.nobody = make(chan struct{})
	}
	e.calling[token] = w
	if e.asking > 0 {
		w.pause(true)
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.calling, token)
		if len(e.calling) == 0 {
			close(e.nobody)
		}
	}
}

// unused returns a channel that is closed when no call is active. The protocol doesn't say which call a
// question belongs to.
func (e *session) unused() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.nobody == nil {
		none := make(chan struct{})
		close(none)
		return none
	}
	return e.nobody
}

// Limits of a listing.
const (
	maxTools       = 512
	maxDescription = 8 << 10
	maxSchema      = 64 << 10
)

// list asks for the tools, page by page.
func (e *session) list(ctx context.Context) ([]listed, []string, error) {
	var out []listed
	var skipped []string
	skip := func(name, why string) {
		if len(skipped) < 20 {
			skipped = append(skipped, fmt.Sprintf("%q %s", agent.Clip(name, 80), why))
		}
	}
	cursor := ""
	for {
		page, err := e.client.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		for _, t := range page.Tools {
			if t == nil {
				continue
			}
			schema, err := json.Marshal(t.InputSchema)
			switch {
			case len(out) == maxTools:
				skip(t.Name, fmt.Sprintf("is one of more than %d tools", maxTools))
				return out, skipped, nil
			case t.Name == nameless:
				skip(t.Name, "is no name that it can be called by")
			case !printable(t.Name):
				skip(t.Name, "is not a name that models can call")
			case err != nil:
				skip(t.Name, "has a schema that cannot be written: "+err.Error())
			case len(schema) > maxSchema:
				skip(t.Name, fmt.Sprintf("has a schema of more than %d KiB", maxSchema>>10))
			default:
				uri, forModel, forApps := appOf(t)
				out = append(out, listed{App: uri, NotForModel: !forModel, NotForApps: !forApps, Name: t.Name, Description: agent.Clip(t.Description, maxDescription),
					Schema: schema, Long: e.long(t)})
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			return out, skipped, nil
		}
		cursor = page.NextCursor
	}
}

// Folder is a folder of this machine visible to a sandboxed server.
type Folder struct {
	Dir, Path string // on this machine, and inside
	Write     bool
}

// Job is a server that is to run in a sandbox.
type Job struct {
	Server   Server
	Thread   string    // "" for a server that only lists its tools
	In, Out  *os.File  // standard input and output of the server; the function running it closes them
	Complain io.Writer // takes its standard error
}

var errNoSandbox = errors.New("it requires a sandbox, which isn't available here")

// confined starts a server in a sandbox, as a process that ends when it does.
func (s *server) confined(conf Server, thread string) (*process.Process, error) {
	if s.pool.o.Confine == nil {
		return nil, errNoSandbox
	}
	return process.Confined(func(ctx context.Context, in, out *os.File, complain io.Writer) error {
		return s.pool.o.Confine(ctx, Job{Server: conf, Thread: thread, In: in, Out: out, Complain: complain})
	}, s.log.add)
}
