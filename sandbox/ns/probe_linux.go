package ns

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
	"fawn/sandbox/pool"
)

// selfTest runs inside and prints a line for each wall that does not stand. It
// uses nothing but bash.
const selfTest = `
miss() { echo "miss $1"; }
[ "$UID" = 1000 ] || miss uid
while IFS=$': \t' read -r name value rest; do
  case $name in
    CapEff|CapPrm|CapBnd|CapAmb) [ "$value" = 0000000000000000 ] || miss "$name" ;;
    NoNewPrivs) [ "$value" = 1 ] || miss no_new_privs ;;
    Seccomp) [ "$value" = "$WANT_SECCOMP" ] || miss seccomp ;;
  esac
done < /proc/self/status
for dir in workspace uploads outputs; do
  { : > "/mnt/user-data/$dir/.probe"; } 2>/dev/null || [ $dir = uploads ] || miss "write_$dir"
done
for dir in / /usr /etc /.sbx; do { : > "$dir/.probe"; } 2>/dev/null && miss "readonly_$dir"; done
for path in /root /home/*/.ssh /var/run /var/lib /sys/kernel /run/*; do [ ! -e "$path" ] || miss "hidden_$path"; done
[ -z "$PORT" ] || { { : <> "/dev/tcp/127.0.0.1/$PORT"; } 2>/dev/null && miss network; }` + pool.CommonTests

// probe starts the sandbox of a throw-away thread with the whole sequence of
// steps, and runs a self test inside.
func (n *provider) probe(ctx context.Context) sandbox.Report {
	if n.Users == nil {
		// The landlock provider may have made the server undumpable, which prevents mapping users into a new namespace.
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}
	if err := n.Prepare(ctx); err != nil {
		return sandbox.Report{Reason: "setup", Detail: err.Error(), Hint: Hint("setup")}
	}
	if sys, _ := n.Found(); sys.Shell == "" {
		return sandbox.Report{Reason: "no_bash", Hint: Hint("no_bash")}
	}
	// An equal sandbox for a temporary thread.
	thread := "probe-" + strings.ToLower(rand.Text()[:12])
	policy := sandbox.DefaultPolicy()
	policy.Network, policy.Limits.Memory, policy.Limits.Disk = sandbox.NetworkNone, 256<<20, 0
	defer func() {
		if err := n.Config.Dirs.Remove(thread); err != nil {
			n.Config.Log.Warn("couldn't remove the sandbox probe's folder", "error", err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	b, err := n.startBox(ctx, thread, policy)
	if err != nil {
		return Explain(err)
	}
	defer b.Stop()
	r := sandbox.Report{}
	r.Built(b.Layers())
	missed, err := n.selfTest(ctx, b, r.Layers)
	r.Tested(missed, err)
	if n.Config.Strict && r.Reason == "" && len(r.Degraded) > 0 {
		r.Reason = "degraded:" + strings.Join(r.Degraded, ",")
	}
	r.OK = r.Reason == ""
	if !r.OK {
		r.Hint = Hint(r.Reason)
	} else if n.Guards != "" {
		r.Detail = NoGroups(n.Guards)
	}
	return r
}

// selfTest returns the names of failed checks.
func (n *provider) selfTest(ctx context.Context, b *Box, layers []string) (missed []string, err error) {
	env := CommandEnvironment(sandbox.NetworkNone)
	env["WANT_SECCOMP"] = "0"
	if slices.Contains(layers, "seccomp") {
		env["WANT_SECCOMP"] = "2"
	}
	return n.RunTest(ctx, b, selfTest, files.Workspace, env)
}

// RunTest runs a test in a box and returns the names of failed checks.
func (b *Base) RunTest(ctx context.Context, in pool.Box, test, cwd string,
	env map[string]string) (missed []string, err error) {
	// Targets that commands must not reach: a port of the host and a process outside.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	defer l.Close()
	pid, end, err := b.canary(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	env["PORT"], env["CANARY"] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port), strconv.Itoa(pid)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := in.Run(ctx, pool.Job{Command: test, Env: pool.Environment(env, nil, sandbox.ExecReq{}),
		Cwd: cwd, Out: w, Errs: w}); err != nil {
		return nil, err
	}
	if err := r.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return nil, err
	}
	done := false
	lines := bufio.NewScanner(io.LimitReader(r, 64<<10))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "miss "); ok {
			missed = append(missed, name)
		}
		done = done || lines.Text() == "done"
	}
	if !done && len(missed) == 0 {
		missed = []string{"no_answer"}
	}
	return missed, nil
}

