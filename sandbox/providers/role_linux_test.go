package providers_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/providers"
	"fawn/web/e2e/gate"
)

// Roles that this program plays as a child of a test.
const (
	roleServer  = "server"  // runs sandboxes until it is killed
	roleStarter = "starter" // starts and stops sandboxes until it is killed
	roleReport  = "report"  // prints the report of a probe
	roleFilter  = "filter"  // takes namespaces away and becomes roleReport
	roleBare    = "bare"    // takes Landlock away too and becomes roleReport
	roleLimit   = "limit"   // forbids user namespaces below its own and becomes roleReport
	roleMask    = "mask"    // hides a part of /proc and becomes roleReport
)

const (
	dataVariable   = "FAWN_SANDBOX_TEST_DATA"
	strictVariable = "FAWN_SANDBOX_TEST_STRICT"

	providerVariable = "FAWN_SANDBOX_TEST_PROVIDER"
	allowVariable    = "FAWN_SANDBOX_TEST_ALLOW_ENGINE"
	requireVariable  = "FAWN_SANDBOX_TEST_REQUIRE"

	// Where they are set, tests of containers use that engine too.
	engineVariable = "FAWN_TEST_ENGINE"
	imageVariable  = "FAWN_TEST_IMAGE"
)

// role is what a child of a test does.
func role() int {
	var err error
	switch os.Getenv(roleVariable) {
	case roleServer:
		err = serverRole()
	case roleStarter:
		err = starterRole()
	case roleReport:
		err = reportRole()
	case roleFilter:
		runtime.LockOSThread()
		if err = installFilter(); err == nil {
			err = become(roleReport)
		}
	case roleBare:
		runtime.LockOSThread()
		if err = installBareFilter(); err == nil {
			err = become(roleReport)
		}
	case roleLimit:
		if err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err == nil {
			err = become(roleReport)
		}
	case roleMask:
		err = errors.Join(
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("tmpfs", "/proc/fs", "tmpfs", unix.MS_RDONLY, ""))
		if err == nil {
			err = become(roleReport)
		}
	default:
		err = errors.New("no such role")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func become(role string) error {
	if err := os.Setenv(roleVariable, role); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

func roleConfig() sandbox.Config {
	cfg := sandbox.DefaultConfig()
	cfg.Provider = cmp.Or(os.Getenv(providerVariable), sandbox.ProviderNamespace)
	cfg.Dirs.Root = os.Getenv(dataVariable)
	cfg.Strict = os.Getenv(strictVariable) != ""
	if layer := os.Getenv(requireVariable); layer != "" {
		cfg.RequireLayers = []string{layer}
	}
	cfg.AllowEngine = os.Getenv(allowVariable) != ""
	cfg.Engine = sandbox.Engine{Socket: os.Getenv(engineVariable), Image: os.Getenv(imageVariable)}
	cfg.TestOnly.Init = os.Getenv(initVariable)
	return cfg
}

func serverRole() error {
	ctx := context.Background()
	p, err := providers.New(ctx, roleConfig())
	if err != nil {
		return err
	}
	policy := sandbox.DefaultPolicy()
	policy.Env = map[string]string{"SERVER": strconv.Itoa(os.Getpid())}
	for i := range 3 {
		s, err := p.Acquire(ctx, sandbox.ThreadRef{ID: fmt.Sprint("t", i)}, policy)
		if err != nil {
			return err
		}
		if _, err := s.Exec(ctx,
			sandbox.ExecReq{
				Command: `trap "" HUP TERM; setsid -f sleep 300; (setsid bash -c 'trap "" TERM HUP INT; while :; do sleep 1; done' &)`,
			}); err != nil {
			return err
		}
		go s.Exec(ctx, sandbox.ExecReq{Command: "sleep 300"})
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func starterRole() error {
	ctx := context.Background()
	p, err := providers.New(ctx, roleConfig())
	if err != nil {
		return err
	}
	policy := sandbox.DefaultPolicy()
	policy.Lifetime = sandbox.LifetimeCall
	fmt.Println("ready")
	for i := 0; ; i++ {
		s, err := p.Acquire(ctx, sandbox.ThreadRef{ID: fmt.Sprint("t", i%4)}, policy)
		if err != nil {
			return err
		}
		if _, err := s.Exec(ctx, sandbox.ExecReq{Command: "setsid -f sleep 300"}); err != nil {
			return err
		}
	}
}

func reportRole() error {
	p, err := providers.New(context.Background(), roleConfig())
	if err != nil {
		return err
	}
	r := p.Probe(context.Background())
	if !r.OK && len(r.Tried) == 1 {
		r = r.Tried[0]
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	return p.Close(context.Background())
}

// play starts this program in a role, with a data folder of its own.
func play(t testing.TB, role string, env ...string) (*exec.Cmd, string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+role, dataVariable+"="+data, initVariable+"="+initProgram)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd, data
}

// report plays a role that ends as roleReport.
func report(t *testing.T, role string, attr *syscall.SysProcAttr, env ...string) sandbox.Report {
	t.Helper()
	cmd, _ := play(t, role, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.SysProcAttr = &out, attr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var r sandbox.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	return r
}

func TestDeathOfTheServerEndsEverything(t *testing.T) {
	newWorld(t)
	cmd, data := play(t, roleServer)
	waitReady(t, cmd)
	threads := filepath.Join(data, "threads")
	waitFor(t, "12 processes", func() bool { return len(insideOf(t, threads)) >= 12 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the processes to end", func() bool { return len(insideOf(t, threads)) == 0 })
	cmd.Wait()
}

func TestDeathOfTheServerDuringStartsEndsEverything(t *testing.T) {
	newWorld(t)
	times := gate.Pick(5, 10, 200)
	for i := range times {
		cmd, data := play(t, roleStarter)
		waitReady(t, cmd)
		time.Sleep(time.Duration(i%25) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		threads := filepath.Join(data, "threads")
		waitFor(t, "the processes to end", func() bool { return len(insideOf(t, threads)) == 0 })
	}
}

func waitReady(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

func TestHostsWithoutNamespacesSaySo(t *testing.T) {
	newWorld(t)
	t.Run("a filter refuses them", func(t *testing.T) {
		r := report(t, roleFilter, nil)
		if r.OK || r.Step != "clone" || r.Errno != "EPERM" || r.Reason != "userns_forbidden" || r.Hint == "" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("their number is limited to 0", func(t *testing.T) {
		r := report(t, roleLimit, &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		})
		if r.OK || r.Step != "clone" || r.Errno != "ENOSPC" || r.Reason != "userns_limit" || r.Hint == "" {
			t.Errorf("%+v", r)
		}
	})
	// Root of a container that has one user only is like an ordinary user.
	own := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	t.Run("inside another user namespace", func(t *testing.T) {
		if r := report(t, roleReport, own); !r.OK || len(r.Degraded) > 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("proc is masked", func(t *testing.T) {
		if r := report(t, roleMask, own); !r.OK || len(r.Degraded) != 1 || r.Degraded[0] != "outer-proc" {
			t.Errorf("%+v", r)
		}
		r := report(t, roleMask, own, strictVariable+"=1")
		if r.OK || r.Reason != "masked_proc" || r.Errno != "EPERM" || r.Hint == "" {
			t.Errorf("strict: %+v", r)
		}
	})
}

// sameForEveryUser are the tests of searches, paths and texts, of what the engine of
// containers is asked, and of steps that only seem to fail.
const sameForEveryUser = "^Test(Engine|Container|MissingImage|AutoTakes|OwnProgram|EachStep|PlainSteps|Walk|Grep|Glob|List|Stars|HostMust|HostTrans|Filter|Clean|Paths|OutputKeeps|SecretsAreMaskedWherever|Frames|ReportIs|Copy|Swapped)"

// TestAsOrdinaryUser runs the tests of this package again without root.
func TestAsOrdinaryUser(t *testing.T) {
	gate.In(t, gate.Attack, "make test runs these tests as the user who runs it")
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	t.Parallel() // much of it waits
	newWorld(t)
	// A user of this run's own: limits count all processes of a user.
	user := 20_000 + os.Getpid()%20_000
	dir, err := os.MkdirTemp("", "fawn-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o700),
		os.Chown(filepath.Join(dir, "tmp"), user, user)); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{self: "test", initProgram: "init"} {
		// Written by this process, it could be busy: others start programs at the same time.
		out, err := exec.CommandContext(t.Context(), "install", "-m", "755", from,
			filepath.Join(dir, to)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.timeout=12m", "-test.failfast",
		"-test.v", "-test.skip", sameForEveryUser)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"),
		initVariable + "=" + filepath.Join(dir, "init"),
	}
	cmd.Env = append(cmd.Env, gate.Env()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(out, 8000))
	}
	if !bytes.Contains(out, []byte("--- PASS: TestTimeoutEndsEveryDescendant")) {
		needs(t, "python3, pgrep, ps")
		t.Errorf("the commands did not run:\n%s", tail(out, 4000))
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
