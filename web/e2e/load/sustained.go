package load

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// paced measures streams at a real model's speed: punctuality, evenness and cost of each token.
func (b *bench) paced(ctx context.Context) error {
	const rate = 50
	for _, n := range []int{50, 200} {
		err := b.withTargets(ctx, n == 200, func(relay, fawn, bare *Target) error {
			targets := []*Target{relay, fawn}
			if bare != nil {
				targets = append(targets, bare)
			}
			all := map[*Target]*burst{}
			cost := map[*Target][]float64{}
			written := map[*Target]int64{}
			for round := range b.rounds(3) {
				for _, t := range targets {
					before := storageWrites(t.PID)
					got, err := streams(ctx, t, n, b.Seconds*rate, rate)
					if err != nil {
						return err
					}
					written[t] += storageWrites(t.PID) - before
					cost[t] = append(cost[t], got.cpuPerToken)
					if round == 0 {
						all[t] = &got
						continue
					}
					all[t].add(got)
				}
			}
			b.pacedRows(n, all[relay], all[fawn], quantile(cost[relay], 0.5), quantile(cost[fawn], 0.5))
			if bare != nil {
				b.storeRow(cost[fawn], cost[bare], written[fawn], written[bare])
			}
			after, err := memory(fawn.PID)
			if err != nil {
				return err
			}
			limit := math.NaN()
			if n == 200 {
				limit = limitPeak + float64(n*max(0, b.Seconds-10)*rate)*limitHeld/1e6
			}
			b.add(fmt.Sprintf("peak memory with %d paced streams, RSS", n), "MB", float64(after.Peak)/1e6,
				math.NaN(), limit)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) pacedRows(n int, relay, fawn *burst, relayCost, fawnCost float64) {
	none := math.NaN()
	title := func(what string) string { return fmt.Sprintf("%d paced streams, %s", n, what) }
	late, gap := float64(limitLate), float64(limitGap)
	if n >= 1000 { // beyond two processors together with the driver and the model
		late, gap = max(late, 100*(1-relay.delivered)*1.5), none
	}
	b.add(title("tokens late by over 250 ms"), "%", 100*(1-fawn.delivered), 100*(1-relay.delivered), late)
	b.add(title("first token p50"), "ms", quantile(fawn.first, 0.5), quantile(relay.first, 0.5), none)
	b.add(title("first token max"), "ms", slices.Max(fawn.first), slices.Max(relay.first), none)
	b.add(title("gap p50"), "ms", quantile(fawn.gaps, 0.5), quantile(relay.gaps, 0.5), none)
	b.add(title("gap p99"), "ms", quantile(fawn.gaps, 0.99), quantile(relay.gaps, 0.99), gap)
	b.add(title("end lag p50"), "ms", quantile(fawn.endLag, 0.5), quantile(relay.endLag, 0.5), none)
	b.add(title("end lag max"), "ms", slices.Max(fawn.endLag), slices.Max(relay.endLag), none)
	b.add(title("last token to end p50"), "ms", quantile(fawn.closing, 0.5), quantile(relay.closing, 0.5), none)
	b.add(title("last token to end max"), "ms", slices.Max(fawn.closing), slices.Max(relay.closing), none)
	b.add(title("CPU"), "µs/token", fawnCost, relayCost, none)
}

// many runs a thousand streams at once, each at a real model's speed, with the driver and the model on the same machine.
func (b *bench) many(ctx context.Context) error {
	const n, rate = 1000, 50
	return b.withTargets(ctx, false, func(relay, fawn, _ *Target) error {
		for _, t := range []*Target{relay, fawn} { // the first streams of a process load its code
			if _, err := streams(ctx, t, 50, 20, 0); err != nil {
				return err
			}
		}
		all, cost := map[*Target]*burst{}, map[*Target][]float64{}
		for round := range b.rounds(3) {
			for _, t := range []*Target{relay, fawn} {
				got, err := streams(ctx, t, n, b.Seconds*rate, rate)
				if err != nil {
					return err
				}
				cost[t] = append(cost[t], got.cpuPerToken)
				if round == 0 {
					all[t] = &got
				} else {
					all[t].add(got)
				}
			}
		}
		b.pacedRows(n, all[relay], all[fawn], quantile(cost[relay], 0.5), quantile(cost[fawn], 0.5))
		after, err := memory(fawn.PID)
		if err != nil {
			return err
		}
		b.add(fmt.Sprintf("peak memory with %d paced streams, RSS", n), "MB", float64(after.Peak)/1e6, math.NaN(),
			limitPeakMany+float64(n*max(0, b.Seconds-10)*rate)*limitHeld/1e6)
		return nil
	})
}

// storeRow reports the cost of storing events: the median of the two servers' differences per round, since a
// temporarily slow machine affects both. If both write the same amount, the switch had no effect: there is no figure
// then, which fails.
func (b *bench) storeRow(storing, bare []float64, with, without int64) {
	differences := make([]float64, len(storing))
	for i := range storing {
		differences[i] = storing[i] - bare[i]
	}
	cost := quantile(differences, 0.5)
	if with > 0 && float64(without) > 0.9*float64(with) {
		fmt.Fprintf(b.Log, "FAWN_BENCH_NOSTORE made no difference: %d and %d bytes written\n", with, without)
		cost = math.NaN()
	}
	b.add("200 paced streams, CPU of the event store", "µs/token", cost, math.NaN(), limitStore)
}

// storageWrites returns the bytes that a process caused to be written to disk, 0 if the kernel doesn't report it.
func storageWrites(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// longThread runs one conversation of many turns and measures the growth of disk usage and time. The server is stopped
// at each measuring point, which moves its journal into the database file, so sizes are exact.
func (b *bench) longThread(ctx context.Context) error {
	points := []int{25, 50, 100, 200}
	if b.Quick {
		points = []int{10, 20, 40}
	}
	data, err := os.MkdirTemp(b.Dir, "thread-")
	if err != nil {
		return err
	}
	t, p, err := b.server(ctx, "thread", data)
	if err != nil {
		return err
	}
	thread, err := t.Thread(ctx)
	p.Stop()
	if err != nil {
		return err
	}
	base, err := diskUse(data)
	if err != nil {
		return err
	}
	var turns, sizes, times []float64
	done := 0
	for _, n := range points {
		if t, p, err = b.server(ctx, "thread", data); err != nil {
			return err
		}
		took, err := conversation(ctx, t, thread, n-done)
		p.Stop()
		if err != nil {
			return err
		}
		size, err := diskUse(data)
		if err != nil {
			return err
		}
		done, times = n, append(times, took...)
		turns, sizes = append(turns, float64(n)), append(sizes, float64(size-base))
	}
	none, tenth := math.NaN(), len(times)/10
	// The first turns after a start are warm-up, not growth.
	early, late := quantile(times[2:2+tenth], 0.5), quantile(times[len(times)-tenth:], 0.5)
	b.add(fmt.Sprintf("disk over %d turns of 40 tokens", done), "KB/turn", sizes[len(sizes)-1]/float64(done)/1e3, none,
		none)
	b.add("order of disk growth over turns", "", order(turns, sizes), none, limitOrder)
	b.add("time of a turn, first tenth", "ms", early, none, none)
	b.add("time of a turn, last tenth", "ms", late, none, none)
	return nil
}
