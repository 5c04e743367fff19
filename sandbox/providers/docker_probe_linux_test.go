package providers_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/providers"
)

// probeContainers opens the provider and returns its report.
func probeContainers(t *testing.T, change ...func(*sandbox.Config)) (sandbox.Provider, sandbox.Report) {
	t.Helper()
	dir := openDir(t)
	return probeOf(t, func(c *sandbox.Config) {
		c.Provider, c.Dirs.Root = sandbox.ProviderDocker, filepath.Join(dir, "data")
		for _, f := range change {
			f(c)
		}
	})
}

func TestContainersNeedAnEngine(t *testing.T) {
	old, strange := newFakeEngine(t), newFakeEngine(t)
	old.api, strange.api = "1.40", "2.0"
	closed := filepath.Join(openDir(t), "closed.sock")
	l, err := net.Listen("unix", closed)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	for name, c := range map[string]struct{ socket, reason string }{
		"none":    {filepath.Join(openDir(t), "none.sock"), "no_engine"},
		"a file":  {"/etc/passwd", "no_engine"},
		"closed":  {closed, "no_engine"},
		"remote":  {"tcp://127.0.0.1:2375", "remote_engine"},
		"old":     {old.socket, "old_engine"},
		"strange": {"unix://" + strange.socket, "no_engine"},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := probeContainers(t, func(cfg *sandbox.Config) { cfg.Engine.Socket = c.socket })
			if r.OK || p.Name() != sandbox.ProviderOff || r.Reason != c.reason || r.Hint == "" {
				t.Errorf("%s: %+v", p.Name(), r)
			}
		})
	}
}

func TestEngineVersionIsAgreedOn(t *testing.T) {
	for name, c := range map[string]struct{ api, oldest, want string }{
		"the oldest":      {"1.41", "1.12", "/v1.41/"},
		"one in between":  {"1.43", "1.24", "/v1.43/"},
		"newer than ours": {"1.99", "1.44", "/v1.51/"},
		"much newer":      {"1.99", "1.60", "/v1.60/"},
		"no oldest":       {"1.45", "", "/v1.45/"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeEngine(t)
			e.api, e.oldest = c.api, c.oldest
			if _, r := probeContainers(t, e.use); !r.OK {
				t.Errorf("%+v", r)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if len(e.paths) == 0 ||
				slices.ContainsFunc(e.paths, func(p string) bool { return !strings.HasPrefix(p, c.want) }) {
				t.Errorf("%q", e.paths)
			}
		})
	}
}

func TestMissingImageIsSaidWithTheCommand(t *testing.T) {
	e := newFakeEngine(t)
	image := func(name string, pull bool) func(*sandbox.Config) {
		return func(c *sandbox.Config) { c.Engine = sandbox.Engine{Socket: e.socket, Image: name, Pull: pull} }
	}
	p, r := probeContainers(t, image("other", false))
	if r.OK || r.Reason != "no_image" || !strings.HasPrefix(r.Hint, "docker pull other ") {
		t.Errorf("%+v", r)
	}
	if p.Name() != sandbox.ProviderOff {
		t.Error(p.Name())
	}
	_, r = probeContainers(t, image("", false))
	if r.OK || !strings.HasPrefix(r.Hint, "docker pull debian:stable-slim ") {
		t.Errorf("%+v", r)
	}
	_, r = probeContainers(t, image("broken", true))
	if r.OK || r.Reason != "no_image" || !strings.Contains(r.Detail, "on holiday") {
		t.Errorf("%+v", r)
	}
	if _, r = probeContainers(t, image("other", true)); !r.OK {
		t.Errorf("after it was fetched: %+v", r)
	}
	// It may go while the server runs.
	w := newContainerWorld(t, e.use)
	s := w.thread("a")
	e.mu.Lock()
	clear(e.images)
	e.mu.Unlock()
	_, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "true"})
	if err == nil || !strings.Contains(err.Error(), "no_image") {
		t.Errorf("%v", err)
	}
	if _, err := providers.New(t.Context(), func() sandbox.Config {
		c := w.cfg
		c.Engine.Image = "a b?c"
		return c
	}()); err == nil {
		t.Error("an image with such a name was taken")
	}
}

