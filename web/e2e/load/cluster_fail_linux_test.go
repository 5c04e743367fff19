package load

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pause is the longest pause in the stream of a run, in seconds, that is read at the first server while something is
// done to the server of the run, and how often the run was begun by then.
func (b *clusterBench) pause(ctx context.Context, t *Target, text string, do func() error) (longest, attempts float64,
	err error) {
	thread, err := t.Thread(ctx)
	if err != nil {
		return 0, 0, err
	}
	res, err := t.say(ctx, thread, text)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	at := res.Header.Get("Content-Location")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.servers[0].Base+at+"/stream", nil)
	if err != nil {
		return 0, 0, err
	}
	follow, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer follow.Body.Close()
	var done, last time.Time
	failed := make(chan error, 1)
	lines := bufio.NewReader(follow.Body)
	for seen := 0; seen < 50 || last.Sub(done) < 5*time.Second; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return 0, 0, fmt.Errorf("the run's stream at another server: %w", err)
		}
		if !strings.HasPrefix(line, "event:") {
			continue
		}
		now := time.Now()
		if seen++; seen == 50 {
			done = now
			go func() { failed <- do() }()
		}
		if seen > 50 {
			longest = max(longest, now.Sub(last).Seconds())
		}
		last = now
	}
	if err := <-failed; err != nil {
		return 0, 0, err
	}
	attempts, err = strconv.ParseFloat(b.ask("SELECT attempt::text FROM fawn.run WHERE id = '"+path.Base(at)+"'"), 64)
	return longest, attempts, err
}

const longAnswer = "echo 4000 tokens at 50 tok/s"

// takeOver kills a server that does not come back.
func (b *clusterBench) takeOver(ctx context.Context) error {
	gap, _, err := b.pause(ctx, b.servers[2], longAnswer, func() error { return b.procs[2].cmd.Process.Kill() })
	b.add("a server is killed: longest pause in the stream of its run elsewhere", "s", gap, math.NaN(), 12)
	return err
}

// restart kills a server that comes back at once.
func (b *clusterBench) restart(ctx context.Context) error {
	t := b.servers[1]
	gap, _, err := b.pause(ctx, t, longAnswer, func() (err error) {
		b.procs[1].Kill()
		b.procs[1], err = b.again[t]()
		return err
	})
	b.add("a server is killed and started again: the same", "s", gap, math.NaN(), 1)
	return err
}

// drain stops a server as an update does, while its run goes from step to step.
func (b *clusterBench) drain(ctx context.Context) error {
	var turns []string
	for i := range 30 {
		turns = append(turns, fmt.Sprintf(`{"tokens": 40, "rate": 50, "tool_calls": [{"name": "look",
			"args": {"n": %d}}]}`, i))
	}
	gap, attempts, err := b.pause(ctx, b.servers[1], `SCRIPT{"turns": [`+strings.Join(turns, ", ")+`]}`, func() error {
		return b.procs[1].cmd.Process.Signal(syscall.SIGTERM)
	})
	b.add("a server gets SIGTERM: longest pause in the stream of its run", "ms", gap*1000, math.NaN(), 200)
	b.add("attempts that this takes from the run", "", attempts-1, math.NaN(), 0)
	return err
}
