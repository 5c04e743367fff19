package load

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/providers"
)

// Limits of sandboxes.
const (
	limitWarmTimes = 3   // factor over bare bash
	limitWarmMore  = 3   // or ms more than bare bash
	limitColdMore  = 20  // ms more than bare bash
	limitSandboxes = 400 // MB of idleSandboxes in total
	idleSandboxes  = 50
)

// sandboxes measures commands in sandboxes, in turns with bare bash and bubblewrap.
func (b *bench) sandboxes(ctx context.Context) (err error) {
	cfg := sandbox.DefaultConfig()
	cfg.Provider, cfg.MaxSandboxes = sandbox.ProviderNamespace, idleSandboxes+2
	cfg.Dirs.Root = filepath.Join(b.Dir, "sandboxes")
	p, err := providers.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := p.Close(context.WithoutCancel(ctx)); err == nil {
			err = closeErr
		}
	}()
	none := math.NaN()
	if r := p.Probe(ctx); !r.OK {
		b.sandboxRow(r.String(), "", none, none, none)
		return nil
	}
	warm, err := run(ctx, p, "warm", sandbox.LifetimeThread)
	if err != nil {
		return err
	}
	cold, err := run(ctx, p, "cold", sandbox.LifetimeCall)
	if err != nil {
		return err
	}
	bubblewrap, why := bubblewrap(ctx)
	bare := program("bash", "-c", "true")
	took := [4][]float64{}
	for range b.rounds(10) {
		for i, do := range []func(context.Context) error{bare, bubblewrap, warm, cold} {
			if do == nil {
				continue
			}
			// The kernel removes the previous kind's namespaces in the background.
			if err := sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			for n := range 22 {
				start := time.Now()
				if err := do(ctx); err != nil {
					return err
				}
				if n >= 2 {
					took[i] = append(took[i], float64(time.Since(start))/1e6)
				}
			}
		}
	}
	base := quantile(took[0], 0.5)
	limits := []float64{none, none, limitWarmTimes*base + limitWarmMore, base + limitColdMore}
	for i, name := range []string{"bare bash", "bubblewrap", "warm call", "cold call"} {
		if len(took[i]) == 0 {
			b.sandboxRow(name+": "+why, "ms", none, none, none)
			continue
		}
		b.sandboxRow(name+", p50", "ms", quantile(took[i], 0.5), base, limits[i])
		b.sandboxRow(name+", p99", "ms", quantile(took[i], 0.99), quantile(took[0], 0.99), none)
	}
	return b.idleSandboxes(ctx, p, cfg.Dirs.Root)
}

func (b *bench) sandboxRow(name, unit string, ours, bare, limit float64) {
	b.report.Sandboxes = append(b.report.Sandboxes, Row{name, unit, ours, bare, limit, false})
}

// run returns a function that runs a no-op command in a thread's sandbox.
func run(ctx context.Context, p sandbox.Provider, thread, lifetime string) (func(context.Context) error, error) {
	policy := sandbox.DefaultPolicy()
	policy.Lifetime = lifetime
	s, err := p.Acquire(ctx, sandbox.ThreadRef{ID: thread}, policy)
	return func(ctx context.Context) error {
		res, err := s.Exec(ctx, sandbox.ExecReq{Command: "true"})
		if err == nil && res.ExitCode != 0 {
			err = fmt.Errorf("the command ended with %d: %s%s", res.ExitCode, res.Output, res.Errors)
		}
		return err
	}, err
}

func program(name string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w %s", name, err, out)
		}
		return nil
	}
}

// bubblewrap returns the equivalent with bubblewrap, or nil and the reason.
func bubblewrap(ctx context.Context) (do func(context.Context) error, why string) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		return nil, "not installed"
	}
	do = program("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "bash",
		"-c", "true")
	if err := do(ctx); err != nil {
		return nil, "does not work here"
	}
	return do, ""
}

// idleSandboxes measures the cost of idle sandboxes.
func (b *bench) idleSandboxes(ctx context.Context, p sandbox.Provider, root string) error {
	var all sync.WaitGroup
	errs := make(chan error, idleSandboxes)
	start := time.Now()
	for i := range idleSandboxes {
		all.Go(func() {
			do, err := run(ctx, p, fmt.Sprint("idle-", i), sandbox.LifetimeThread)
			if err == nil {
				err = do(ctx)
			}
			errs <- err
		})
	}
	all.Wait()
	took := float64(time.Since(start)) / 1e6
	for range idleSandboxes {
		if err := <-errs; err != nil {
			return err
		}
	}
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	sum, processes, exact := int64(0), 0, true
	names, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(info, []byte(filepath.Base(filepath.Dir(root))+"/sandboxes/threads/idle-")) {
			continue
		}
		processes++
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return err
		}
		m, err := memory(pid)
		if err != nil { // only root may read it
			exact = false
			m.PSS = resident(pid)
		}
		sum += m.PSS
	}
	if processes < idleSandboxes {
		return fmt.Errorf("%d of %d sandboxes run", processes, idleSandboxes)
	}
	kind := "PSS"
	if !exact {
		kind = "resident"
	}
	b.sandboxRow(fmt.Sprintf("%d sandboxes at once, started", idleSandboxes), "ms", took, math.NaN(), math.NaN())
	b.sandboxRow(fmt.Sprintf("%d idle sandboxes, %s, %d processes", idleSandboxes, kind, processes),
		"MB", float64(sum)/1e6, math.NaN(), limitSandboxes)
	return nil
}

// resident returns a process's resident memory including shared pages, in bytes.
func resident(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	if f := strings.Fields(string(b)); len(f) > 1 {
		if pages, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return 0
}
