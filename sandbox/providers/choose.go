package providers

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"fawn/sandbox"
)

// candidate is a provider this build knows.
type candidate struct {
	name string
	open func(sandbox.Config) (sandbox.Provider, error)
	// auto says whether the provider may be chosen without being named.
	auto func(sandbox.Config) bool
	// without are layers of namespaces that this kind of provider cannot have.
	without []string
}

// New opens the configured provider. Auto takes the first whose whole probe
// passes, the strongest first. Where that leaves none, or the named one cannot
// work here, the answer is a provider that runs nothing and says why: never
// another, weaker one. Errors match ErrConfig.
func New(ctx context.Context, cfg sandbox.Config) (sandbox.Provider, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Provider == sandbox.ProviderOff {
		return newOff(), nil
	}
	return choose(ctx, cfg, candidates())
}

// choose probes one candidate after the other.
func choose(ctx context.Context, cfg sandbox.Config, all []candidate) (sandbox.Provider, error) {
	var tried []sandbox.Report
	for _, c := range all {
		if cfg.Provider != c.name && (cfg.Provider != sandbox.ProviderAuto || !c.auto(cfg)) {
			continue
		}
		p, err := c.open(cfg)
		if err != nil {
			return nil, err
		}
		report := p.Probe(ctx)
		if lacks := missing(cfg, report, c.without); cfg.Provider == sandbox.ProviderAuto && report.OK && lacks != "" {
			report.OK, report.Reason = false, "layers missing: "+lacks
			report.Hint = "change sandbox.require_layers, or name the provider in sandbox.provider"
		}
		if report.OK {
			level := slog.LevelInfo
			if len(report.Degraded) > 0 || c.name == sandbox.ProviderHost {
				level = slog.LevelWarn
			}
			cfg.Log.Log(ctx, level, "sandbox ready", "provider", c.name, "layers", strings.Join(report.Layers, " "),
				"degraded", strings.Join(report.Degraded, "; "))
			if len(tried) > 0 {
				p = fallback{p, tried}
			}
			return p, nil
		}
		cfg.Log.Warn("sandbox provider unavailable", "provider", c.name, "reason", report.Reason, "step", report.Step,
			"errno", report.Errno, "detail", report.Detail, "hint", report.Hint)
		if err := p.Close(ctx); err != nil {
			return nil, fmt.Errorf("close provider %s: %w", c.name, err)
		}
		tried = append(tried, report)
	}
	if len(tried) == 0 {
		tried = []sandbox.Report{{Provider: cfg.Provider, Reason: "not supported on this system"}}
	}
	return newOff(tried...), nil
}

// fallback is a provider that auto took after stronger ones, and says why.
type fallback struct {
	sandbox.Provider
	tried []sandbox.Report
}

func (f fallback) Probe(ctx context.Context) sandbox.Report {
	r := f.Provider.Probe(ctx)
	r.Tried = f.tried
	return r
}

// missing names the required layers that a report lacks. Only an owner's own
// list asks for what the kind of provider cannot have.
func missing(c sandbox.Config, r sandbox.Report, without []string) string {
	var lacks []string
	own := !slices.Equal(c.RequireLayers, sandbox.DefaultConfig().RequireLayers)
	for _, want := range c.RequireLayers {
		if !slices.Contains(r.Layers, want) && (own || !slices.Contains(without, want)) {
			lacks = append(lacks, want)
		}
	}
	return strings.Join(lacks, ", ")
}

func always(sandbox.Config) bool { return true }
func never(sandbox.Config) bool  { return false }
