package history_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/gate"
)

// ask sends a request to a server, and reads what it answers.
func (s *server) ask(t *testing.T, method, path, body string, into any) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.where()+path, strings.NewReader(body))
	must.Do(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s at %s: %s, %v: %s", method, path, s.name, resp.Status, err, answer)
	}
	return resp.Header
}

// begins starts a run on a thread of its own, after so many seconds.
func (s *server) begins(t *testing.T, thread, text string, after int) (id string) {
	t.Helper()
	var run struct {
		ID string `json:"run_id"`
	}
	s.ask(t, "POST", "/threads/"+thread+"/runs", fmt.Sprintf(`{"assistant_id": "lead_agent", "if_not_exists": "create",
		"multitask_strategy": "enqueue", "after_seconds": %d, "input": {"messages": [{"role": "user", "content": %q}]}}`,
		after, text), &run)
	return run.ID
}

// TestServersWhoseClocksDiffer by an hour do everything at the same time: what lasts for a while, what is to begin
// later, what comes first, and who is gone, is told by the database's clock.
func TestServersWhoseClocksDiffer(t *testing.T) {
	gate.In(t, gate.Cluster, "make test has TestHistory alone of the tests of real servers")
	c := newClusterOf(t, "notify", 15*time.Second) // a busy machine evicts nobody who lives
	for _, s := range c.servers {
		date, err := http.ParseTime(s.ask(t, "GET", "/ok", "", nil).Get("Date"))
		must.Do(t, err)
		if off := time.Until(date) - s.off; off < -time.Minute || off > time.Minute {
			t.Skipf("clocks can't be set here, see setClock: that of %s tells %v", s.name, date)
		}
	}
	later := c.later(t)
	c.lasting(t)
	later()
	c.killed(t)
	c.quiet()
	c.check()
}

// What is to begin later does so after so long, and never in the first half of that.
const soon = 16 * time.Second

// later has delayed runs and tasks made at all servers. What it returns waits until they begin, at whichever server.
func (c *cluster) later(t *testing.T) (wait func()) {
	early := time.Now().Add(soon / 2)
	at := time.Now().Add(soon).UTC().Format(time.RFC3339)
	for _, s := range c.servers {
		s.begins(t, "later-"+s.name, `SCRIPT{"turns": [{"text": "Now."}]}`, int(soon.Seconds()))
		s.ask(t, "POST", "/api/scheduled-tasks", fmt.Sprintf(`{"title": "task", "prompt": "Now.", "timezone": "UTC",
			"context_mode": "fresh_thread_per_run", "schedule_type": "once", "schedule_spec": {"run_at": %q}}`, at), nil)
	}
	return func() {
		c.wait("all have begun", func() bool {
			runs := c.ask(`SELECT id FROM run WHERE thread LIKE 'later-%' AND status <> 'pending'`)
			tasks := c.ask(`SELECT run FROM cron_run WHERE started_at > 0`)
			if len(runs)+len(tasks) > 0 && time.Now().Before(early) {
				t.Fatalf("%d delayed runs and %d tasks have begun before their time", len(runs), len(tasks))
			}
			return len(runs) == len(c.servers) && len(tasks) == len(c.servers)
		})
	}
}

// lasting is what one server wrote that counts for a while, and what others find of it.
func (c *cluster) lasting(t *testing.T) {
	for _, s := range c.servers {
		s.ask(t, "PUT", "/store/items",
			fmt.Sprintf(`{"namespace": ["clocks"], "key": %q, "value": {"n": 1}, "ttl": 30}`, s.name), nil)
		s.begins(t, "kept-"+s.name, `SCRIPT{"turns": [{"text": "Now."}]}`, 0)
	}
	for _, s := range c.servers {
		var found struct{ Items []struct{ Key string } }
		s.ask(t, "POST", "/store/items/search", `{"namespace_prefix": ["clocks"], "refresh_ttl": false}`, &found)
		if len(found.Items) != len(c.servers) {
			t.Errorf("%s finds %v", s.name, found.Items)
		}
	}
	// By these times it is told what comes first.
	for _, row := range c.ask(`SELECT t.id, t.created_at, t.updated_at, r.created_at FROM thread t
		JOIN run r ON r.thread = t.id WHERE t.id LIKE 'kept-%'`) {
		for _, ms := range row[1:] {
			if age := time.Since(time.UnixMilli(ms.(int64))); age < -time.Minute || age > 5*time.Minute {
				t.Errorf("thread %v was written %v ago", row[0], age)
			}
		}
	}
}

// killed is a server whose run another one goes on with, while nobody else is taken for gone.
func (c *cluster) killed(t *testing.T) {
	s := c.servers[1]
	before := c.ask(`SELECT id FROM node WHERE pid <> $1`, int64(s.process()))
	id := s.begins(t, "killed", `SCRIPT{"turns": [{"text": "Words. ", "tokens": 300, "rate": 100}]}`, 0)
	c.wait("the run begins", func() bool {
		return len(c.ask(`SELECT id FROM run WHERE id = $1 AND status = 'running'`, id)) == 1
	})
	s.signal(syscall.SIGKILL, 30*time.Second) // its lease ends before it is started again
	c.wait("the run has ended", func() bool {
		return len(c.ask(`SELECT id FROM run WHERE id = $1 AND status = 'success'`, id)) == 1
	})
	if got := c.ask(`SELECT attempt FROM run WHERE id = $1`, id); got[0][0] != int64(2) {
		t.Errorf("the run was tried %v times", got[0][0])
	}
	for _, node := range before {
		if len(c.ask(`SELECT id FROM node WHERE id = $1`, node[0])) == 0 {
			t.Errorf("server %v is gone, which wasn't killed", node[0])
		}
	}
	if got := c.ask(`SELECT what, node FROM fault`); len(got) > 0 {
		t.Errorf("written after an eviction: %v", got)
	}
}
