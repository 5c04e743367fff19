package history_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/gate"
)

// TestAnEvictedServerBeginsAnew as the same process at the same address, soon after it goes on, while another goes on
// with its run; its old life writes nothing.
func TestAnEvictedServerBeginsAnew(t *testing.T) {
	gate.In(t, gate.Cluster, "make test has TestHistory alone of the tests of real servers")
	c := newClusterOf(t, "notify", 15*time.Second) // a busy machine evicts nobody else, and nobody twice
	s := c.servers[0]
	pid, at := int64(s.process()), "http://"+s.where()
	rows := func() int {
		return len(c.ask(`SELECT id FROM node WHERE pid = $1`, pid))
	}
	id := c.begin(at)
	c.wait("the run begins", func() bool {
		return len(c.ask(`SELECT id FROM run WHERE id = $1 AND status = 'running'
			AND node = (SELECT id FROM node WHERE pid = $2)`, id, pid)) == 1
	})
	s.signal(syscall.SIGSTOP, 0)
	t.Cleanup(func() { s.signal(syscall.SIGCONT, 0) })
	c.wait("it is evicted", func() bool { return rows() == 0 })
	c.wait("another server has its run", func() bool {
		return len(c.ask(`SELECT run.id FROM run JOIN node ON node.id = run.node
			WHERE run.id = $1 AND attempt = 2`, id)) == 1
	})
	began := time.Now()
	s.signal(syscall.SIGCONT, 0)
	c.wait("it is there again", func() bool { return rows() == 1 })
	resp, err := http.Get(at + "/health") // which waits, if it must, and is not refused
	must.Do(t, err)
	resp.Body.Close()
	took := time.Since(began)
	t.Logf("it serves again after %v", took)
	if resp.StatusCode != http.StatusOK || took > 30*time.Second || int64(s.process()) != pid {
		t.Errorf("after %v: %s, process %d instead of %d", took, resp.Status, s.process(), pid)
	}
	c.quiet()
	if got := c.ask(`SELECT status, attempt FROM run WHERE id = $1`, id); got[0][0] != "success" {
		t.Errorf("the run: %v", got)
	}
	c.sound([]string{"anew"})
	if log, err := os.ReadFile(s.log.Name()); err != nil || bytes.Count(log, []byte("restarting in place")) != 1 ||
		bytes.Contains(log, []byte("ended:")) {
		t.Errorf("its log (%v): %s", err, log)
	}
}

// begin starts a run of some seconds at a server.
func (c *cluster) begin(at string) (id string) {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"assistant_id": "lead_agent",
		"if_not_exists": "create", "input": map[string]any{
			"messages": []map[string]any{{"role": "user",
				"content": `SCRIPT{"turns": [{"text": "Words. ", "chunk": 6, "tokens": 1500, "rate": 100}]}`}}}})
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.Post(at+"/threads/anew/runs", "application/json", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	var run struct {
		ID string `json:"run_id"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &run)
	}
	if err != nil || run.ID == "" {
		c.t.Fatalf("the run is not started: %v, %s", err, answer)
	}
	return run.ID
}

func (c *cluster) wait(what string, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("it is waited in vain until %s", what)
		}
	}
}

func (s *server) process() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}
