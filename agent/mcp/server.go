package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Transports.
const (
	Stdio = "stdio"
	SSE   = "sse"
	HTTP  = "http" // streamable
)

// Server is the configuration of one server.
type Server struct {
	Name    string
	Off     bool   // switched off by its owner
	Missing string // why it cannot be used; empty = it can
	Type    string // Stdio, SSE or HTTP

	Command string
	Args    []string // paths below /mnt/user-data mean the thread's files
	Env     map[string]string

	Sandboxed bool // its process runs in a sandbox
	Folders   []Folder
	Hosts     []string // reachable hosts; none permits no connections

	URL string
	// PublicOnly restricts the server to addresses permitted by Options.Public.
	PublicOnly bool
	Headers    map[string]string
	OAuth      *OAuth
	Client     *Client // for logins; nil registers itself

	Routing      Routing
	ToolRouting  map[string]Routing
	NoPrefix     bool          // tools keep the server's names
	CallTimeout  time.Duration // limit of one call; 0 = ten minutes without progress
	Sampling     bool          // it may ask for model calls
	StartTimeout time.Duration // 0 = ten seconds without progress, a minute for launchers that download

	Secrets []string // values that must not be shown
}

// Routing configures whether and for which requests a tool is preferred.
type Routing struct {
	Prefer   bool
	Priority int
	Keywords []string
}

// startTime returns the limits of a server's start: without activity, and in total.
func (s Server) startTime() (quiet, most time.Duration) {
	switch {
	case s.StartTimeout > 0:
		return s.StartTimeout, s.StartTimeout
	case s.Type == Stdio && downloads(s.Command):
		return time.Minute, 5 * time.Minute // network servers may be slow and silent
	case s.Type == Stdio:
		return 10 * time.Second, 2 * time.Minute
	}
	return 30 * time.Second, 30 * time.Second
}

// downloads reports whether a command gets the server over the network before it starts it.
func downloads(command string) bool {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(command, `\`, "/")), ".exe")
	return slices.Contains([]string{"npx", "npx.cmd", "bunx", "pnpm", "pnpx", "yarn", "uvx", "uv", "pipx", "docker",
		"podman", "dnx", "deno"}, name)
}

// same reports whether two configurations connect to the same server in the same way.
func (s Server) same(o Server) bool {
	s.Routing, s.ToolRouting, s.NoPrefix = o.Routing, o.ToolRouting, o.NoPrefix // these only affect the offer
	return reflect.DeepEqual(s, o)
}

// signature identifies a server's configuration in the stored state. It excludes values of variables and headers.
func (s Server) signature() string {
	b, err := json.Marshal([]any{s.Type, s.Command, s.Args, s.URL, slices.Sorted(maps.Keys(s.Env)),
		slices.Sorted(maps.Keys(s.Headers))})
	if err != nil {
		return "" // text always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// routing returns the routing of a tool.
func (s Server) routing(tool string) Routing {
	if r, ok := s.ToolRouting[tool]; ok {
		return r
	}
	return s.Routing
}