// A container gets what it needs and nothing else, whatever the engine's own
// defaults are.
func TestContainersAreAskedForWithLittleRights(t *testing.T) {
	e := newFakeEngine(t)
	w := newContainerWorld(t, e.use)
	bash(t, w.thread("a", func(p *sandbox.Policy) { p.Limits.CPU = 1.5 }), "true")
	lines := strings.Split(strings.TrimSpace(string(e.bodies())), "\n")
	var c struct {
		User, Hostname string
		Entrypoint     []string
		Labels         map[string]string
		StdinOnce      bool
		Healthcheck    struct{ Test []string }
		HostConfig     map[string]any
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &c); err != nil {
		t.Fatal(err)
	}
	if user, _, _ := strings.Cut(c.User, ":"); os.Getuid() == 0 && user == "0" || user == "" {
		t.Errorf("user %q", c.User)
	}
	if !c.StdinOnce || !slices.Equal(c.Entrypoint, []string{"/.sbx/hold"}) ||
		!slices.Equal(c.Healthcheck.Test, []string{"NONE"}) || c.Labels["fawn.owner"] == "" ||
		c.Labels["fawn.thread"] != "a" || !strings.HasPrefix(c.Labels["fawn.server"], strconv.Itoa(os.Getpid())+"-") {
		t.Errorf("%+v", c)
	}
	for name, want := range map[string]string{
		"ReadonlyRootfs": "true", "CapDrop": `["ALL"]`, "SecurityOpt": `["no-new-privileges"]`, "NetworkMode": `"none"`,
		"IpcMode": `"private"`, "AutoRemove": "true", "Memory": "1073741824", "MemorySwap": "1073741824",
		"PidsLimit": "320", "NanoCpus": "1500000000", "ShmSize": "67108864", "Privileged": "null", "CapAdd": "null",
		"Binds": "null", "Devices": "null", "PidMode": "null", "PortBindings": "null", "LogConfig": `{"Type":"none"}`,
		"RestartPolicy": `{"Name":"no"}`,
	} {
		got, err := json.Marshal(c.HostConfig[name])
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	text, err := json.Marshal(c.HostConfig)
	if err != nil || strings.Contains(string(text), e.socket) || strings.Contains(string(text), "unconfined") ||
		strings.Contains(string(text), `"/usr"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestContainersOfServersOfBeforeAreRemoved(t *testing.T) {
	e := newFakeEngine(t)
	dir := filepath.Join(openDir(t), "data")
	same := func(c *sandbox.Config) { c.Dirs.Root = dir }
	w := newContainerWorld(t, e.use, same)
	m := mark()
	bash(t, w.thread("a", withMark(m)), "sleep 1000 >/dev/null 2>&1 &")
	e.mu.Lock()
	var owner string
	for _, c := range e.containers {
		owner = c.body.Labels["fawn.owner"]
	}
	left := func(id, owner, server string) {
		c := &fakeContainer{id: id, over: make(chan struct{})}
		c.body.Labels = map[string]string{"fawn.owner": owner, "fawn.server": server}
		e.containers[id] = c
	}
	left("dead", owner, "999999999-1")
	left("reused", owner, strconv.Itoa(os.Getpid())+"-1")
	left("strange", owner, "x")
	left("unnamed", owner, "")
	left("other", "somebody else", "999999999-1")
	e.mu.Unlock()
	// A second program with the same folder, such as doctor.
	newContainerWorld(t, e.use, same)
	e.mu.Lock()
	for _, id := range []string{"dead", "reused", "strange", "unnamed"} {
		if e.containers[id] != nil {
			t.Errorf("%s is still there", id)
		}
	}
	if e.containers["other"] == nil {
		t.Error("the container of somebody else is gone")
	}
	e.mu.Unlock()
	if len(marked(t, m)) == 0 {
		t.Error("the container of a server that runs is gone")
	}
	if res := bash(t, w.thread("a", withMark(m)), "echo here"); res.SandboxRestarted || string(res.Output) != "here\n" {
		t.Errorf("%+v", res)
	}
}

func TestContainerThatGoesAwayIsMadeAgain(t *testing.T) {
	e := newFakeEngine(t)
	w := newContainerWorld(t, e.use)
	s := w.thread("a")
	bash(t, s, "echo kept > x; echo lost > /tmp/x")
	e.mu.Lock()
	var ids []string
	for id := range e.containers {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	for _, id := range ids {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete,
			"http://engine/v1.41/containers/"+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context,
			_, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
		}}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		client.CloseIdleConnections()
	}
	waitFor(t, "the end", func() bool { return !s.Status().Running })
	res := bash(t, s, "cat x; cat /tmp/x 2>/dev/null")
	if string(res.Output) != "kept\n" || !res.SandboxRestarted {
		t.Errorf("%q %+v", res.Output, res)
	}
}

// A server in a container calls the data folder by another name than the engine.
func TestContainersFindTheDataFolderOfTheHost(t *testing.T) {
	e := newFakeEngine(t)
	dir := openDir(t)
	link(t, filepath.Join(dir, "data"), filepath.Join(dir, "seen-by-engine"))
	w := newContainerWorld(t, e.use, func(c *sandbox.Config) {
		c.Dirs.Root, c.Engine.HostDataDir = filepath.Join(dir, "data"), filepath.Join(dir, "seen-by-engine")
	})
	if res := bash(t, w.thread("a"), "echo x > x; cat x"); string(res.Output) != "x\n" {
		t.Errorf("%q", res.Output)
	}
	if bodies := string(e.bodies()); !strings.Contains(bodies, filepath.Join(dir, "seen-by-engine/threads/a")) ||
		strings.Contains(bodies, filepath.Join(dir, "data/threads/a")) {
		t.Errorf("%s", bodies)
	}
	// What lies elsewhere has no name that the engine knows.
	s := w.thread("b", func(p *sandbox.Policy) { p.Binds = []sandbox.Bind{{Dir: openDir(t), Path: "/mnt/more"}} })
	if _, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "true"}); err == nil {
		t.Error("it ran")
	}
	_, r := probeContainers(t, e.use, func(c *sandbox.Config) {
		c.Engine.HostDataDir = openDir(t) // there is something else
	})
	if r.OK || !strings.Contains(r.Hint, "host_data_dir") {
		t.Errorf("%+v", r)
	}
}

func TestAutoTakesAnEngineOnlyWhenAllowed(t *testing.T) {
	e := newFakeEngine(t)
	for name, c := range map[string]struct {
		variables []string
		want      string
	}{
		"not allowed": {nil, sandbox.ProviderOff},
		"allowed":     {[]string{allowVariable + "=1"}, sandbox.ProviderDocker},
	} {
		t.Run(name, func(t *testing.T) {
			r := report(t, roleBare, nil,
				append(append(automatic(t), engineVariable+"="+e.socket, imageVariable+"=fake"), c.variables...)...)
			if r.Provider != c.want {
				t.Errorf("%+v", r)
			}
		})
	}
}
