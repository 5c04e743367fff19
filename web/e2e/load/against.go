package load

import (
	"context"
	"math"
	"os"
	"slices"
)

// worse is the factor over an earlier binary's figure that counts as a regression.
const worse = 1.1

// against measures this binary and an earlier one in turns, and fails if this one takes over a tenth more. Figures are
// medians over rounds of the two results in the same round; the relay's would cancel out in their ratio.
func (b *bench) against(ctx context.Context) error {
	if b.Base == "" {
		return nil
	}
	defer b.short()()
	binaries := []string{b.Bin, b.Base}
	measures := []struct {
		name, unit string
		noise      float64 // factor below which differences are noise
		of         func(run, token counters) float64
	}{
		{"a short run of 16 at once, CPU", "µs", 0, func(r, _ counters) float64 { return r.cpu }},
		{"a short run of 16 at once, allocations", "1", 0, func(r, _ counters) float64 { return r.allocs }},
		{"a short run of 16 at once, allocated", "KB", 0, func(r, _ counters) float64 { return r.bytes / 1e3 }},
		{"a short run of 16 at once, written to the disk", "KB", 0, func(r, _ counters) float64 { return r.written / 1e3 }},
		{"a short run of 16 at once, queries", "1", 1, func(r, _ counters) float64 { return r.queries }},
		{"a short run of 16 at once, statements of commits", "1", 1, func(r, _ counters) float64 { return r.statements }},
		{"a token, CPU", "µs", 0, func(_, k counters) float64 { return k.cpu }},
		{"a token, allocations", "1", 0.5, func(_, k counters) float64 { return k.allocs }},
		{"a token, allocated", "bytes", 50, func(_, k counters) float64 { return k.bytes }},
	}
	base, ratios := make([][]float64, len(measures)), make([][]float64, len(measures))
	for round := range b.rounds(7) {
		order := slices.Clone(binaries)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		figures := map[string][]float64{}
		for _, bin := range order {
			run, token, err := b.costs(ctx, bin)
			if err != nil {
				return err
			}
			for _, m := range measures {
				figures[bin] = append(figures[bin], m.of(run, token))
			}
		}
		for i := range measures {
			base[i] = append(base[i], figures[b.Base][i])
			ratios[i] = append(ratios[i], figures[b.Bin][i]/figures[b.Base][i])
		}
	}
	for i, m := range measures {
		was, ratio := quantile(base[i], 0.5), quantile(ratios[i], 0.5)
		if was == 0 || math.IsNaN(ratio) { // an earlier binary lacks this count
			continue
		}
		b.report.Against = append(b.report.Against, Row{m.name, m.unit, was * ratio, was, was*worse + m.noise, false})
	}
	return nil
}

// costs measures a fresh server of a binary, so that nothing that earlier rounds left falls into a later one.
func (b *bench) costs(ctx context.Context, bin string) (run, token counters, err error) {
	data, err := os.MkdirTemp(b.Dir, "against-")
	if err != nil {
		return run, token, err
	}
	defer os.RemoveAll(data)
	t, p, err := b.serverOf(ctx, bin, "against", data)
	if err != nil {
		return run, token, err
	}
	defer p.Stop()
	if run, err = perRun(ctx, t, 160, 16); err != nil {
		return run, token, err
	}
	token, err = perToken(ctx, t, 1000)
	return run, token, err
}
