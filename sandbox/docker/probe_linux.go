package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/ns"
	"fawn/sandbox/pool"
)

// containerTest runs in a container and prints a line for each failed restriction. It uses only bash, since the image
// is unknown.
const containerTest = `
miss() { echo "miss $1"; }
[ "$UID" = "$WANT_UID" ] || miss uid
while IFS=$': \t' read -r name value rest; do
  case $name in
    CapEff|CapPrm|CapBnd|CapAmb) [ "$value" = 0000000000000000 ] || miss "$name" ;;
    NoNewPrivs) [ "$value" = 1 ] || miss no_new_privs ;;
    Seccomp) [ "$value" = 2 ] || miss seccomp ;;
  esac
done < /proc/self/status
for dir in /mnt/user-data/workspace /mnt/user-data/uploads /mnt/user-data/outputs "$HOME" /tmp; do
  { : > "$dir/.probe" && : < "$dir/.probe"; } 2>/dev/null || miss "write_${dir##*/}"
done
{ read -r word < /mnt/user-data/workspace/.token && [ "$word" = "$TOKEN" ]; } 2>/dev/null || miss data_folder
for dir in / /usr /etc /.sbx; do { : > "$dir/.probe"; } 2>/dev/null && miss "readonly_$dir"; done
for path in "$DATA" /var/run/docker.sock /run/docker.sock /run/podman; do [ ! -e "$path" ] || miss "hidden_$path"; done
[ -z "$PORT" ] || { { : <> "/dev/tcp/127.0.0.1/$PORT"; } 2>/dev/null && miss network; }` + pool.CommonTests

// probe finds an engine, removes leftovers of earlier servers, and tests a container of a temporary thread. It can take
// seconds, and minutes if it has to download the image.
func (d *provider) probe(ctx context.Context) sandbox.Report {
	r := d.tryAll(ctx)
	if !r.OK && r.Hint == "" {
		r.Hint = d.hint(strings.SplitN(r.Reason, ":", 2)[0])
	}
	return r
}

func (d *provider) tryAll(ctx context.Context) sandbox.Report {
	if os.Geteuid() == 0 && d.Users == nil {
		return sandbox.Report{Reason: "root_user", Detail: "no user ids are available for commands"}
	}
	if err := d.Prepare(ctx); err != nil {
		return sandbox.Report{Reason: "setup", Detail: err.Error(), Hint: ns.Hint("setup")}
	}
	owner, err := ownerMark(filepath.Join(d.Config.Dirs.Root, "run"))
	if err != nil {
		return sandbox.Report{Reason: "setup", Detail: err.Error(), Hint: ns.Hint("setup")}
	}
	eng, err := d.connect(ctx)
	if err != nil {
		return sandbox.Report{Reason: engineReason(err), Step: "engine", Detail: err.Error()}
	}
	d.mu.Lock()
	if d.engine != nil {
		d.engine.close()
	}
	d.engine, d.owner = eng, owner
	d.mu.Unlock()
	d.reap(ctx, eng, owner)
	if r := d.probeImage(ctx, eng); r.Reason != "" {
		return r
	}
	r, err := d.tryOut(ctx)
	if err != nil {
		r = sandbox.Report{Reason: "init", Detail: err.Error()}
		var init *sandbox.InitError
		var none *sandbox.UnavailableError
		switch {
		case errors.As(err, &init):
			r.Step, r.Reason = init.Step, "container_"+init.Step
			if init.Detail != "" {
				r.Detail = init.Detail
			}
		case errors.As(err, &none):
			r.Reason, r.Hint = none.Reason, none.Hint
		}
		return r
	}
	if d.Config.Strict && r.Reason == "" && len(r.Degraded) > 0 {
		r.Reason = "degraded:" + strings.Join(r.Degraded, ",")
	}
	r.OK = r.Reason == ""
	r.Detail = strings.TrimSpace(fmt.Sprintf("%s %s at %s, image %s %s", eng.about.name(), eng.about.ServerVersion,
		eng.socket, d.image(), r.Detail))
	return r
}

