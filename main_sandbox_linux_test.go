package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/providers"
)

// needs skips a test where a provider cannot work anyway, which CI does not accept.
func needs(t *testing.T, provider string) {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	cfg.Provider, cfg.Dirs = provider, files.Dirs{Root: openDir(t)}
	p, err := providers.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Probe(t.Context())
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.OK {
		return
	}
	if os.Getenv("FAWN_CI") == "1" {
		t.Fatal(r.String())
	}
	t.Skip(r.String())
}

// openDir is a new data folder below folders that every user may enter: without namespaces,
// commands of a server that is root run as others.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fawn-open-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

// handicapped makes a command run without something, in namespaces of its own where only
// those let it go.
func handicapped(cmd *exec.Cmd, what string) *exec.Cmd {
	if what == "" {
		return cmd
	}
	cmd.Env = append(cmd.Env, handicapVariable+"="+what)
	flags := map[string]uintptr{limitOf0: syscall.CLONE_NEWUSER,
		maskedProc: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}[what]
	if flags != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	}
	return cmd
}

// commands has the model run a command and returns what it was told.
func commands(t *testing.T, s *server, thread, command string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"description": "a test", "command": command})
	if err != nil {
		t.Fatal(err)
	}
	values := call[struct{ Messages []message }](t, s, "POST", "/threads/"+thread+"/runs/wait",
		input(fmt.Sprintf(`SCRIPT{"turns": [{"tool_calls": [{"name": "bash", "args": %s}]}, {"text": "done"}]}`, args)))
	for _, m := range slices.Backward(values.Messages) {
		if m.Type == "tool" {
			return fmt.Sprint(m.Content)
		}
	}
	t.Fatalf("no answer of a tool: %+v", values)
	return ""
}

type report struct {
	Provider, Step, Errno, Reason, Hint string
	Degraded                            []string
	Tried                               []report
}

// TestWeakHostsAreToldAndNeverSilent takes namespaces, Landlock and parts of /proc away
// from the program and looks at what it says and does then.
func TestWeakHostsAreToldAndNeverSilent(t *testing.T) {
	needs(t, sandbox.ProviderNamespace)
	needs(t, sandbox.ProviderLandlock)
	namespace := func(reason, step, errno string) report {
		return report{Provider: "namespace", Reason: reason, Step: step, Errno: errno, Hint: "+"}
	}
	// Only commands of another user are kept from what is root's, and there is none.
	root := "userns_limit; landlock: root_user"
	off := func(reason string) string {
		return "^" + regexp.QuoteMeta(`Error: bash is disabled: no sandbox is available on this host (reason: `+reason)
	}
	const whole = `). Ask the owner to run "fawn doctor", or set sandbox.provider explicitly.`
	for _, c := range []struct {
		name, handicap, conf string
		health               report
		doctor               []string // regular expressions
		told                 string   // to the model that runs "echo ran; ls /root"
	}{
		{"nothing is missing", "", "", report{Provider: "namespace"}, []string{`ok +sandbox +namespace: userns, mountns, pidns`,
			`memory_cgroup|Delegate=yes in its \[Service\] section, (.|\n)*systemd-run (--user )?--scope -p Delegate=yes fawn`}, `^ran\nls: cannot access '/root'`},
		{"a filter refuses namespaces", noNamespaces, "", report{Provider: "landlock", Degraded: []string{"no-pidns"},
			Tried: []report{namespace("userns_forbidden", "clone", "EPERM")}},
			[]string{`note +sandbox +namespace does not work here: userns_forbidden clone EPERM`, `\(seccomp\) refuses`,
				`security-opt seccomp=docs/docker/seccomp.json`, `ok +sandbox +landlock: `,
				`reduced isolation: no-pidns`}, `^ran\nls: cannot (open directory|access) '/root'`},
		{"namespaces are limited to 0", limitOf0, "",
			report{Provider: "off", Reason: root, Hint: "+", Tried: []report{namespace("userns_limit", "clone", "ENOSPC"), {Provider: "landlock", Reason: "root_user", Hint: "+"}}},
			[]string{`namespace does not work here: userns_limit clone ENOSPC`, `sysctl -w user.max_user_namespaces`,
				`commands are disabled: ` + root}, off(root + whole)},
		{"proc is masked", maskedProc, "", report{Provider: "namespace", Degraded: []string{"outer-proc"}}, []string{`ok +sandbox +namespace: `, `reduced isolation: outer-proc`}, `^ran\nls: cannot access '/root'`},
		{"proc is masked, strict", maskedProc, "sandbox: {strict: true}",
			report{Provider: "off", Reason: "masked_proc; landlock: ", Hint: "+", Tried: []report{namespace("masked_proc", "proc", "EPERM"), {Provider: "landlock", Reason: "+", Hint: "+"}}},
			[]string{`namespace does not work here: masked_proc proc EPERM`, `systempaths=unconfined`,
				`commands are disabled: masked_proc; landlock: `}, off("masked_proc; landlock: ")},
		{"both are absent", noneOfBoth, "", report{Provider: "off", Reason: "userns_forbidden; landlock: not supported",
			Hint: "+", Tried: []report{namespace("userns_forbidden", "clone", "EPERM"),
				{Provider: "landlock", Reason: "not supported", Hint: "+"}}},
			[]string{`namespace does not work here: userns_forbidden clone EPERM`,
				`landlock does not work here: not supported`,
				`commands are disabled: userns_forbidden; landlock: not supported`}, off("userns_forbidden; landlock: not supported" + whole)},
		{"namespaces are asked for by name", noNamespaces, "sandbox: {provider: namespace}",
			report{Provider: "off", Reason: "userns_forbidden", Hint: "+", Tried: []report{namespace("userns_forbidden", "clone", "EPERM")}},
			[]string{`commands are disabled: userns_forbidden\n`}, off("userns_forbidden" + whole)},
		{"Landlock is asked for by name", noneOfBoth, "sandbox: {provider: landlock}",
			report{Provider: "off", Reason: "landlock: not supported", Hint: "+", Tried: []report{{Provider: "landlock", Reason: "not supported", Hint: "+"}}},
			[]string{`commands are disabled: landlock: not supported\n`}, off("landlock: not supported" + whole)},
		{"layers are required", noNamespaces, "sandbox: {require_layers: [pidns]}",
			report{Provider: "off", Reason: "userns_forbidden; landlock: layers missing: pidns", Hint: "+", Tried: []report{namespace("userns_forbidden", "clone", "EPERM"), {Provider: "landlock", Reason: "layers missing: pidns", Hint: "+"}}},
			[]string{`commands are disabled: userns_forbidden; landlock: layers missing: pidns`},
			off("userns_forbidden; landlock: layers missing: pidns" + whole)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.handicap == limitOf0 && os.Getuid() != 0 {
				t.Skip("an ordinary user gets Landlock then, which package sandbox tests")
			}
			conf := configured(t, c.conf)
			said := finished(t, handicapped(program(t, nil, "doctor", "--data", openDir(t), "--config", conf),
				c.handicap)).stdout
			for _, want := range c.doctor {
				if !regexp.MustCompile(want).MatchString(said) {
					t.Errorf("doctor says\n%s\nwant %s", said, want)
				}
			}
			s := started(t,
				handicapped(program(t, nil, "serve", "--addr", "127.0.0.1:0", "--data", openDir(t), "--config", conf),
					c.handicap))
			got := call[struct{ Sandbox report }](t, s, "GET", "/health", "").Sandbox
			if problem := got.differs(c.health); problem != "" {
				t.Errorf("health says %+v: %s", got, problem)
			}
			if told := commands(t, s, "t", "echo ran; ls /root 2>&1"); !regexp.MustCompile(c.told).MatchString(told) {
				t.Errorf("the model is told %q, want %s", told, c.told)
			}
			s.end(t, os.Interrupt)
			if c.handicap != "" && !strings.Contains(s.stderr, "level=WARN msg=\"sandbox ") {
				t.Errorf("the log is silent: %s", s.stderr)
			}
		})
	}
}

