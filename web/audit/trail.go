// Package audit stores commands of agents, connections out of their sandboxes, and refused tools, as rows that
// sandboxes, stages and the proxy report. Reading them is an API route.
package audit

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/command"
	"fawn/agent/middleware"
	"fawn/sandbox"
	"fawn/sandbox/egress"
	"fawn/store"
)

// Kinds of audit rows.
const (
	kindCommand = "command"
	kindEgress  = "egress"
	kindPath    = "path"
)

// Limits of the queue. Commands never wait for the audit.
const (
	maxBytes = 1 << 20
	maxHeld  = 256
	maxText  = 500 // characters of one text of a row
	maxNames = 64  // names of variables in a row
)

// commandRow is one command: its verdict and its outcome.
type commandRow struct {
	Kind    string `json:"kind"`
	At      string `json:"at"`
	Thread  string `json:"thread_id"`
	Run     string `json:"run_id,omitempty"`
	NS      string `json:"ns,omitempty"`
	Call    string `json:"call_id,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	Command string `json:"command"`
	SHA256  string `json:"sha256"`
	*outcome
}

// outcome is a sandbox's report of a command, whether or not it ran.
type outcome struct {
	Provider   string   `json:"provider"`
	Layers     []string `json:"layers,omitempty"`
	Cwd        string   `json:"cwd,omitempty"`
	Env        []string `json:"env,omitempty"` // names
	Exit       int      `json:"exit"`
	Signal     string   `json:"signal,omitempty"`
	MS         int64    `json:"ms"`
	Bytes      int64    `json:"bytes"`
	Truncated  bool     `json:"truncated,omitempty"`
	TimedOut   bool     `json:"timed_out,omitempty"`
	Cancelled  bool     `json:"cancelled,omitempty"`
	OOM        bool     `json:"oom,omitempty"`
	Quota      bool     `json:"quota,omitempty"`
	Restarted  bool     `json:"restarted,omitempty"`
	Background int      `json:"background,omitempty"`
	Error      string   `json:"error,omitempty"`
}

// egressRow is one connection that left a sandbox, or was refused to.
type egressRow struct {
	Kind    string `json:"kind"`
	At      string `json:"at"`
	Thread  string `json:"thread_id"`
	Run     string `json:"run_id,omitempty"` // active run
	Host    string `json:"host"`
	Port    int    `json:"port"`
	IP      string `json:"ip,omitempty"`
	Verdict string `json:"verdict"`
	Rule    string `json:"rule,omitempty"`
	In      int64  `json:"bytes_in"`
	Out     int64  `json:"bytes_out"`
	MS      int64  `json:"ms"`
}

// pathRow is a path that a tool was refused.
type pathRow struct {
	Kind    string `json:"kind"`
	At      string `json:"at"`
	Thread  string `json:"thread_id"`
	Run     string `json:"run_id,omitempty"`
	NS      string `json:"ns,omitempty"`
	Call    string `json:"call_id,omitempty"`
	Tool    string `json:"tool"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	Path    string `json:"path"`
}

// callKey names a tool call.
type callKey struct{ thread, run, call string }

// Trail stores audit rows. Its methods are safe for concurrent use and return at once: one goroutine writes the queue,
// and rows beyond its limit are counted.
type Trail struct {
	db   *store.DB
	log  *slog.Logger
	wake chan struct{} // one token: check the queue again
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards all below
	queue   []store.AuditRow
	bytes   int
	dropped int64
	closed  bool
	held    map[callKey]sandbox.Record // until the stage's verdict arrives
	order   []callKey                  // keys of held, oldest first
}

// New starts the writing goroutine, which close ends.
func New(db *store.DB, log *slog.Logger) *Trail {
	t := &Trail{db: db, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		held: map[callKey]sandbox.Record{}}
	go t.write()
	return t
}

// Close stores the queued rows; later ones are dropped.
func (t *Trail) Close() {
	t.mu.Lock()
	for len(t.order) > 0 {
		t.release()
	}
	t.closed = true
	t.mu.Unlock()
	t.nudge()
	<-t.done
}

// Lost returns the number of rows lost since the start.
func (t *Trail) Lost() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}

// Ran records a sandbox's report of a command. In a tool call, it waits for the call's verdict.
func (t *Trail) Ran(r sandbox.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Origin.ToolCall == "" {
		t.add(r.Thread, kindCommand, ranRow(r))
		return
	}
	for len(t.order) >= maxHeld {
		t.release()
	}
	k := callKey{r.Thread, r.Origin.Run, r.Origin.ToolCall}
	if _, twice := t.held[k]; !twice {
		t.order = append(t.order, k)
	}
	t.held[k] = r
}

