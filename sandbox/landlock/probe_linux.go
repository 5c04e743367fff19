package landlock

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

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
	"fawn/sandbox/ns"
	"fawn/sandbox/pool"
)

// plainTest runs in a sandbox without namespaces and prints a line for each missing protection. It opens existing
// files, since file rules don't affect permission queries.
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
{ chmod 600 "$NEIGHBOUR" || touch -d @0 "$NEIGHBOUR"; } 2>/dev/null && miss metadata
[ ! -x /usr/bin/chmod ] || { chmod 640 "$HOME/.probe"; } 2>/dev/null || miss own_metadata
[ -z "$PORT" ] || { { : <> "/dev/tcp/127.0.0.1/$PORT"; } 2>/dev/null && miss network; }
[ -z "$SCOPED" ] || { kill -0 "$CANARY" 2>/dev/null && miss signals; }` + pool.CommonTests

// probe starts the sandbox of a throw-away thread with the whole sequence of
// steps, and runs a self test in it.
func (l *provider) probe(ctx context.Context) sandbox.Report {
	r := l.tryAll(ctx)
	if !r.OK && r.Hint == "" {
		r.Hint = plainHint(r.Reason)
	}
	if r.OK && l.Users == nil {
		r = hideServer(r)
	}
	return r
}

// hideServer hides the server's own /proc data from its user, whose commands are among the host's processes, including
// the numbers of its open files.
func hideServer(r sandbox.Report) sandbox.Report {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		r.Degraded = append(r.Degraded, "the server's open files can be counted")
	}
	return r
}

func (l *provider) tryAll(ctx context.Context) sandbox.Report {
	if abi := jail.LandlockABI(); abi < landlockABI {
		return sandbox.Report{Reason: "not supported",
			Detail: fmt.Sprintf("the kernel has version %d of Landlock, version %d is needed", abi, landlockABI)}
	}
	if os.Geteuid() == 0 && l.Users == nil {
		return sandbox.Report{Reason: "root_user", Detail: "no user ids are available for commands"}
	}
	if err := l.Prepare(ctx); err != nil {
		return sandbox.Report{Reason: "setup", Detail: err.Error(), Hint: ns.Hint("setup")}
	}
	if sys, _ := l.Found(); sys.Shell == "" {
		return sandbox.Report{Reason: "no_bash", Hint: ns.Hint("no_bash")}
	}
	if !pool.PlainPath(l.Root()) || !pool.PlainPath(l.Above()) {
		return sandbox.Report{Reason: "data_path"}
	}
	id := strings.ToLower(rand.Text()[:12])
	thread, other := "probe-"+id, "probe-other-"+id
	defer func() {
		for _, t := range []string{thread, other} {
			if err := l.Config.Dirs.Remove(t); err != nil {
				l.Config.Log.Warn("couldn't remove the sandbox probe's folder", "error", err)
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := l.tryOut(ctx, thread, other)
	if err != nil {
		r = ns.Explain(err)
		if r.Step == "privileges" {
			r.Reason, r.Hint = "root_user", ""
		}
		return r
	}
	if l.Config.Strict && r.Reason == "" && len(r.Degraded) > 0 {
		r.Reason, r.Hint = "degraded:"+strings.Join(r.Degraded, ","),
			"sandbox.strict asks for layers that only namespaces have"
	}
	r.OK = r.Reason == ""
	if r.OK && l.Guards != "" {
		r.Detail = ns.NoGroups(l.Guards)
	}
	return r
}

// tryOut starts a box and tests it. Errors mean that it did not start.
func (l *provider) tryOut(ctx context.Context, thread, other string) (r sandbox.Report, err error) {
	policy := sandbox.DefaultPolicy()
	policy.Limits.Memory, policy.Limits.Disk = 256<<20, 0
	b, err := l.startBox(ctx, thread, policy)
	if err != nil {
		return r, err
	}
	defer b.Stop()
	r.Built(b.Layers())
	scoped := ""
	if slices.Contains(r.Layers, "scoped_signals") {
		scoped = "1"
	}
	neighbour := filepath.Join(l.Above(), "threads", other, "private")
	err = os.Mkdir(filepath.Dir(neighbour), 0o700)
	if err == nil {
		// Accessible to everyone, so that only the file rules are tested.
		err = errors.Join(os.Chmod(filepath.Dir(neighbour), 0o777), os.WriteFile(neighbour, nil, 0o644))
	}
	var missed []string
	if err == nil {
		env := map[string]string{"NEIGHBOUR": neighbour, "SCOPED": scoped, "WANT_UID": strconv.Itoa(unix.Getuid()),
			"OWN_USER": ""}
		if b.User() >= 0 {
			env["WANT_UID"], env["OWN_USER"] = strconv.Itoa(b.User()), "1"
		}
		missed, err = l.check(ctx, b, l.paths(thread), env)
	}
	r.Tested(missed, err)
	return r, nil
}

// check returns the names of failed checks.
func (l *provider) check(ctx context.Context, b *ns.Box, paths sandbox.PathMapper,
	env map[string]string) ([]string, error) {
	for name, value := range plainEnvironment() {
		env[name] = paths.In(value)
	}
	env["FILES"] = paths.In(files.UserData)
	return l.RunTest(ctx, b, plainTest, paths.In(files.Workspace), env)
}

// plainHint advises the owner.
func plainHint(reason string) string {
	switch reason {
	case "not supported":
		return "Landlock needs Linux 6.2 or newer, with landlock among the security modules (lsm=)"
	case "root_user":
		return ns.Hint(reason)
	case "data_path":
		return "the path of the data folder has characters that mean something to a shell: move it"
	}
	return ""
}
