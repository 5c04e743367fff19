package ns

import (
	"context"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/pool"
)

// Filter is the program of system calls for a policy.
func Filter(allow []string, unnamedFiles bool) ([]bpf.Instruction, error) {
	rules, err := refusals(FilterOptions{Allow: allow, UnnamedFiles: unnamedFiles})
	if err != nil {
		return nil, err
	}
	return filterProgram(rules), nil
}

// FilterOf is the program of system calls with more options.
func FilterOf(o FilterOptions) ([]bpf.Instruction, error) {
	rules, err := refusals(o)
	if err != nil {
		return nil, err
	}
	return filterProgram(rules), nil
}

// OpenCgroup makes the control group of a sandbox as the host described in proc
// would have it.
func OpenCgroup(proc string, l sandbox.Limits) (dir string, err error) {
	c, err := openCgroups(proc)
	if err != nil {
		return "", err
	}
	g, err := c.Create(l)
	if err != nil {
		return "", err
	}
	return g.dir, unix.Close(g.fd)
}

// FindHidden looks for private files.
var FindHidden = findHidden

// FindOnce looks for private files, once after Keep; Forget takes Keep back.
var (
	FindOnce = findOnce
	Forget   = func() { keep.Store(false) }
)

// SharedFilter is the program of system calls without namespaces.
func SharedFilter(allow []string) ([]bpf.Instruction, error) {
	rules, err := refusals(FilterOptions{Allow: allow, Shared: true})
	if err != nil {
		return nil, err
	}
	return filterProgram(rules), nil
}

// Start starts the box of a thread as the pool of a provider of New does.
func Start(ctx context.Context, p sandbox.Provider, thread string, policy sandbox.Policy) (pool.Box, error) {
	return p.(*provider).start(ctx, thread, policy)
}

// Copied returns why no launcher started a box.
func Copied(b pool.Box) error { return b.(*Box).copied }

// UseGroup makes a folder the one in which a provider makes the control groups of sandboxes.
func UseGroup(p sandbox.Provider, dir string) { p.(*provider).Groups = &Cgroups{dir: dir} }