// release stores the oldest command that waits, without a verdict. The caller holds mu.
func (t *Trail) release() {
	r := t.held[t.order[0]]
	delete(t.held, t.order[0])
	t.order = t.order[1:]
	t.add(r.Thread, kindCommand, ranRow(r))
}

func ranRow(r sandbox.Record) commandRow {
	return commandRow{Kind: kindCommand, At: moment(r.Time), Thread: r.Thread, Run: r.Origin.Run,
		Call: r.Origin.ToolCall, Verdict: string(command.Pass), Command: r.Head, SHA256: r.SHA256,
		outcome: outcomeOf(r)}
}

func outcomeOf(r sandbox.Record) *outcome {
	return &outcome{Provider: r.Provider, Layers: r.Layers, Cwd: brief(r.Cwd), Env: r.Env[:min(len(r.Env), maxNames)],
		Exit: r.Exit, Signal: r.Signal,
		MS: r.Took.Milliseconds(), Bytes: r.Bytes, Truncated: r.Truncated, TimedOut: r.TimedOut, Cancelled: r.Cancelled,
		OOM:   r.OOM,
		Quota: r.Quota, Restarted: r.Restarted, Background: r.Background, Error: brief(r.Error)}
}

// Judged records the verdict on a call.
func (t *Trail) Judged(r middleware.AuditRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Path != "" {
		t.add(r.Thread, kindPath, pathRow{Kind: kindPath, At: moment(r.Time), Thread: r.Thread, Run: r.Run, NS: r.NS,
			Call: brief(r.Call),
			Tool: brief(r.Tool), Verdict: string(r.Verdict), Reason: brief(r.Reason), Path: brief(r.Path)})
		return
	}
	row := commandRow{Kind: kindCommand, At: moment(r.Time), Thread: r.Thread, Run: r.Run, NS: r.NS,
		Call: brief(r.Call), Tool: brief(r.Tool),
		Verdict: string(r.Verdict), Reason: brief(r.Reason), Command: brief(r.Command), SHA256: r.SHA256}
	k := callKey{r.Thread, r.Run, r.Call}
	if ran, ok := t.held[k]; ok {
		delete(t.held, k)
		t.order = slices.DeleteFunc(t.order, func(o callKey) bool { return o == k })
		row.Command, row.SHA256, row.outcome = ran.Head, ran.SHA256, outcomeOf(ran)
	}
	t.add(r.Thread, kindCommand, row)
}

// Connected records a proxy's report of a connection.
func (t *Trail) Connected(r egress.Record, run string) {
	row := egressRow{Kind: kindEgress, At: moment(r.At), Thread: r.Thread, Run: run, Host: brief(r.Host), Port: r.Port,
		Verdict: string(r.Verdict), Rule: brief(r.Rule), In: r.In, Out: r.Out, MS: r.Took.Milliseconds()}
	if r.IP.IsValid() {
		row.IP = r.IP.String()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(r.Thread, kindEgress, row)
}

// add queues a row. The caller holds mu.
func (t *Trail) add(thread, kind string, row any) {
	body, err := agent.Encode(row)
	if err != nil || t.closed || t.bytes+len(body) > maxBytes {
		t.lose(1, thread, err)
		return
	}
	t.log.Debug("audit", "row", string(body))
	t.queue = append(t.queue, store.AuditRow{Thread: thread, Kind: kind, Body: body})
	t.bytes += len(body)
	t.nudge()
}

// lose counts lost rows, and logs the first. The caller holds mu.
func (t *Trail) lose(rows int, thread string, err error) {
	if t.dropped == 0 {
		t.log.Warn("lost audit rows; /health counts them",
			"thread", thread, "err", err)
	}
	t.dropped += int64(rows)
}

// nudge never blocks.
func (t *Trail) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// write stores queued rows until the trail is closed and empty.
func (t *Trail) write() {
	defer close(t.done)
	for range t.wake {
		t.mu.Lock()
		rows, bytes, closed := t.queue, t.bytes, t.closed
		t.queue = nil
		t.mu.Unlock()
		if len(rows) > 0 {
			err := t.db.Commit(context.Background(), store.Batch{Audit: rows})
			t.mu.Lock()
			t.bytes -= bytes // counted until it is stored
			if err != nil {
				t.lose(len(rows), rows[0].Thread, err)
			}
			t.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// brief cuts a text of a row.
func brief(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= maxText {
		return s
	}
	return string([]rune(s)[:maxText])
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
