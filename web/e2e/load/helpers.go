package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"
)

// Limits of a server with many active helpers.
const (
	limitAnswer      = 100 // ms, p99 of GET /ok and of a page
	limitHelpersOver = 150 // MB of resident memory over the baseline
)

// helpers runs 32 helpers concurrently, four in each of eight runs with full streams, and measures the server's
// response times meanwhile, and its memory.
func (b *bench) helpers(ctx context.Context) error {
	const runs, each, rate = 8, 4, 50
	data, err := os.MkdirTemp(b.Dir, "helpers-")
	if err != nil {
		return err
	}
	t, p, err := b.server(ctx, "helpers", data)
	if err != nil {
		return err
	}
	defer p.Stop()
	if _, err := firstTokens(ctx, t, 3); err != nil { // warm up everything an answer needs
		return err
	}
	idle, err := memory(t.PID)
	if err != nil {
		return err
	}
	message, err := sending(each, b.Seconds*rate, rate)
	if err != nil {
		return err
	}
	working, done := context.WithCancel(ctx)
	defer done()
	took := map[string][]float64{"/ok": nil, "/workspace/chats/new": nil}
	var asked error
	var asking sync.WaitGroup
	asking.Go(func() { asked = t.askAll(working, took) })
	errs := make([]error, runs)
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range runs {
		wg.Go(func() { errs[i] = t.sendHelpers(ctx, message, each) })
	}
	wg.Wait()
	elapsed := time.Since(begin)
	done()
	asking.Wait()
	if err := errors.Join(append(errs, asked)...); err != nil {
		return err
	}
	after, err := memory(t.PID)
	if err != nil {
		return err
	}
	none := math.NaN()
	title := func(what string) string { return fmt.Sprintf("%d helpers at once, %s", runs*each, what) }
	b.add(title("GET /ok p99"), "ms", quantile(took["/ok"], 0.99), none, limitAnswer)
	b.add(title("a page p99"), "ms", quantile(took["/workspace/chats/new"], 0.99), none, limitAnswer)
	b.add(title("peak memory over idle, RSS"), "MB", float64(after.Peak-idle.RSS)/1e6, none, limitHelpersOver)
	b.add(title("time over that of their words"), "s", elapsed.Seconds()-float64(b.Seconds), none, none)
	return nil
}

// sending returns a message whose answer starts helpers, each with an answer of this length.
func sending(helpers, tokens, rate int) (string, error) {
	type call struct {
		Name string            `json:"name"`
		Args map[string]string `json:"args"`
	}
	var calls []call
	for i := range helpers {
		calls = append(calls, call{"task", map[string]string{"description": fmt.Sprint("part ", i),
			"subagent_type": "general-purpose",
			"prompt":        fmt.Sprintf("echo %d tokens at %d tok/s", tokens, rate)}})
	}
	script, err := json.Marshal(map[string]any{"turns": []any{map[string]any{"tool_calls": calls},
		map[string]any{"text": "All is said."}}})
	return "SCRIPT" + string(script), err
}

// sendHelpers runs a message on a new thread, and reads all its events.
func (t *Target) sendHelpers(ctx context.Context, message string, helpers int) error {
	thread, err := t.Thread(ctx)
	if err != nil {
		return err
	}
	res, err := t.post(ctx, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "lead_agent", "stream_mode": []string{"custom", "messages-tuple"}, "stream_subgraphs": true,
		"context": map[string]any{"subagent_enabled": true, "max_concurrent_subagents": helpers},
		"input":   map[string]any{"messages": []any{map[string]any{"type": "human", "content": message}}}})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	ended := 0
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"type":"task_completed"`) {
			ended++
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read a run with helpers: %w", err)
	}
	if ended != helpers {
		return fmt.Errorf("%d of %d helpers reported", ended, helpers)
	}
	return nil
}

// askAll requests each of the paths repeatedly until ctx ends, and records each duration in ms.
func (t *Target) askAll(ctx context.Context, took map[string][]float64) error {
	for ctx.Err() == nil {
		for path := range took {
			begin := time.Now()
			err := t.open(ctx, path)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			took[path] = append(took[path], float64(time.Since(begin))/1e6)
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			return nil
		}
	}
	return nil
}
