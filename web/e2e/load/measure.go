package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// burst is the measurement of N concurrent streams.
type burst struct {
	cpuPerToken float64 // µs; 0 when the target has no PID
	delivered   float64 // tokens on time / tokens ordered
	gaps        []float64
	first       []float64 // ms from the request to the first token, one per stream
	endLag      []float64 // ms after the model's own schedule, one per stream
	closing     []float64 // ms from the last token to the end of the response, one per stream
}

// add adds a further round. The worst round counts for what was delivered.
func (b *burst) add(c burst) {
	b.gaps, b.first = append(b.gaps, c.gaps...), append(b.first, c.first...)
	b.endLag, b.closing = append(b.endLag, c.endLag...), append(b.closing, c.closing...)
	b.delivered = min(b.delivered, c.delivered)
}

// streams runs n concurrent answers, each with this number of tokens and rate (0 = unpaced), in separate threads
// created before the clock starts.
func streams(ctx context.Context, t *Target, n, tokens int, rate float64) (burst, error) {
	threads := make([]string, n)
	for i := range threads {
		var err error
		if threads[i], err = t.Thread(ctx); err != nil {
			return burst{}, err
		}
	}
	text := fmt.Sprintf("echo %d tokens at %g tok/s", tokens, rate)
	var before time.Duration
	if t.PID != 0 {
		var err error
		if before, err = cpuTime(t.PID); err != nil {
			return burst{}, err
		}
	}
	results, errs := make([]Stream, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { results[i], errs[i] = t.Run(ctx, threads[i], text) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return burst{}, err
	}
	var b burst
	got, onTime := 0, 0
	for _, s := range results {
		if s.Tokens != tokens {
			return b, fmt.Errorf("%s: %d of %d tokens arrived", t.Name, s.Tokens, tokens)
		}
		got += s.Tokens
		for _, g := range s.Gaps {
			b.gaps = append(b.gaps, float64(g)/1e6)
		}
		b.first = append(b.first, float64(s.First)/1e6)
		b.closing = append(b.closing, float64(s.End-s.Last)/1e6)
		if rate > 0 {
			planned := time.Duration(float64(tokens) / rate * 1e9)
			lag := float64(s.Last-planned) / 1e6
			b.endLag = append(b.endLag, lag)
			late := min(max(int((lag-onTimeSlack)/1e3*rate), 0), tokens)
			onTime += tokens - late
		}
	}
	b.delivered = float64(onTime) / float64(got)
	if t.PID != 0 {
		after, err := cpuTime(t.PID)
		if err != nil {
			return b, err
		}
		b.cpuPerToken = float64((after - before).Microseconds()) / float64(got)
	}
	return b, nil
}

// onTimeSlack is the tolerated delay of a token in ms.
const onTimeSlack = 250

// firstTokens requests n short answers one after another and returns the times to the first token in
// ms.
func firstTokens(ctx context.Context, t *Target, n int) ([]float64, error) {
	list := make([]float64, 0, n)
	for range n {
		thread, err := t.Thread(ctx)
		if err != nil {
			return nil, err
		}
		s, err := t.Run(ctx, thread, "echo 3 tokens at 0 tok/s")
		if err != nil {
			return nil, err
		}
		if s.Tokens == 0 {
			return nil, fmt.Errorf("%s: no token came", t.Name)
		}
		list = append(list, float64(s.First)/1e6)
	}
	return list, nil
}

// conversation sends n messages to one thread, one after another, and returns
// the time each took in ms.
func conversation(ctx context.Context, t *Target, thread string, n int) ([]float64, error) {
	list := make([]float64, 0, n)
	for range n {
		s, err := t.Run(ctx, thread, "echo 40 tokens at 0 tok/s")
		if err != nil {
			return nil, err
		}
		if s.Tokens != 40 {
			return nil, fmt.Errorf("%s: %d of 40 tokens arrived", t.Name, s.Tokens)
		}
		list = append(list, float64(s.End)/1e6)
	}
	return list, nil
}
