package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp"
)

const canary = "sk-canary-8d1f0c2ab7"

func TestToolsOfServer(t *testing.T) {
	s := stdio("my server", "good")
	s.Env["API_TOKEN"], s.Env["PLAIN"], s.Secrets = canary, "visible-value", []string{canary}
	t.Setenv("FAWN_OTHER_KEY", "not-for-servers")
	w := newWorld(t, s)
	if got := w.says("t1", "my_server_echo", "hello"); got != "hello" {
		t.Errorf("echo says %q", got)
	}
	env := w.says("t1", "my_server_env", "")
	if strings.Contains(env, "FAWN_OTHER_KEY") || strings.Contains(env, canary) {
		t.Errorf("the server's variables show what they must not:\n%s", env)
	}
	if !strings.Contains(env, "PLAIN=visible-value") || !strings.Contains(env, "PATH=") {
		t.Errorf("the server lacks variables:\n%s", env)
	}
	tool := w.has("my_server_echo")
	if !tool.Deferred || tool.Server != "my server" || tool.Description != "says it again" {
		t.Errorf("the tool is %+v", tool)
	}
}

func TestSessionsAreOfThreads(t *testing.T) {
	w := newWorld(t, stdio("s", "good"))
	for i, want := range []string{"1", "2", "3"} {
		if got := w.says("t1", "s_count", ""); got != want {
			t.Errorf("call %d of t1 counts %s", i, got)
		}
	}
	if got := w.says("t2", "s_count", ""); got != "1" {
		t.Errorf("t2 counts %s: it shares a session", got)
	}
	if n := w.status("s").Sessions; n != 2 {
		t.Errorf("%d sessions of threads", n)
	}
	w.Forget("t1")
	if n := w.status("s").Sessions; n != 1 {
		t.Errorf("%d sessions after a thread was deleted", n)
	}
	if got := w.says("t1", "s_count", ""); got != "1" {
		t.Errorf("t1 counts %s after its session was ended", got)
	}
}

func TestFilesOfThread(t *testing.T) {
	w := newWorld(t, stdio("s", "good"))
	got := w.says("t1", "s_write", "text")
	const work = "/mnt/user-data/workspace"
	if got != "written to "+work+"/made.txt, temporary files in "+work+"/.mcp/tmp" {
		t.Errorf("write says %q", got)
	}
	b, err := os.ReadFile(filepath.Join(w.dir, "threads/t1/user-data/workspace/made.txt"))
	if err != nil || string(b) != "text" {
		t.Errorf("the file: %q, %v", b, err)
	}
	// A path of the thread is one of this machine for the server, and comes back as it was.
	if got := w.says("t1", "s_echo", "/mnt/user-data/outputs/a"); got != "/mnt/user-data/outputs/a" {
		t.Errorf("echo says %q", got)
	}
}

func TestServerDiesInCall(t *testing.T) {
	w := newWorld(t, stdio("s", "good"))
	r := w.call("t", "s_dies", "")
	if !r.IsError || !strings.Contains(r.Content.Text, "stopped during the call") ||
		!strings.Contains(r.Content.Text, "out of memory") {
		t.Errorf("the call says %q", r.Content.Text)
	}
	if got := w.says("t", "s_count", ""); got != "1" {
		t.Errorf("the server counts %s after it died", got)
	}
}

func TestFailureOfTool(t *testing.T) {
	s := stdio("s", "good")
	s.Env["API_TOKEN"], s.Secrets = canary, []string{canary}
	w := newWorld(t, s)
	if r := w.call("t", "s_fails", ""); !r.IsError || r.Content.Text != "no luck with ****" {
		t.Errorf("the call says %q", r.Content.Text)
	}
}

