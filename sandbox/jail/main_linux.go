package jail

import (
	"embed"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Names under which the program is started for a role. The role is the name
// itself: no flag of a user reaches it.
const (
	RoleLaunch  = "fawn-sandbox-launch"
	RoleSetup   = "fawn-sandbox-setup"
	RoleVersion = "fawn-sandbox-version"
	RoleCanary  = "fawn-sandbox-canary"
	RoleKeeper  = "fawn-sandbox-keeper"
	RoleEnd     = "fawn-sandbox-end"

	roleSupervisor = "sandbox"
	rolePlain      = "sandbox-plain"
	roleCall       = "sandbox-call"
)

// Main takes over the process if it was started for a role, and does not return
// then. It costs nothing otherwise.
func Main() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case RoleLaunch:
		launchMain()
	case RoleSetup:
		setupMain()
	case roleSupervisor:
		if os.Getpid() != 1 {
			return
		}
		supervisorMain(false)
	case rolePlain:
		supervisorMain(true)
	case RoleKeeper:
		keeperMain()
	case RoleEnd:
		endMain()
	case roleCall:
		callMain()
	case EngineHold:
		holdMain()
	case EngineCall:
		engineCallMain()
	case RoleVersion:
		if _, err := os.Stdout.WriteString(Version()); err != nil {
			os.Exit(1)
		}
	case RoleCanary:
		// As open to others as an ordinary program.
		if unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) != nil {
			os.Exit(1)
		}
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			os.Exit(1)
		}
	default:
		return
	}
	os.Exit(0)
}

//go:embed *.go
var sources embed.FS

// Version returns a digest of this package's sources: a server and a program that were built from different ones do not
// understand each other.
func Version() string {
	h := fnv.New64a()
	names, err := fs.Glob(sources, "*.go")
	if err != nil {
		return "unknown"
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := sources.ReadFile(name)
		if err != nil {
			return "unknown"
		}
		h.Write([]byte(name))
		h.Write(b)
	}
	return strconv.FormatUint(h.Sum64(), 16)
}
