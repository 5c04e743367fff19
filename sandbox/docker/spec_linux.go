package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
	"fawn/sandbox/ns"
)

func urlEscape(s string) string { return url.QueryEscape(s) }

// containerLaunch holds the parameters of a container's start.
type containerLaunch struct {
	image, init, thread string
	empty               string // empty folder that hides others
	policy              sandbox.Policy
	spec                jail.Spec
	filter              []byte
	about               engineInfo
	user, group         int
	labels              map[string]string
	proxy               *proxySocket // nil without network access
	log                 *slog.Logger
	host                func(string) (string, error)
	release             func() // called when the container is gone
}

// discard releases the resources of a container that didn't start.
func (l *containerLaunch) discard() {
	l.closeProxy()
	l.release()
}

func (l *containerLaunch) closeProxy() {
	if l.proxy != nil {
		_ = l.proxy.listener.Close()
		_ = os.Remove(l.proxy.path)
	}
}

// container is the body of the engine's request to create a container.
type container struct {
	Image       string
	Entrypoint  []string
	Cmd         []string
	Env         []string
	User        string
	WorkingDir  string
	Hostname    string `json:",omitempty"`
	Labels      map[string]string
	Healthcheck *healthcheck `json:",omitempty"`
	StopSignal  string

	OpenStdin, StdinOnce, AttachStdin, AttachStdout, AttachStderr bool

	HostConfig hostConfig
}

type hostConfig struct {
	Mounts         []containerMount
	Tmpfs          map[string]string
	ReadonlyRootfs bool
	CapDrop        []string
	SecurityOpt    []string
	NetworkMode    string
	IpcMode        string
	UsernsMode     string `json:",omitempty"`
	AutoRemove     bool
	Memory         int64 `json:",omitempty"`
	MemorySwap     int64 `json:",omitempty"`
	NanoCpus       int64 `json:",omitempty"`
	PidsLimit      int64 `json:",omitempty"`
	ShmSize        int64 `json:",omitempty"`
	OomScoreAdj    int   `json:",omitempty"`
	Ulimits        []ulimit
	LogConfig      struct{ Type string }
	RestartPolicy  struct{ Name string }
}

type healthcheck struct{ Test []string }

type containerMount struct {
	Type, Source, Target string
	ReadOnly             bool
	BindOptions          struct{ Propagation string }
}

type ulimit struct {
	Name       string
	Soft, Hard int64
}

// container returns the most restrictive configuration that commands work with. The engine's own seccomp filter stays
// active, and its socket is never mounted.
func (l *containerLaunch) container() (container, error) {
	p := l.policy
	mounts, err := l.mounts()
	if err != nil {
		return container{}, err
	}
	limits := ns.InnerLimits(p.Limits)
	h := hostConfig{
		Mounts: mounts, Tmpfs: map[string]string{}, ReadonlyRootfs: true, CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"},
		NetworkMode: "none", IpcMode: "private", AutoRemove: true,
		Memory: limits.Memory, MemorySwap: limits.Memory, NanoCpus: int64(p.Limits.CPU * 1e9), ShmSize: limits.Shm,
		OomScoreAdj: 800,
		Ulimits:     []ulimit{{"core", 0, 0}},
	}
	h.LogConfig.Type, h.RestartPolicy.Name = "none", "no"
	h.Tmpfs["/tmp"] = "rw,exec,nosuid,nodev,mode=1777" + size(limits.Tmp)
	if p.Network == sandbox.NetworkHost {
		h.NetworkMode = "host"
	}
	if limits.Pids > 0 {
		// The limit counts threads; those of the supervising processes aren't the command's.
		h.PidsLimit = limits.Pids + sparePids
	}
	own := int64(0)
	if l.user != os.Getuid() {
		// No other processes count.
		own = h.PidsLimit
	}
	for name, n := range map[string]int64{"fsize": limits.FileSize, "nofile": limits.OpenFiles,
		"cpu": limits.CPUSeconds, "nproc": own} {
		if n > 0 {
			h.Ulimits = append(h.Ulimits, ulimit{name, n, n})
		}
	}
	user := fmt.Sprintf("%d:%d", l.user, l.group)
	if l.about.has("rootless") {
		h.OomScoreAdj = 0
		if l.about.Podman {
			h.UsernsMode = "keep-id"
		} else {
			// Root inside is the server's user outside.
			user = "0:0"
		}
	}
	c := container{
		Image: l.image, Entrypoint: []string{jail.EngineHold}, Cmd: []string{},
		Env:  []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB"},
		User: user, WorkingDir: "/", Labels: l.labels, StopSignal: "SIGKILL",
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true, HostConfig: h,
	}
	if !l.about.Podman { // Podman would create a timer for it
		c.Healthcheck = &healthcheck{[]string{"NONE"}}
	}
	if p.Network != sandbox.NetworkHost {
		c.Hostname = "sandbox"
	}
	return c, nil
}

// sparePids are reserved for process 1 and the parents of some commands.
const sparePids = 64

func size(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(",size=%d", n)
}

// mounts returns the thread's folders and the owner's binds, but no programs of the host, which the image replaces.
// Secrets below a folder are covered.
func (l *containerLaunch) mounts() ([]containerMount, error) {
	var all []containerMount
	add := func(b jail.Bind) error {
		src, err := l.host(b.Src)
		if err != nil {
			return err
		}
		m := containerMount{Type: "bind", Source: src, Target: b.Dst, ReadOnly: !b.Write}
		m.BindOptions.Propagation = "rprivate"
		all = append(all, m)
		return nil
	}
	var shown []jail.Bind
	for _, b := range l.spec.Binds {
		if l.isOwn(b.Dst) {
			shown = append(shown, b)
		}
	}
	for _, b := range append(shown, l.ownMounts()...) {
		if err := add(b); err != nil {
			return nil, err
		}
	}
	for _, at := range l.spec.Masks {
		i := slices.IndexFunc(shown, func(b jail.Bind) bool { return files.Under(b.Dst, at) })
		if i < 0 {
			continue
		}
		info, err := os.Lstat(shown[i].Src + at[len(shown[i].Dst):])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("hide %s: %w", at, err)
		}
		if info.IsDir() {
			if err := add(jail.Bind{Src: l.empty, Dst: at}); err != nil {
				return nil, err
			}
			continue
		}
		m := containerMount{Type: "bind", Source: os.DevNull, Target: at, ReadOnly: true}
		m.BindOptions.Propagation = "rprivate"
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b containerMount) int {
		return strings.Count(a.Target, "/") - strings.Count(b.Target, "/")
	})
	return all, nil
}

// isOwn reports whether a place inside is not one of the host's programs.
func (l *containerLaunch) isOwn(dst string) bool {
	if dst == jail.Home || dst == files.Skills || files.Under(files.Skills, dst) || files.Under(files.UserData, dst) {
		return true
	}
	return slices.ContainsFunc(l.policy.Binds, func(b sandbox.Bind) bool { return filepath.Clean(b.Path) == dst })
}

// inside returns the user id that commands see themselves as.
func (l *containerLaunch) inside() int {
	if l.about.has("rootless") && !l.about.Podman {
		return 0
	}
	return l.user
}
