package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"fawn/agent/mcp/mcptest"
	"fawn/web/e2e/scriptmodel"
)

// limitChaos is the maximum delay in ms of a run's first model call caused by bad MCP servers.
const limitChaos = 50

// chaos measures the delay of a run's first model call caused by each kind of bad MCP server, alternating with a Fawn
// without any: right after a start, and later.
func (b *bench) chaos(ctx context.Context) error {
	servers := map[string]any{}
	for _, kind := range mcptest.Kinds() {
		servers[kind] = map[string]any{"command": b.Helper[0], "args": append(b.Helper[1:], "mcp", kind)}
	}
	file, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return err
	}
	with, without := filepath.Join(b.Dir, "chaos"), filepath.Join(b.Dir, "calm")
	if err := errors.Join(os.MkdirAll(with, 0o700),
		os.WriteFile(filepath.Join(with, "extensions_config.json"), file, 0o600)); err != nil {
		return err
	}
	early, later := map[string][]float64{}, map[string][]float64{}
	for round := range b.rounds(5) + 1 {
		first, rest, err := b.chaosRound(ctx, without, with)
		if err != nil {
			return err
		}
		for _, data := range []string{without, with} {
			later[data] = append(later[data], rest[data]...)
			if round > 0 { // the very first run waits for new servers
				early[data] = append(early[data], first[data])
			}
		}
	}
	title := func(when string) string {
		return fmt.Sprintf("first model call beside %d bad MCP servers, over none, %s", len(servers), when)
	}
	b.add(title("p50"), "ms", quantile(later[with], 0.5)-quantile(later[without], 0.5), math.NaN(), limitChaos)
	b.add(title("p95"), "ms", quantile(later[with], 0.95)-quantile(later[without], 0.95), math.NaN(), limitChaos)
	b.add(title("right after a start"), "ms", quantile(early[with], 0.5)-quantile(early[without], 0.5), math.NaN(),
		math.NaN()) // baseline: starting as many processes
	return nil
}

// chaosRound starts a Fawn for each data folder, and runs them in turns.
func (b *bench) chaosRound(ctx context.Context, folders ...string) (first map[string]float64, rest map[string][]float64,
	err error) {
	started := make([]*Target, len(folders))
	first, rest = map[string]float64{}, map[string][]float64{}
	for i, data := range folders {
		t, p, err := b.server(ctx, filepath.Base(data), data)
		if err != nil {
			return nil, nil, err
		}
		defer p.Stop()
		if first[data], err = b.firstCall(ctx, t); err != nil {
			return nil, nil, err
		}
		started[i] = t
	}
	for range 20 {
		for i, data := range folders {
			took, err := b.firstCall(ctx, started[i])
			if err != nil {
				return nil, nil, err
			}
			rest[data] = append(rest[data], took)
		}
	}
	return first, rest, nil
}

// firstCall returns the delay in ms between sending a message and the model call.
func (b *bench) firstCall(ctx context.Context, t *Target) (float64, error) {
	thread, err := t.Thread(ctx)
	if err != nil {
		return 0, err
	}
	if err := b.script(ctx, http.MethodDelete, nil); err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := t.Run(ctx, thread, "echo 3 tokens at 0 tok/s"); err != nil {
		return 0, err
	}
	var sent []scriptmodel.Request
	if err := b.script(ctx, http.MethodGet, &sent); err != nil {
		return 0, err
	}
	if len(sent) == 0 {
		return 0, fmt.Errorf("%s: the model was not called", t.Name)
	}
	return float64(sent[0].At.Sub(begin)) / 1e6, nil
}
