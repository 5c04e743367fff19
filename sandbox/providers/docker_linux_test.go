package providers_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/providers"
)

// eachEngine runs a test with the engine that plays its part here, and with a
// real one where it is to be found.
func eachEngine(t *testing.T, test func(t *testing.T, open func(...func(*sandbox.Config)) *world)) {
	t.Helper()
	t.Run("fake", func(t *testing.T) {
		t.Parallel()
		e := newFakeEngine(t)
		test(t, func(change ...func(*sandbox.Config)) *world {
			return newContainerWorld(t, append([]func(*sandbox.Config){e.use}, change...)...)
		})
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		use := realEngine(t)
		test(t, func(change ...func(*sandbox.Config)) *world {
			return newContainerWorld(t, append([]func(*sandbox.Config){use}, change...)...)
		})
	})
}

// realEngine skips where there is none: nobody has to have one.
func realEngine(t testing.TB) func(*sandbox.Config) {
	t.Helper()
	engine := sandbox.Engine{Socket: os.Getenv(engineVariable), Image: os.Getenv(imageVariable)}
	cfg := sandbox.DefaultConfig()
	cfg.Provider, cfg.Engine = sandbox.ProviderDocker, engine
	cfg.Dirs.Root = filepath.Join(openDir(t), "data")
	cfg.TestOnly.Init = initProgram
	p, err := providers.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Probe(t.Context())
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !r.OK {
		if engine.Socket != "" {
			t.Fatalf("the engine that was asked for: %s", r)
		}
		t.Skipf("no container engine with an image here: %s", r)
	}
	return func(c *sandbox.Config) { c.Engine = engine }
}

func newContainerWorld(t testing.TB, change ...func(*sandbox.Config)) *world {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	cfg.Provider = sandbox.ProviderDocker
	cfg.Dirs.Root = filepath.Join(openDir(t), "data")
	cfg.Log = slog.New(slog.NewTextHandler(logWriter{t}, nil))
	cfg.TestOnly.Init = initProgram
	for _, c := range change {
		c(&cfg)
	}
	p, err := providers.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if p.Name() != sandbox.ProviderDocker {
		t.Fatal(p.Probe(context.Background()))
	}
	return &world{t, cfg, p}
}

