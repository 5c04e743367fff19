package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// limitRecovery limits the start after a crash with a thousand interrupted runs, in ms.
const limitRecovery = 2000

// recovery kills a server during many answers and measures how soon the next one accepts requests
// again, with all runs resumed.
func (b *bench) recovery(ctx context.Context) error {
	n := 1000
	if b.Quick {
		n = 100
	}
	data := filepath.Join(b.Dir, "recovery")
	t, p, err := b.server(ctx, "recovery", data)
	if err != nil {
		return err
	}
	err = speaking(ctx, t, n)
	p.Kill()
	if err != nil {
		return err
	}
	begin := time.Now()
	if t, p, err = b.server(ctx, "recovery", data); err != nil {
		return err
	}
	defer p.Kill()
	took := float64(time.Since(begin)) / 1e6
	cpu, err := cpuTime(t.PID)
	if err != nil {
		return err
	}
	busy, err := t.count(ctx, map[string]any{"status": "busy"})
	if err != nil {
		return err
	}
	if busy != n {
		return fmt.Errorf("%d of %d runs were taken up", busy, n)
	}
	none := math.NaN()
	b.add(fmt.Sprintf("ready after a kill in the middle of %d answers", n), "ms", took, none, limitRecovery)
	b.add("CPU of that", "ms", float64(cpu)/1e6, none, none)
	return nil
}

// speaking begins n answers that continue for hours and returns when each has shown a word.
func speaking(ctx context.Context, t *Target, n int) error {
	const atOnce = 250 // a word is due after five seconds
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			for range (n + atOnce - 1 - i) / atOnce {
				if errs[i] = t.begin(ctx); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// begin starts an answer on a new thread and disconnects after its first word.
func (t *Target) begin(ctx context.Context) error {
	thread, err := t.Thread(ctx)
	if err != nil {
		return err
	}
	res, err := t.say(ctx, thread, "echo 100000 tokens at 0.2 tok/s")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, `"content":"`+Word) {
			return nil
		}
	}
	return fmt.Errorf("%s: thread %s said nothing: %w", t.Name, thread, errors.Join(lines.Err(), errNoAnswer))
}

// errNoAnswer means that a stream ended without a word.
var errNoAnswer = errors.New("the stream ended")
