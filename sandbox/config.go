package sandbox

import (
	"fmt"
	"log/slog"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"fawn/sandbox/files"
)

// Names of providers.
const (
	ProviderAuto      = "auto"
	ProviderNamespace = "namespace"
	ProviderLandlock  = "landlock"
	ProviderDocker    = "docker"
	ProviderSeatbelt  = "seatbelt"
	ProviderHost      = "host"
	ProviderOff       = "off"
)

// Modes of the network inside.
const (
	// NetworkNone provides loopback only.
	NetworkNone = "none"
	// NetworkProxy is loopback and a listener there, see Config.Proxy.
	NetworkProxy = "proxy"
	// NetworkHost is the network of the host, loopback included.
	NetworkHost = "host"
)

// Lifetimes of a sandbox.
const (
	LifetimeThread = "thread"
	LifetimeCall   = "call"
)

// Config describes the host to a provider. Start from DefaultConfig.
type Config struct {
	// Provider is one of the Provider constants.
	Provider string
	// Dirs are the folders of the threads; Dirs.Mounts is shown read-only.
	Dirs files.Dirs
	// Secrets are files and folders of the host that stay hidden even if a folder
	// above them is shown. Dirs.Root, the home and the working folder of the
	// server always belong to them.
	Secrets []string
	// Strict refuses a provider with any degraded layer.
	Strict bool
	// RequireLayers makes auto skip a provider that lacks one of them. The list of DefaultConfig doesn't apply to
	// providers without namespaces, so that auto can still fall back to them; any other list applies literally.
	RequireLayers []string
	// AllowHostBash must be set for ProviderHost, which isolates nothing.
	AllowHostBash bool
	// AllowEngine lets auto use a container engine.
	AllowEngine bool
	// MaxSandboxes limits concurrent sandboxes; idle ones are stopped to make room.
	MaxSandboxes int
	// Shared means that several people use the server: none of them gets all places.
	Shared bool
	// IdleTimeout stops a sandbox without background processes; BackgroundTimeout one with them.
	IdleTimeout, BackgroundTimeout time.Duration
	// UIDBase is the first of the user ids that threads get when the server is
	// root; it uses 65536 of them.
	UIDBase int
	// Engine configures ProviderDocker.
	Engine Engine
	// Proxy serves the listener that commands reach at 127.0.0.1:3128 in
	// NetworkProxy mode, until it is closed. It is called once for each start of a
	// sandbox, in its own goroutine, which the sandbox waits for. Nil means that
	// nothing leaves.
	Proxy func(thread string, l net.Listener)
	// Audit gets a record of each command after it ended; it must not block.
	Audit func(Record)
	// Started is called with the duration of a sandbox's start, or its error; nil = unused.
	Started func(took time.Duration, err error)
	// Kept is called when a permanent sandbox has started or ended; nil = unused. It must not block, and an end may be
	// reported after the next start.
	Kept func(thread string, starts bool)
	// Log receives messages for the owner.
	Log *slog.Logger

	// TestOnly is for tests; servers leave it empty.
	TestOnly TestOnly
}

// TestOnly are faults and replacements that tests ask for.
type TestOnly struct {
	// Init is a program to start in sandboxes in place of the embedded one.
	Init string
	// FailStep fails with the error number FailErrno.
	FailStep  string
	FailErrno int
	// KillTime limits the time to end a command.
	KillTime time.Duration
	// Machine is the memory of the machine, in bytes.
	Machine int64
}

// Engine configures the container engine.
type Engine struct {
	// Socket is the path at which it listens; empty means DOCKER_HOST, else the
	// usual places of Docker and Podman.
	Socket string
	// Image must have bash; empty means a small one of Debian.
	Image string
	// HostDataDir is the engine's path of Dirs.Root if the server runs in a container.
	HostDataDir string
	// Pull lets a probe download a missing image.
	Pull bool
}

// Policy limits the commands of a thread.
type Policy struct {
	// Lifetime is LifetimeThread or LifetimeCall.
	Lifetime string
	// Timeout ends a command without its own time limit.
	Timeout time.Duration
	// OutputChars are kept of a command's output for the result; 0 keeps as much
	// as fits in 4 MiB.
	OutputChars int
	// StreamBytes at most are given to ExecReq.OnOutput.
	StreamBytes int64
	// Limits bound one sandbox.
	Limits Limits
	// Network is one of the Network constants.
	Network string
	// SeccompAllow names system calls permitted despite the filter's defaults.
	SeccompAllow []string
	// Binds are further folders of the host.
	Binds []Bind
	// Project is the folder that is shown at files.Project; pools find it out themselves.
	Project Bind
	// UploadsReadOnly keeps commands from changing uploads.
	UploadsReadOnly bool
	// Env adds variables for every command.
	Env map[string]string
	// Proxy replaces Config.Proxy; nil keeps it.
	Proxy func(thread string, l net.Listener)
}

