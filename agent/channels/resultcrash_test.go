package channels_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/e2e/gate"
)

// TestAKilledServerSendsEachResultOnce kills the server at random points while tasks start, work and are delivered.
func TestAKilledServerSendsEachResultOnce(t *testing.T) {
	kills, each := gate.Pick(3, 8, 200), 3
	p := newPlatform(t)
	dir := t.TempDir()
	w := paired(t, p, setup{dir: dir})
	greeting := p.chat("7")
	var want []string
	var times []time.Time
	for i := range kills * each {
		times = append(times, time.Now().Add(time.Duration(i)*40*time.Millisecond))
		title := fmt.Sprintf("Task %03d.", i)
		prompt := []string{"", "slow ", "file "}[i%3] + "do it"
		w.task(t, title, prompt, to("7"), func(c *store.Cron) {
			c.RunAt, c.NextAt = times[i], times[i]
		})
		want = append(want, "**"+title+"**\n\nre: "+prompt)
	}
	w.close()
	results := func() []string {
		got := slices.DeleteFunc(p.chat("7"), func(s string) bool { return slices.Contains(greeting, s) })
		slices.Sort(got)
		return got
	}
	for kill := range kills {
		due := time.Now()
		conns := p.open()
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), crashDir+"="+dir, crashURL+"="+p.url)
		child.Stderr = os.Stderr
		must.Do(t, child.Start())
		if kill%2 == 1 { // a run that was cut off three times is given up
			until(t, func() string {
				got := results()
				for i, at := range times {
					if at.Before(due) && !slices.Contains(got, want[i]) {
						return fmt.Sprintf("%q is missing in %q", want[i], got)
					}
				}
				return ""
			})
		} else {
			time.Sleep(time.Duration(30+rand.IntN(250)) * time.Millisecond)
		}
		p.kill(t, child, conns)
	}
	last := start(t, setup{dir: dir, bot: newBot(p.url), tasks: true})
	until(t, func() string {
		if got := results(); !slices.Equal(got, want) {
			return fmt.Sprintf("the chat shows %q, want %q", got, want)
		}
		open := must.Get(last.open(context.Background()))(t)
		return open
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.files); n > kills*each/3 {
		t.Errorf("%d files were sent", n)
	}
}