func TestContainerRunsCommands(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		skills := openDir(t)
		mustWrite(t, filepath.Join(skills, "tool/run.sh"), "echo skill $1\n")
		mustWrite(t, filepath.Join(skills, "secret/key"), "SECRET-key")
		mustWrite(t, filepath.Join(skills, "secret.txt"), "SECRET-file")
		w := open(func(c *sandbox.Config) {
			c.Dirs.Mounts = []files.Mount{{Path: files.Skills + "/public", Dir: skills}}
			c.Secrets = []string{filepath.Join(skills, "secret"), filepath.Join(skills, "secret.txt")}
		})
		s := w.thread("a")
		if s.ID() != "docker:a" || !s.Paths().Identity() {
			t.Errorf("%s, identity %v", s.ID(), s.Paths().Identity())
		}
		for name, c := range map[string]struct {
			req  sandbox.ExecReq
			want string
			code int
		}{
			"place":     {sandbox.ExecReq{Command: "pwd; cd /mnt/user-data/outputs && pwd; cd && pwd; echo $TMPDIR"}, "/mnt/user-data/workspace\n/mnt/user-data/outputs\n/home/agent\n/tmp\n", 0},
			"files":     {sandbox.ExecReq{Command: "for d in uploads outputs workspace; do echo $d > /mnt/user-data/$d/f && cat /mnt/user-data/$d/f; done; echo t > /tmp/t; cat /tmp/t"}, "uploads\noutputs\nworkspace\nt\n", 0},
			"both ways": {sandbox.ExecReq{Command: "exec 2>&1; echo out; echo err >&2; exit 7"}, "out\nerr\n", 7},
			"arguments": {sandbox.ExecReq{Command: `echo "$0 $1 $2"`, Args: []string{"a b", "c"}}, "bash a b c\n", 0},
			"variables": {sandbox.ExecReq{Command: "echo $X; echo $Y", Env: map[string]string{"X": "1"}, Secrets: map[string]string{"Y": "very-secret"}}, "1\n****\n", 0},
			"input":     {sandbox.ExecReq{Command: "while read -r x; do echo \"<$x>\"; done", Stdin: []byte("a\nb\n")}, "<a>\n<b>\n", 0},
			"no input":  {sandbox.ExecReq{Command: "read -r x; echo $?"}, "1\n", 0},
			"folder":    {sandbox.ExecReq{Command: "pwd", Cwd: "/mnt/user-data/uploads"}, "/mnt/user-data/uploads\n", 0},
			"long":      {sandbox.ExecReq{Command: "#" + strings.Repeat("x", 200<<10) + "\necho long; read -r x; echo $x", Stdin: []byte("in\n")}, "long\nin\n", 0},
			"signal":    {sandbox.ExecReq{Command: "kill -TERM $$"}, "", 143},
			"skills":    {sandbox.ExecReq{Command: "bash /mnt/skills/public/tool/run.sh 1; : 2>/dev/null >> /mnt/skills/public/x || echo refused"}, "skill 1\nrefused\n", 0},
			"secrets":   {sandbox.ExecReq{Command: "cat /mnt/skills/public/secret/key 2>/dev/null; cat /mnt/skills/public/secret.txt; echo end"}, "end\n", 0},
			"empty":     {sandbox.ExecReq{Command: "true"}, "", 0},
			"zeros":     {sandbox.ExecReq{Command: `printf 'a\0MARK\0b\n' | tr '\0' x`}, "axMARKxb\n", 0},
		} {
			t.Run(name, func(t *testing.T) {
				var streamed strings.Builder
				c.req.OnOutput = func(_ sandbox.Stream, b []byte) { streamed.Write(b) }
				res := do(t, s, c.req)
				if string(res.Output) != c.want || streamed.String() != c.want || res.ExitCode != c.code ||
					res.SandboxRestarted {
					t.Errorf("%q, streamed %q, want %q: %+v", res.Output, streamed.String(), c.want, res)
				}
			})
		}
		for range 20 {
			res, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "echo out; seq 2000 >&2; echo end; echo last >&2"})
			if err != nil || string(res.Output) != "out\nend\n" || !strings.HasPrefix(string(res.Errors), "1\n2\n") ||
				!strings.HasSuffix(string(res.Errors), "\n2000\nlast\n") {
				t.Fatalf("%v, %q, %q", err, res.Output, res.Errors)
			}
		}
		if b, err := readFile(w, "a", "f"); err != nil || string(b) != "workspace\n" {
			t.Errorf("on the host: %q, %v", b, err)
		}
		res := do(t, s, sandbox.ExecReq{Command: "true", Cwd: "/mnt/user-data/none"})
		notes := strings.Join(res.Notes, "\n")
		if res.ExitCode != 126 || !strings.Contains(notes, "there is no folder /mnt/user-data/none") {
			t.Errorf("%+v", res)
		}
		res = bash(t, s, "for i in $(seq 20000); do echo line $i; done; printf '%0.sx' $(seq 300000)")
		if !res.Truncated || res.TotalBytes != 20000*5+108894+300000 ||
			!strings.HasPrefix(string(res.Output), "line 1\n") || !strings.HasSuffix(string(res.Output), "xxx") {
			t.Errorf("%d bytes, %.50q", res.TotalBytes, res.Output)
		}
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				res, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "echo $1", Args: []string{strconv.Itoa(i)}})
				if err != nil || string(res.Output) != strconv.Itoa(i)+"\n" {
					t.Errorf("%q, %v", res.Output, err)
				}
			})
		}
		all.Wait()
	})
}

func TestContainerEndsEveryDescendant(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		w, m, earlier := open(), mark(), mark()
		s := w.thread("a")
		do(t, s, sandbox.ExecReq{Command: "sleep 1000 >/dev/null 2>&1 &", Env: map[string]string{"MARK": earlier}})
		for name, command := range map[string]string{
			"plain":           "sleep 1000",
			"children":        "sleep 1000 & sleep 1000 & wait",
			"new session":     "setsid sleep 1000 & sleep 1000",
			"double fork":     "(setsid bash -c 'setsid sleep 1000 & setsid sleep 1000 &' &); sleep 1000",
			"ignores signals": `bash -c 'trap "" TERM INT HUP QUIT; while :; do sleep 1; done' & wait`,
			"forks on":        `bash -c 'f() { sleep 0.01; f & }; f & wait' & sleep 1000`,
		} {
			t.Run(name, func(t *testing.T) {
				const timeout = 500 * time.Millisecond
				res := do(t, s, sandbox.ExecReq{Command: command, Timeout: timeout, Env: map[string]string{"MARK": m}})
				if !res.TimedOut || res.ExitCode != 137 || res.Signal != "SIGKILL" {
					t.Errorf("%+v", res)
				}
				noneLeft(t, m)
				if slow := res.Took > timeout+1500*time.Millisecond; res.SandboxRestarted && !slow {
					t.Errorf("%+v", res)
				}
			})
		}
		// A busy host may have taken the whole sandbox; then it says so.
		if n := len(marked(t, earlier)); n != 1 && s.Status().Restarts == 0 {
			t.Errorf("%d processes of an earlier command", n)
		}
		if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "test"); err != nil {
			t.Error(err)
		}
		noneLeft(t, earlier)
	})
}