func TestCancelReachesServer(t *testing.T) {
	s := stdio("s", "good")
	s.Env["API_TOKEN"], s.Secrets = canary, []string{canary}
	w := newWorld(t, s)
	mark := filepath.Join(t.TempDir(), "cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := errors.New("stopped by hand")
	shown := &sink{seen: make(chan struct{})}
	go func() {
		<-shown.seen // its progress
		cancel(stop)
	}()
	if _, err := w.callIn(ctx, "t", "s_waits", map[string]string{"text": mark}, shown); !errors.Is(err, stop) {
		t.Errorf("the call ends with %v", err)
	}
	until(t, "the server's knowing of it", func() bool { _, err := os.Stat(mark); return err == nil })
	if got := string(shown.events[0].Data); got != `"1/2 half of it with ****\n"` {
		t.Errorf("the progress is %s", got)
	}
}

func TestCallTimeout(t *testing.T) {
	s := stdio("s", "good")
	s.CallTimeout = 50 * time.Millisecond
	w := newWorld(t, s)
	if r := w.call("t", "s_waits", ""); !r.IsError || !strings.Contains(r.Content.Text, "did not answer within 50ms") {
		t.Errorf("the call says %q", r.Content.Text)
	}
}

func TestToolsSurviveRestart(t *testing.T) {
	dir := t.TempDir()
	w := worldIn(t, dir, stdio("s", "good"))
	w.has("s_echo")
	must.Do(t, w.Close())
	next := worldIn(t, dir, stdio("s", "good"))
	if !slices.Contains(next.names(), "s_echo") { // no waiting
		t.Error("the tools are not there right after a start")
	}
}

func TestHotChanges(t *testing.T) {
	a, b := stdio("a", "good"), stdio("b", "good")
	w := newWorld(t, a)
	w.says("t", "a_count", "")
	_, before := w.Tools()
	w.Set([]mcp.Server{a, b})
	w.has("b_echo")
	if _, after := w.Tools(); after == before {
		t.Error("the version is the same with other tools")
	}
	a.Routing = mcp.Routing{Prefer: true, Priority: 7, Keywords: []string{"k"}}
	off := b
	off.Off = true
	w.Set([]mcp.Server{a, off})
	if slices.Contains(w.names(), "b_echo") {
		t.Error("tools of a server that is off are offered")
	}
	if s := w.status("b"); s.State != mcp.StateOff {
		t.Errorf("the status of a server that is off: %+v", s)
	}
	if p := w.has("a_count").Prefer; p == nil || p.Priority != 7 {
		t.Errorf("the preference is %+v", p)
	}
	if got := w.says("t", "a_count", ""); got != "2" {
		t.Errorf("a counts %s: it was disturbed", got)
	}
	stale := w.has("a_echo")
	w.Set(nil)
	if got := w.names(); len(got) > 0 {
		t.Errorf("still offered: %v", got)
	}
	if r, err := stale.Run(t.Context(), nil, noCall); err != nil || !r.IsError {
		t.Errorf("a tool of a removed server: %+v, %v", r, err)
	}
}

func TestListChanged(t *testing.T) {
	w := newWorld(t, stdio("s", "good"))
	if slices.Contains(w.names(), "s_grown") {
		t.Fatal("the tool is there too early")
	}
	// The session that lists is told of a change in its own process only, so change that one:
	// over HTTP all sessions are of one process.
	h := overHTTP(t, newServer(), nil)
	w.Set([]mcp.Server{h})
	w.says("t", "h_grows", "added later")
	if got := w.has("h_grown").Description; got != "added later" {
		t.Errorf("the new tool is described as %q", got)
	}
}

func TestChangedToolsAreWithheld(t *testing.T) {
	w := newWorld(t, stdio("s", "changes"))
	w.has("s_count")
	must.Do(t, w.Reconnect("s"))
	until(t, "the tool's being withheld", func() bool {
		return len(w.status("s").Withheld) == 1 && !slices.Contains(w.names(), "s_echo")
	})
	if w.status("s").Withheld[0].Name != "echo" {
		t.Errorf("offered: %v, status %+v", w.names(), w.status("s"))
	}
	must.Do(t, w.Approve("s"))
	w.has("s_echo")
	if err := w.Approve("none"); !errors.Is(err, mcp.ErrUnknown) {
		t.Errorf("approving an unknown server: %v", err)
	}
}

func TestOddTools(t *testing.T) {
	s := stdio("a-server-with-quite-a-long-name", "odd")
	w := newWorld(t, s)
	w.has("a-server-with-quite-a-long-name_echo")
	skipped := strings.Join(w.status(s.Name).Skipped, "\n")
	w.has("a-server-with-quite-a-long-name_has_dots")
	for _, want := range []string{`"array" has no schema`, `"huge" has a schema of more than`} {
		if !strings.Contains(skipped, want) {
			t.Errorf("%q is not told:\n%s", want, skipped)
		}
	}
	long := 0
	for _, name := range w.names() {
		if len(name) > 64 || strings.Contains(name, ".") {
			t.Errorf("a tool is offered as %q", name)
		}
		if strings.Contains(name, "longlong") {
			long++
		}
	}
	if long != 1 {
		t.Errorf("the tool with a long name is offered %d times", long)
	}
}

func TestNoPrefix(t *testing.T) {
	a, b := stdio("a", "good"), stdio("b", "good")
	a.NoPrefix, b.NoPrefix = true, true
	w := newWorld(t, a, b)
	if got := w.has("echo").Server; got != "a" && got != "b" {
		t.Errorf("the tool is of %q", got)
	}
	until(t, "a remark on equal names", func() bool { return len(w.status("b").Skipped) > 0 })
}

func TestStubbornServerIsKilled(t *testing.T) {
	gone := connections(t, 2)
	w := newWorld(t, stdio("s", "stubborn", gone.addr))
	w.has("s_echo")
	gone.await()
	must.Do(t, w.Close())
	gone.ended()
}

func TestKilledHostLeavesNobody(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell to watch over the servers")
	}
	gone := connections(t, 2)
	cmd := exec.Command(os.Args[0], serverArg, "host", gone.addr)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	dir, err := bufio.NewReader(out).ReadString('\n')
	gone.await()
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	if err != nil {
		t.Fatal(err)
	}
	gone.ended()
	must.Report(t, os.RemoveAll(strings.TrimSpace(dir)))
}

