package providers

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"fawn/sandbox"
)

// candidate is a provider of this build.
type candidate struct {
	name string
	open func(sandbox.Config) (sandbox.Provider, error)
	// auto reports whether the provider may be chosen automatically.
	auto func(sandbox.Config) bool
	// without are layers of namespaces that this kind of provider cannot have.
	without []string
}

// New opens the configured provider. Auto selects the strongest whose probe passes completely. If there is none, or the
// named one can't work here, it returns a provider that refuses to run anything and gives the reason: never a weaker
// one. Errors match ErrConfig.
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

// fallback is a provider selected after stronger ones failed, with the reasons.
type fallback struct {
	sandbox.Provider
	tried []sandbox.Report
}

func (f fallback) Probe(ctx context.Context) sandbox.Report {
	r := f.Provider.Probe(ctx)
	r.Tried = f.tried
	return r
}

// missing returns the required layers that a report lacks. Only an owner's explicit list may require layers that the
// provider can't have.
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