// canary starts a process outside whose environment must not be visible inside.
func (b *Base) canary(ctx context.Context) (pid int, end func(), err error) {
	_, init := b.Found()
	cmd := exec.CommandContext(ctx, init)
	cmd.Args = []string{jail.RoleCanary}
	cmd.Env = []string{"SANDBOX_CANARY=" + rand.Text()}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, fmt.Errorf("start canary: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start canary: %w", err)
	}
	return cmd.Process.Pid, func() {
		// It ends when its input does.
		_ = in.Close()
		_ = cmd.Wait()
	}, nil
}

// Explain turns a failed start into a reason with a hint.
func Explain(err error) sandbox.Report {
	r := sandbox.Report{Reason: "init", Detail: err.Error()}
	var init *sandbox.InitError
	if !errors.As(err, &init) {
		return r
	}
	r.Step = init.Step
	if init.Detail != "" {
		r.Detail = init.Detail
	}
	var errno syscall.Errno
	if errors.As(init.Err, &errno) {
		r.Errno = unix.ErrnoName(errno)
		r.Reason = reason(init.Step, errno)
	}
	r.Hint = Hint(r.Reason)
	return r
}

// reason names why a step failed with an error number.
func reason(step string, errno syscall.Errno) string {
	denied := errno == unix.EPERM || errno == unix.EACCES
	switch {
	case step == "clone" && errno == unix.ENOSPC:
		return "userns_limit"
	case step == "clone" && errno == unix.EINVAL:
		return "userns_unsupported"
	case denied && restrictedByAppArmor() &&
		(step == "clone" || step == "uid_map" || step == "private" || step == "root" || step == "loopback"):
		return "apparmor_userns"
	case step == "clone" && denied:
		return "userns_forbidden"
	case step == "uid_map" && denied:
		return "uid_map_forbidden"
	case step == "proc" && errno == unix.EPERM:
		return "masked_proc"
	case step == "pivot" && errno == unix.EINVAL:
		return "initramfs_root"
	case step == "sources" && denied:
		return "data_unreachable"
	case denied && (step == "private" || step == "root" || step == "binds"):
		return "mount_forbidden"
	case step == "landlock" || step == "seccomp":
		return "no_" + step
	}
	return "init"
}

func restrictedByAppArmor() bool {
	b, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	return err == nil && strings.TrimSpace(string(b)) == "1"
}

// filtered reports whether a seccomp filter holds this process.
func filtered() bool {
	b, err := os.ReadFile("/proc/self/status")
	return err == nil && strings.Contains(string(b), "\nSeccomp:\t2\n")
}

// Hint advises the owner.
func Hint(reason string) string {
	switch reason {
	case "no_bash":
		return "install bash"
	case "root_user":
		return "a server that is root must be able to run commands as another user: give it CAP_SETUID, CAP_SETGID, CAP_SETPCAP and CAP_CHOWN and a range of user ids, or run it as an ordinary user"
	case "setup":
		return "see detail: the data folder or the program in it cannot be used"
	case "userns_limit":
		return "the limit of user namespaces is used up or 0: sysctl -w user.max_user_namespaces=10000"
	case "userns_unsupported":
		return "the kernel has no user namespaces (CONFIG_USER_NS)"
	case "userns_forbidden":
		if filtered() {
			return "a filter of system calls (seccomp) refuses user namespaces: start a container with --security-opt seccomp=docs/docker/seccomp.json (of Fawn's sources, or =unconfined) and --security-opt apparmor=unconfined; a service of systemd without RestrictNamespaces and with a SystemCallFilter that has clone, unshare and mount"
		}
		return "the system refuses user namespaces: sysctl -w kernel.unprivileged_userns_clone=1"
	case "uid_map_forbidden":
		return "the server may not map user ids: give it CAP_SETUID and CAP_SETGID, or run it as an ordinary user"
	case "apparmor_userns":
		return "AppArmor forbids user namespaces: install the profile that follows, with apparmor_parser -r\n" +
			sandbox.AppArmorProfile()
	case "masked_proc":
		return "the container hides parts of /proc: run it with --security-opt systempaths=unconfined, or set sandbox.strict: false"
	case "initramfs_root":
		return "the root of this system cannot be moved: set sandbox.strict: false"
	case "data_unreachable":
		return "the data folder lies below folders of another user: move it, or run the server as that user"
	case "mount_forbidden":
		return "the system refuses mounts in user namespaces: in a container add --security-opt apparmor=unconfined --security-opt seccomp=unconfined"
	case "no_landlock", "no_seccomp":
		return "the kernel lacks a layer that sandbox.require_layers or sandbox.strict asks for"
	}
	return ""
}