// held are connections of processes, which end with them.
type held struct {
	t     *testing.T
	addr  string
	conns chan net.Conn
	n     int
	all   []net.Conn
}

func connections(t *testing.T, n int) *held {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	h := &held{t: t, addr: l.Addr().String(), conns: make(chan net.Conn, 16), n: n}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.conns <- c
		}
	}()
	return h
}

// await waits for all processes.
func (h *held) await() {
	for range h.n {
		select {
		case c := <-h.conns:
			h.all = append(h.all, c)
		case <-time.After(patience):
			h.t.Fatal("a process is missing")
		}
	}
}

// ended waits for the end of all.
func (h *held) ended() {
	for _, c := range h.all {
		must.Do(h.t, c.SetReadDeadline(time.Now().Add(patience)))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
			h.t.Logf("the connection ended with %v", err)
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			h.t.Error("a process is still there")
		}
		c.Close()
	}
}

// TestALinkOfTheThreadLeadsNoServerOutside: commands in the sandbox write to the workspace, too.
func TestALinkOfTheThreadLeadsNoServerOutside(t *testing.T) {
	w := newWorld(t, stdio("s", "good"))
	outside, work := t.TempDir(), filepath.Join(w.dir, "threads/t1/user-data/workspace")
	must.Do(t, os.MkdirAll(work, 0o700))
	must.Do(t, os.Symlink(outside, filepath.Join(work, ".mcp")))
	if r := w.call("t1", "s_count", ""); !r.IsError {
		t.Errorf("the server starts: %q", r.Content.Text)
	}
	if made, err := os.ReadDir(outside); err != nil || len(made) > 0 {
		t.Errorf("made outside: %v, %v", made, err)
	}
}