// Limits bound one sandbox; zero means no limit of that kind.
type Limits struct {
	Memory    int64         // bytes, of all processes with /tmp and /dev/shm; at most half the machine's
	Pids      int           // processes and threads
	FileSize  int64         // bytes, of one file
	OpenFiles int           // of one process
	Tmp, Shm  int64         // bytes
	Disk      int64         // bytes, of the thread's files and home
	CPU       float64       // cores; needs a delegated cgroup
	CPUTime   time.Duration // of one process
}

// Bind shows the folder Dir of the host at Path inside.
type Bind struct {
	Dir, Path string
	ReadOnly  bool
}

// DefaultConfig returns the configuration without a file. Dirs must be set.
func DefaultConfig() Config {
	return Config{
		Provider:          ProviderAuto,
		RequireLayers:     []string{"mountns", "pidns", "no_new_privs"},
		MaxSandboxes:      32,
		IdleTimeout:       10 * time.Minute,
		BackgroundTimeout: time.Hour,
		UIDBase:           231072,
	}
}

// DefaultPolicy returns the policy without a file.
func DefaultPolicy() Policy {
	return Policy{
		Lifetime:    LifetimeThread,
		Timeout:     10 * time.Minute,
		OutputChars: 20000,
		StreamBytes: 1 << 20,
		Network:     NetworkProxy,
		Limits: Limits{
			Memory: 1 << 30, Pids: 256, FileSize: 1 << 30, OpenFiles: 4096,
			Tmp: 256 << 20, Shm: 64 << 20, Disk: 2 << 30, CPUTime: time.Hour,
		},
	}
}

// Validate rejects options that no provider supports.
func (c Config) Validate() error {
	providers := []string{ProviderAuto, ProviderNamespace, ProviderLandlock, ProviderDocker, ProviderSeatbelt,
		ProviderHost, ProviderOff}
	switch {
	case !slices.Contains(providers, c.Provider):
		return fmt.Errorf("%w: provider %q is unknown, want one of %s", ErrConfig, c.Provider,
			strings.Join(providers, ", "))
	case c.Provider == ProviderHost && !c.AllowHostBash:
		return fmt.Errorf("%w: provider host runs commands without any isolation; set allow_host_bash too if you want that",
			ErrConfig)
	case c.Dirs.Root == "":
		return fmt.Errorf("%w: the data folder is not set", ErrConfig)
	case c.MaxSandboxes < 1:
		return fmt.Errorf("%w: max_sandboxes is %d", ErrConfig, c.MaxSandboxes)
	case c.UIDBase < 1000:
		return fmt.Errorf("%w: uid_base is %d, which belongs to the system", ErrConfig, c.UIDBase)
	}
	return nil
}

// Validate rejects options that no sandbox supports. Paths of binds are checked when the sandbox starts.
func (p Policy) Validate() error {
	switch {
	case p.Lifetime != LifetimeThread && p.Lifetime != LifetimeCall:
		return fmt.Errorf("%w: lifetime %q is unknown, want thread or call", ErrConfig, p.Lifetime)
	case p.Network != NetworkNone && p.Network != NetworkProxy && p.Network != NetworkHost:
		return fmt.Errorf("%w: network mode %q is unknown, want none, proxy or host", ErrConfig, p.Network)
	case p.Timeout <= 0:
		return fmt.Errorf("%w: the command timeout must be more than zero", ErrConfig)
	}
	for _, b := range p.Binds {
		if err := b.validate(); err != nil {
			return err
		}
	}
	for name := range p.Env {
		if err := ValidVariable(name); err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	return nil
}

// validate rejects places that the sandbox creates itself.
func (b Bind) validate() error { return CheckMountPath(b.Path) }

// CheckMountPath reports whether a folder can be shown at a path of the sandbox. The error is an ErrConfig.
func CheckMountPath(p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%w: mount %q is not a clean absolute path", ErrConfig, p)
	}
	if p == "/mnt" || p == "/home" {
		return fmt.Errorf("%w: mount %s hides folders of the sandbox", ErrConfig, p)
	}
	for _, taken := range []string{
		"/", files.UserData, files.Skills, "/home/agent", "/.sbx",
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/sys",
		"/tmp", "/usr", "/var",
	} {
		if p == taken || taken != "/" && files.Under(taken, p) {
			return fmt.Errorf("%w: mount %s is inside %s, which is reserved for the sandbox", ErrConfig, p, taken)
		}
	}
	return nil
}