func TestContainerCancelKeepsOutput(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		w, m := open(), mark()
		cancelKeepsOutput(t, w)
		s := w.thread("a", withMark(m))
		for i := range 4 { // before it has begun
			res := do(t, s, sandbox.ExecReq{Command: "exec sleep 1000", Timeout: time.Duration(i)*time.Millisecond + 1})
			if !res.TimedOut || res.ExitCode != 137 {
				t.Errorf("%+v", res)
			}
			noneLeft(t, m)
		}
	})
}

func TestContainerKeepsBackgroundProcesses(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		w, m := open(), mark()
		s := w.thread("a", withMark(m))
		res := bash(t, s, "(while :; do echo still here; sleep 0.05; done) & echo started")
		if res.Background < 1 ||
			!strings.HasPrefix(string(res.Output), "started\n") &&
				!strings.Contains(string(res.Output), "\nstarted\n") {
			t.Errorf("%+v %s", res, res.Output)
		}
		// Not every engine keeps the output of a command open for them.
		bash(t, s, "sleep 1000 >/dev/null 2>&1 & sleep 1000 >/dev/null 2>&1 &")
		if st := stateOf(t, s); !st.Running || st.Procs < 2 || st.MemBytes <= 0 {
			t.Errorf("%+v", st)
		}
		if len(marked(t, m)) < 2 {
			t.Error("they are not there")
		}
		if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "test"); err != nil {
			t.Error(err)
		}
		noneLeft(t, m)
	})
}

func TestContainerTamperingRestartsTheSandbox(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		for name, command := range map[string]string{
			"kill the parent": "sleep 1000 & kill -9 $PPID; sleep 1000",
			"kill all":        "sleep 1000 & kill -9 -1; sleep 1000",
			"stop the parent": "sleep 1000 & kill -STOP $PPID; echo stopped; sleep 1000",
		} {
			m := mark()
			s := open().thread("a", withMark(m))
			t.Run(name, func(t *testing.T) {
				t.Parallel() // most of it waits
				bash(t, s, "echo lost > /tmp/x; echo kept > x")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				res, err := s.Exec(ctx, sandbox.ExecReq{Command: command, Timeout: time.Minute,
					OnOutput: func(sandbox.Stream, []byte) { cancel() }})
				if err != nil || !res.SandboxRestarted || res.TimedOut || res.ExitCode != 137 {
					t.Errorf("%v %+v %s", err, res, res.Output)
				}
				noneLeft(t, m)
				res = bash(t, s, "cat x; cat /tmp/x 2>/dev/null")
				if string(res.Output) != "kept\n" || res.SandboxRestarted {
					t.Errorf("the next command: %q %+v", res.Output, res)
				}
			})
		}
		// Process 1 hears no signal of anybody inside.
		s := open().thread("a")
		res := bash(t, s, "for i in 1 2 3 9 10 12 15 17 19; do kill -$i 1 2>/dev/null; done; echo sent")
		if string(res.Output) != "sent\n" || res.SandboxRestarted || bash(t, s, "echo next").SandboxRestarted {
			t.Errorf("%+v", res)
		}
	})
}

func TestContainerWalls(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		w := open()
		bash(t, w.thread("victim"), "echo SECRET-thread > private")
		mustWrite(t, filepath.Join(w.cfg.Dirs.Root, "fawn.db"), "SECRET-db")
		s := w.thread("a")
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		env := map[string]string{"DATA": w.cfg.Dirs.Root, "PORT": strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
		for name, c := range map[string]struct{ command, want string }{
			"other thread":      {`cat "$DATA/threads/victim/user-data/workspace/private" /mnt/user-data/../../victim/private 2>/dev/null; echo $?`, "1\n"},
			"database":          {`cat "$DATA/fawn.db" 2>/dev/null; [ -e "$DATA" ]; echo $?`, "1\n"},
			"engine":            {`for s in /run/docker.sock /var/run/docker.sock /run/podman/podman.sock; do [ -e $s ] && echo $s; done; echo end`, "end\n"},
			"port of the host":  {`(: <>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null; echo $?`, "1\n"},
			"write":             {`for f in /x /usr/x /etc/x /.sbx/x /mnt/x /mnt/user-data/x /.sbx/hold; do (echo x > $f) 2>/dev/null && echo $f; done; echo end`, "end\n"},
			"replace our own":   {`rm -f /.sbx/call 2>/dev/null; mv /.sbx/call /tmp/ 2>/dev/null; cat /.sbx/call >/dev/null 2>&1; echo $?`, "1\n"},
			"parent":            {`cat /proc/$PPID/environ /proc/1/environ 2>/dev/null | wc -c; for f in /proc/$PPID/fd/0 /proc/1/fd/0 /proc/$PPID/exe; do readlink $f; done | wc -l`, "0\n0\n"},
			"privileges":        {`while read -r n v; do case $n in CapEff:|CapBnd:) echo $v;; NoNewPrivs:|Seccomp:) echo $v;; esac; done < /proc/self/status | sort -u`, "0000000000000000\n1\n2\n"},
			"mounts":            {`(mount -t tmpfs x /tmp; umount /tmp) >/dev/null 2>&1; echo $?`, ""},
			"setuid":            {`: > s; chmod u+s s 2>/dev/null; [ -u s ] && echo set; rm -f s; echo end`, "end\n"},
			"other environment": {`cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -c ^FAWN_SANDBOX_TEST`, "0\n"},
		} {
			t.Run(name, func(t *testing.T) {
				res := do(t, s, sandbox.ExecReq{Command: c.command, Env: env})
				if strings.Contains(string(res.Output), "SECRET") || c.want != "" && string(res.Output) != c.want ||
					c.want == "" && string(res.Output) == "0\n" {
					t.Errorf("%q", res.Output)
				}
			})
		}
		if layers := strings.Join(s.Status().Layers, " "); !strings.Contains(layers, "container mountns pidns") ||
			!strings.Contains(layers, "netns") {
			t.Errorf("%s", layers)
		}
	})
}

func TestContainerReachesTheProxyOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		served := make(chan string, 1)
		w := open(func(c *sandbox.Config) {
			c.Proxy = func(thread string, l net.Listener) {
				for {
					conn, err := l.Accept()
					if err != nil {
						served <- thread
						return
					}
					line, _ := bufio.NewReader(conn).ReadString('\n')
					fmt.Fprintf(conn, "%s says %s", thread, line)
					_ = conn.Close()
				}
			}
		})
		s := w.thread("a", func(p *sandbox.Policy) { p.Network = sandbox.NetworkProxy })
		res := bash(t, s, "exec 3<>/dev/tcp/127.0.0.1/3128; echo hello >&3; cat <&3; echo $HTTPS_PROXY")
		if string(res.Output) != "a says hello\nhttp://127.0.0.1:3128\n" {
			t.Errorf("%q", res.Output)
		}
		if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "test"); err != nil {
			t.Error(err)
		}
		if thread := <-served; thread != "a" {
			t.Error(thread)
		}
		if left, err := filepath.Glob(filepath.Join(w.cfg.Dirs.Root, "run/egress-*")); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	})
}

func TestContainerEndsWithTheServer(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		w := open()
		cmd, _ := play(t, roleServer, providerVariable+"="+sandbox.ProviderDocker,
			dataVariable+"="+filepath.Join(openDir(t), "data"), engineVariable+"="+w.cfg.Engine.Socket,
			imageVariable+"="+cmp.Or(w.cfg.Engine.Image))
		waitReady(t, cmd)
		m := "SERVER=" + strconv.Itoa(cmd.Process.Pid) + "\x00"
		waitFor(t, "their processes", func() bool { return len(marked(t, m)) >= 6 })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "their end", func() bool { return len(marked(t, m)) == 0 })
		_ = cmd.Wait() // it was killed
	})
}

// These are enforced by the engine.
func TestContainerLimits(t *testing.T) {
	use := realEngine(t)
	w := newContainerWorld(t, use)
	s := w.thread("a", func(p *sandbox.Policy) {
		p.Timeout = 2 * time.Minute
		p.Limits = sandbox.Limits{Memory: 64 << 20, Pids: 40, FileSize: 2 << 20, OpenFiles: 64, Tmp: 1 << 20}
	})
	if res := bash(t, s, "ulimit -n; ulimit -f; ulimit -c"); string(res.Output) != "64\n2048\n0\n" {
		t.Errorf("%q", res.Output)
	}
	if res := bash(t, s, "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}"); !res.OOM ||
		!strings.Contains(strings.Join(res.Notes, "\n"), "memory limit exceeded") {
		t.Errorf("%+v %.100s", res, res.Output)
	}
	if res := bash(t, s,
		"head -c 3000000 /dev/zero > /tmp/x 2>&1; wc -c < /tmp/x; rm /tmp/x"); !strings.HasPrefix(string(res.Output),
		"1048576\n") {
		t.Errorf("%q", res.Output)
	}
	m := mark()
	res := do(t, s, sandbox.ExecReq{Command: "f() { f | f & }; f 2>/dev/null; sleep 300", Timeout: 3 * time.Second,
		Env: map[string]string{"MARK": m}})
	if res.ExitCode == 0 {
		t.Errorf("%+v", res)
	}
	noneLeft(t, m)
	if res := bash(t, s, "echo fine"); string(res.Output) != "fine\n" {
		t.Errorf("after a bomb: %+v", res)
	}
}
