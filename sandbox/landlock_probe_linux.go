package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox/files"
	"fawn/sandbox/jail"
)

// plainTest runs in a sandbox without namespaces and prints a line for each
// wall that does not stand. What exists is opened: rules about files do not
// answer questions about permissions.
const plainTest = `
miss() { echo "miss $1"; }
[ "$UID" = "$WANT_UID" ] || miss uid
while IFS=$': \t' read -r name value rest; do
  case $name in
    CapEff|CapPrm|CapAmb) [ "$value" = 0000000000000000 ] || miss "$name" ;;
    CapBnd) [ "$value" = 0000000000000000 ] || [ -z "$OWN_USER" ] || miss "$name" ;;
    NoNewPrivs) [ "$value" = 1 ] || miss no_new_privs ;;
    Seccomp) [ "$value" = 2 ] || miss seccomp ;;
  esac
done < /proc/self/status
for dir in "$FILES"/workspace "$FILES"/uploads "$FILES"/outputs "$HOME" "$TMPDIR"; do
  { : > "$dir/.probe" && : < "$dir/.probe"; } 2>/dev/null || miss "write_${dir##*/}"
done
{ : < "$NEIGHBOUR"; } 2>/dev/null && miss files
{ : > "${NEIGHBOUR%/*}/.probe"; } 2>/dev/null && miss write_outside
for name in "${NEIGHBOUR%/*}"/*; do [ "$name" = "${NEIGHBOUR%/*}/*" ] || miss list; done
for dir in / /usr /etc /dev /var/tmp; do { : > "$dir/.probe"; } 2>/dev/null && miss "readonly_$dir"; done
[ -z "$PORT" ] || { { : <> "/dev/tcp/127.0.0.1/$PORT"; } 2>/dev/null && miss network; }
[ -z "$SCOPED" ] || { kill -0 "$CANARY" 2>/dev/null && miss signals; }` + commonTests

// Probe starts the sandbox of a throw-away thread with the whole sequence of
// steps, and runs a self test in it.
func (l *landlock) Probe(ctx context.Context) Report {
	start := time.Now()
	r := l.probe(ctx)
	r.Provider, r.TookMS = ProviderLandlock, time.Since(start).Milliseconds()
	if !r.OK && r.Hint == "" {
		r.Hint = plainHint(r.Reason)
	}
	if r.OK && l.users == nil {
		r = hideServer(r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report = r
	return r
}

// hideServer takes what /proc tells of the server itself away from its user, whose commands
// are among the processes of the host: not even the numbers of its open files are left.
func hideServer(r Report) Report {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		r.Degraded = append(r.Degraded, "the server's open files can be counted")
	}
	return r
}

func (l *landlock) probe(ctx context.Context) Report {
	if abi := jail.LandlockABI(); abi < landlockABI {
		return Report{Reason: "not supported",
			Detail: fmt.Sprintf("the kernel has version %d of Landlock, version %d is needed", abi, landlockABI)}
	}
	if os.Geteuid() == 0 && l.users == nil {
		return Report{Reason: "root_user", Detail: "no user ids are available for commands"}
	}
	if err := l.prepare(ctx); err != nil {
		return Report{Reason: "setup", Detail: err.Error(), Hint: hint("setup")}
	}
	l.mu.Lock()
	shell := l.system.shell
	l.mu.Unlock()
	if shell == "" {
		return Report{Reason: "no_bash", Hint: hint("no_bash")}
	}
	if !plainPath(l.root()) {
		return Report{Reason: "data_path"}
	}
	id := strings.ToLower(rand.Text()[:12])
	thread, other := "probe-"+id, "probe-other-"+id
	defer func() {
		for _, t := range []string{thread, other} {
			if err := l.cfg.Dirs.Remove(t); err != nil {
				l.cfg.Log.Warn("folder of the sandbox probe was not removed", "error", err)
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := l.tryOut(ctx, thread, other)
	if err != nil {
		r = l.explain(err)
		if r.Step == "privileges" {
			r.Reason, r.Hint = "root_user", ""
		}
		return r
	}
	if l.cfg.Strict && r.Reason == "" && len(r.Degraded) > 0 {
		r.Reason, r.Hint = "degraded:"+strings.Join(r.Degraded, ","),
			"sandbox.strict asks for layers that only namespaces have"
	}
	r.OK = r.Reason == ""
	if r.OK && l.guards != "" {
		r.Detail = noGroups(l.guards)
	}
	return r
}

// tryOut starts a box and tests it. Errors mean that it did not start.
func (l *landlock) tryOut(ctx context.Context, thread, other string) (r Report, err error) {
	policy := DefaultPolicy()
	policy.Limits.Memory, policy.Limits.Disk = 256<<20, 0
	b, err := l.startBox(ctx, thread, policy)
	if err != nil {
		return r, err
	}
	defer b.stop()
	r.built(b.layers())
	scoped := ""
	if slices.Contains(r.Layers, "scoped_signals") {
		scoped = "1"
	}
	neighbour := filepath.Join(l.root(), "threads", other, "private")
	err = os.Mkdir(filepath.Dir(neighbour), 0o700)
	if err == nil {
		// Open to everybody, so that it is the rules about files that are tested.
		err = errors.Join(os.Chmod(filepath.Dir(neighbour), 0o777), os.WriteFile(neighbour, nil, 0o644))
	}
	var missed []string
	if err == nil {
		env := map[string]string{"NEIGHBOUR": neighbour, "SCOPED": scoped, "WANT_UID": strconv.Itoa(unix.Getuid()),
			"OWN_USER": ""}
		if b.owner >= 0 {
			env["WANT_UID"], env["OWN_USER"] = strconv.Itoa(b.owner), "1"
		}
		missed, err = l.check(ctx, b, l.paths(thread), env)
	}
	r.tested(missed, err)
	return r, nil
}

// check returns the names of what does not hold.
func (l *landlock) check(ctx context.Context, b *nsBox, paths PathMapper, env map[string]string) ([]string, error) {
	for name, value := range plainEnvironment() {
		env[name] = paths.In(value)
	}
	env["FILES"] = paths.In(files.UserData)
	return l.runTest(ctx, b, plainTest, paths.In(files.Workspace), env)
}

// plainHint says what the owner can do.
func plainHint(reason string) string {
	switch reason {
	case "not supported":
		return "Landlock needs Linux 6.2 or newer, with landlock among the security modules (lsm=)"
	case "root_user":
		return "a server that is root must be able to run commands as another user: give it CAP_SETUID, CAP_SETGID, CAP_SETPCAP and CAP_CHOWN and a range of user ids, or run it as an ordinary user"
	case "data_path":
		return "the path of the data folder has characters that mean something to a shell: move it"
	}
	return ""
}