// differs compares with what is wanted; "+" is anything but nothing.
func (r report) differs(want report) string {
	for _, f := range [][3]string{{"provider", r.Provider, want.Provider}, {"step", r.Step, want.Step},
		{"errno", r.Errno, want.Errno}, {"reason", r.Reason, want.Reason}, {"hint", r.Hint, want.Hint}} {
		if f[1] != f[2] && (f[2] != "+" || f[1] == "") &&
			(!strings.HasSuffix(f[2], ": ") || !strings.HasPrefix(f[1], f[2])) {
			return fmt.Sprintf("%s is %q, not %q", f[0], f[1], f[2])
		}
	}
	for _, d := range want.Degraded {
		if !slices.Contains(r.Degraded, d) {
			return d + " is not among the weaknesses"
		}
	}
	if len(r.Degraded) > 0 && len(want.Degraded) == 0 || len(r.Tried) != len(want.Tried) {
		return "more or fewer weaknesses or providers"
	}
	for i, t := range r.Tried {
		if problem := t.differs(want.Tried[i]); problem != "" && len(want.Tried[i].Degraded) == len(t.Degraded) {
			return t.Provider + ": " + problem
		}
	}
	return ""
}

// TestKilledServersLeaveNoProcess kills a server whose threads have daemons of every kind.
func TestKilledServersLeaveNoProcess(t *testing.T) {
	needs(t, sandbox.ProviderNamespace)
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, nil, "--data", data, "--config", configured(t))
	for i := range 3 {
		told := commands(t, s, fmt.Sprint("t", i),
			`trap "" HUP TERM; setsid -f sleep 3600 >/dev/null 2>&1; (setsid bash -c 'trap "" TERM HUP INT; while sleep 1; do :; done' >/dev/null 2>&1 &); nohup sleep 3600 >/dev/null 2>&1 & echo up`)
		if !strings.HasPrefix(told, "up\n") {
			t.Fatal(told)
		}
	}
	until(t, func() bool { return insiders(t, data) >= 9 })
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	until(t, func() bool { return insiders(t, data) == 0 })
	t.Logf("all processes ended within %v", time.Since(killed))
}

// insiders counts processes that see files of threads in a data folder, and nothing else of it.
func insiders(t *testing.T, data string) (n int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	_, below, _ := strings.Cut(data, os.TempDir())
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), below+"/threads/") {
			n++
		}
	}
	return n
}
