package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Limits of the crowd and of lists.
const (
	limitOK   = 10  // ms, p99 of the smallest request during 64 fast streams
	limitList = 1.5 // ms, p50 of the newest 50 of 10,000 threads
	limitFlat = 1.5 // factor over 1,000 threads
)

// crowd runs 64 answers at 200 tokens per second each, with small requests in between: no run may fail, and no request
// may wait for the database.
func (b *bench) crowd(ctx context.Context) error {
	const n, rate = 64, 200
	data, err := os.MkdirTemp(b.Dir, "crowd-")
	if err != nil {
		return err
	}
	t, p, err := b.server(ctx, "crowd", data)
	if err != nil {
		return err
	}
	defer p.Stop()
	done, stop := context.WithCancel(ctx)
	var asked []float64
	var askErr error
	var wg sync.WaitGroup
	wg.Go(func() { asked, askErr = ask(done, t.Base+"/ok", 20*time.Millisecond) })
	got, err := streams(ctx, t, n, b.Seconds*rate, rate)
	stop()
	wg.Wait()
	if err := errors.Join(err, askErr); err != nil {
		return err
	}
	none := math.NaN()
	b.add(fmt.Sprintf("%d streams at %d tok/s, tokens late by over 250 ms", n, rate), "%", 100*(1-got.delivered), none,
		none)
	b.add(fmt.Sprintf("%d streams at %d tok/s, gap p99", n, rate), "ms", quantile(got.gaps, 0.99), none, none)
	b.add(fmt.Sprintf("GET /ok beside them, p99 of %d", len(asked)), "ms", quantile(asked, 0.99), none, limitOK)
	return nil
}

// ask repeats a request until ctx ends, and returns each duration in ms.
func ask(ctx context.Context, url string, every time.Duration) ([]float64, error) {
	var took []float64
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return took, nil
		case <-tick.C:
		}
		begin := time.Now()
		res, err := client.Get(url)
		if err != nil {
			return took, err
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return took, fmt.Errorf("GET %s: %s: %w", url, res.Status, err)
		}
		took = append(took, float64(time.Since(begin))/1e6)
	}
}

// lists reads the newest 50 threads of a thousand and of ten thousand.
func (b *bench) lists(ctx context.Context) error {
	few, many := 1000, 10_000
	if b.Quick {
		few, many = 200, 2000
	}
	data := filepath.Join(b.Dir, "lists")
	t, p, err := b.server(ctx, "lists", data)
	if err != nil {
		return err
	}
	defer func() { p.Stop() }()
	median := map[int]float64{}
	made := 0
	for _, n := range []int{few, many} {
		if err := fill(ctx, t, n-made); err != nil {
			return err
		}
		made = n
		var took []float64
		for range 300 {
			begin := time.Now()
			res, err := t.post(ctx, "/threads/search", map[string]any{"limit": 50})
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if err != nil {
				return err
			}
			took = append(took, float64(time.Since(begin))/1e6)
		}
		median[n] = quantile(took[20:], 0.5) // without the warm-up requests
	}
	var starts []float64
	for range b.rounds(5) {
		p.Stop()
		begin := time.Now()
		_, next, err := b.server(ctx, "lists", data)
		if err != nil {
			return err
		}
		p = next
		starts = append(starts, float64(time.Since(begin))/1e6)
	}
	none := math.NaN()
	b.add(fmt.Sprintf("cold start with %d threads", many), "ms", quantile(starts, 0.5), none, limitCrowded)
	b.add(fmt.Sprintf("newest 50 of %d threads, p50", few), "ms", median[few], none, none)
	b.add(fmt.Sprintf("newest 50 of %d threads, p50", many), "ms", median[many], none, limitList)
	b.add(fmt.Sprintf("the same, over that of %d", few), "times", median[many]/median[few], none, limitFlat)
	return nil
}

// fill creates n more threads, a few at a time.
func fill(ctx context.Context, t *Target, n int) error {
	const atOnce = 8
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			for range (n + atOnce - 1 - i) / atOnce {
				if _, errs[i] = t.Thread(ctx); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
