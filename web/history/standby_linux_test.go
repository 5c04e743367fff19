package history_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/web/e2e/gate"
)

// onlooker reads a stream, over as many connections as it takes, until it is told that nothing follows.
type onlooker struct {
	path, resets, ends string // its address, and the events that tell to read anew and that all is over

	mu     sync.Mutex
	frames int // so far
	last   string
	fresh  int // how often it was to read anew
	cuts   int
	over   bool
}

func (o *onlooker) look(ctx context.Context, s *server) {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.where()+o.path, nil)
		if err != nil {
			return
		}
		o.mu.Lock()
		if o.last != "" {
			req.Header.Set("Last-Event-ID", o.last)
		}
		o.mu.Unlock()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			time.Sleep(50 * time.Millisecond) // nobody listens there at this moment
			continue
		}
		lines := bufio.NewReader(resp.Body)
		for err == nil && resp.StatusCode == http.StatusOK && !o.ended() {
			var line []byte
			line, err = lines.ReadBytes('\n')
			o.take(string(bytes.TrimSpace(line)))
		}
		resp.Body.Close()
		if o.ended() {
			return
		}
		o.mu.Lock()
		o.cuts++
		o.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
}

func (o *onlooker) take(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch name, value, _ := strings.Cut(line, ": "); name {
	case "id":
		o.last = value
	case "event":
		o.frames++
		o.over = o.over || value == o.ends
		if value == o.resets {
			o.fresh++
		}
	}
}

func (o *onlooker) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

func (o *onlooker) counts() (frames, fresh int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.frames, o.fresh
}

// TestReadersLearnThatCommitsAreLost: a standby takes over that lacks what readers were shown. An open page shows the
// chat as it is stored, and a program is told to read the state. Neither is told that the run has ended, which goes on.
func TestReadersLearnThatCommitsAreLost(t *testing.T) {
	gate.In(t, gate.Cluster, "make test has TestHistory alone of the tests of real servers")
	c := newClusterOf(t, "notify", 15*time.Second) // a busy machine evicts nobody who lives
	run := c.servers[0].begins(t, "lost", `SCRIPT{"turns": [{"text": "Words. ", "tokens": 100000, "rate": 40}]}`, 0)
	list := []*onlooker{
		{path: "/ui/threads/lost/stream", resets: "reset", ends: "done"},
		{path: "/threads/lost/runs/" + run + "/stream?stream_mode=messages-tuple", resets: "gap", ends: "end"}}
	ctx, stop := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	t.Cleanup(func() { stop(); reading.Wait() })
	for _, o := range list {
		reading.Go(func() { o.look(ctx, c.servers[1]) })
	}
	more := func(what string, n int) (frames, fresh []int) {
		var begin []int
		for _, o := range list {
			n, _ := o.counts()
			begin = append(begin, n)
		}
		c.wait(what, func() bool {
			for i, o := range list {
				if now, _ := o.counts(); now < begin[i]+n {
					return false
				}
			}
			return true
		})
		for _, o := range list {
			a, b := o.counts()
			frames, fresh = append(frames, a), append(fresh, b)
		}
		return frames, fresh
	}
	more("the readers see the run", 5)
	standby := c.database.Standby(t)
	_, before := more("the readers see what the standby lacks", 20)
	c.down.Lock()
	c.database.Crash(t)
	standby.Promote(t)
	for _, s := range c.servers {
		s.wire.Lead(t, standby.URL)
		s.wire.Break()
	}
	c.database = standby
	c.down.Unlock()
	c.wait("the readers are told to read anew", func() bool {
		for i, o := range list {
			if _, fresh := o.counts(); fresh == before[i] {
				return false
			}
		}
		return true
	})
	more("the run goes on", 5)
	for _, o := range list {
		if o.ended() {
			t.Errorf("%s: an end was told of a run that goes on", o.path)
		}
	}
	c.up()
	c.servers[2].ask(t, "POST", fmt.Sprintf("/threads/lost/runs/%s/cancel?wait=true", run), "", nil)
	c.wait("the readers are told the end", func() bool { return list[0].ended() && list[1].ended() })
	if got := c.ask(`SELECT status, attempt FROM run WHERE id = $1`, run); got[0][0] != "interrupted" {
		t.Errorf("the run: %v", got)
	}
	for _, o := range list {
		t.Logf("%s: %d frames, over %d cuts", o.path, o.frames, o.cuts)
	}
	c.check()
}