// connect finds an engine whose containers can run our program.
func (d *provider) connect(ctx context.Context) (*engine, error) {
	eng, err := openEngine(ctx, d.Config.Engine.Socket)
	if err != nil {
		return nil, err
	}
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	arch := eng.about.Architecture
	if eng.about.OSType != "" && eng.about.OSType != "linux" ||
		arch != "" && arch != runtime.GOARCH && arch != machines[runtime.GOARCH] {
		eng.close()
		return nil, fmt.Errorf("%w: it runs programs for %s/%s", errRemoteEngine, eng.about.OSType, arch)
	}
	return eng, nil
}

func engineReason(err error) string {
	switch {
	case errors.Is(err, errRemoteEngine):
		return "remote_engine"
	case errors.Is(err, errOldEngine):
		return "old_engine"
	case errors.Is(err, unix.EACCES), errors.Is(err, fs.ErrPermission):
		return "engine_forbidden"
	}
	return "no_engine"
}

func (d *provider) probeImage(ctx context.Context, eng *engine) sandbox.Report {
	there, err := eng.hasImage(ctx, d.image())
	if err == nil && !there && d.Config.Engine.Pull {
		d.Config.Log.Info("pulling the sandbox image", "image", d.image())
		err = eng.pull(ctx, d.image())
		there = err == nil
	}
	switch {
	case err != nil:
		return sandbox.Report{Reason: "no_image", Step: "image", Detail: err.Error()}
	case !there:
		return sandbox.Report{Reason: "no_image", Step: "image", Detail: "the engine does not have " + d.image()}
	}
	return sandbox.Report{}
}

// tryOut starts a container and tests it. Errors mean that it did not start.
func (d *provider) tryOut(ctx context.Context) (r sandbox.Report, err error) {
	thread := "probe-" + strings.ToLower(rand.Text()[:12])
	defer func() {
		if err := d.Config.Dirs.Remove(thread); err != nil {
			d.Config.Log.Warn("couldn't remove the sandbox probe's folder", "error", err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	policy := sandbox.DefaultPolicy()
	policy.Network, policy.Limits.Memory, policy.Limits.Disk = sandbox.NetworkNone, 256<<20, 0
	b, err := d.startBox(ctx, thread, policy)
	if err != nil {
		return r, err
	}
	defer b.Stop()
	r.Built(b.Layers())
	token := rand.Text()
	view, err := d.Config.Dirs.Open(thread)
	if err == nil {
		err = errors.Join(view.WriteFile(ctx, files.Workspace+"/.token", []byte(token+"\n"), false), view.Close())
	}
	var missed []string
	if err == nil {
		env := ns.CommandEnvironment(sandbox.NetworkNone)
		env["TOKEN"], env["DATA"], env["WANT_UID"] = token, d.Config.Dirs.Root, strconv.Itoa(b.launch.inside())
		missed, err = d.RunTest(ctx, b, containerTest, files.Workspace, env)
	}
	r.Tested(missed, err)
	return r, nil
}

// hint advises the owner.
func (d *provider) hint(reason string) string {
	d.mu.Lock()
	eng := d.engine
	d.mu.Unlock()
	name := "docker"
	if eng != nil {
		name = eng.about.name()
	}
	switch reason {
	case "no_engine":
		return "start Docker, or `podman system service`, or set sandbox.docker.socket to where it listens"
	case "engine_forbidden":
		return "let the server's user use the engine's socket, which makes that user as powerful as root; rootless engines do not have that price"
	case "remote_engine":
		return "set sandbox.docker.socket to the socket of a container engine on this machine"
	case "old_engine":
		return "update the engine: Docker 20.10 or Podman 4 is needed"
	case "no_image":
		return name + " pull " + d.image() + " (or set sandbox.docker.pull: true)"
	case "root_user":
		return ns.Hint(reason)
	case "self_test", "container_create", "container_start", "container_hold":
		return "see detail; if the server runs in a container itself, set sandbox.docker.host_data_dir to the path of the data folder on the host"
	}
	return ""
}
