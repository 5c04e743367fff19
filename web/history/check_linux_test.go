package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// compare looks whether what clients were shown is what is there now, once nothing runs any more.
func (cs *clients) compare(t *testing.T) (shown, undone int) {
	t.Helper()
	given := map[string]string{} // by thread and number, the run that an event was of
	stored := map[string][]frame{}
	gone := map[string]bool{}
	for _, rec := range cs.records {
		shown += len(rec.frames)
		if gone[rec.run] || stored[rec.run] == nil && !cs.replay(t, rec, stored) {
			gone[rec.run] = true
			undone++
		}
		last := position{}
		for _, f := range rec.frames {
			at, err := parsePosition(f.id)
			if err != nil {
				t.Errorf("run %s: frame %+v: %v", rec.run, f, err)
				continue
			}
			if !at.after(last) {
				t.Errorf("run %s: frame %v was shown after %v", rec.run, at, last)
			}
			last = at
			key := fmt.Sprint(rec.thread, " ", at.seq)
			if other, ok := given[key]; ok && other != rec.run {
				t.Errorf("thread %s: number %d was given to run %s and to run %s", rec.thread, at.seq, other, rec.run)
			}
			given[key] = rec.run
		}
		if !gone[rec.run] {
			begins(t, rec, stored[rec.run])
		}
	}
	return shown, undone
}

// begins compares what a reader was shown with all there is: it is the same, up to where the reader left.
func begins(t *testing.T, rec *record, all []frame) {
	t.Helper()
	if rec.early {
		t.Errorf("run %s: an end was told, over %d cuts, before it had ended", rec.run, rec.cuts)
	}
	if rec.whole && len(rec.frames) != len(all) {
		t.Errorf("run %s: %d frames were shown to the end, over %d cuts, and there are %d:\n%s", rec.run,
			len(rec.frames), rec.cuts, len(all), firstDifference(rec.frames, all))
		return
	}
	if n := len(rec.frames); n > len(all) || !slices.Equal(rec.frames, all[:n]) {
		t.Errorf("run %s: what was shown, over %d cuts, is not what is there:\n%s", rec.run, rec.cuts,
			firstDifference(rec.frames, all))
	}
}

func firstDifference(shown, all []frame) string {
	for i, f := range shown {
		if i >= len(all) {
			return fmt.Sprintf("shown %s\nand nothing is there", cut(f))
		}
		if f != all[i] {
			return fmt.Sprintf("%d: shown %s\nthere %s", i, cut(f), cut(all[i]))
		}
	}
	if len(shown) < len(all) {
		return fmt.Sprintf("not shown: %s", cut(all[len(shown)]))
	}
	return "none"
}

func cut(f frame) string {
	if len(f.data) > 700 {
		f.data = f.data[:300] + " … " + f.data[len(f.data)-400:]
	}
	return fmt.Sprintf("%s %s %s", f.id, f.event, f.data)
}

// replay reads all that there is of a run from two servers, which must say the same. False says that it is gone.
func (cs *clients) replay(t *testing.T, rec *record, stored map[string][]frame) bool {
	t.Helper()
	for i := range 2 {
		status, list := cs.all(rec)
		if status == http.StatusNotFound {
			return false
		}
		if status != http.StatusOK {
			t.Errorf("run %s can't be read again: %d", rec.run, status)
			return false
		}
		if i > 0 && !slices.Equal(list, stored[rec.run]) {
			t.Errorf("run %s: two servers say different things:\n%s", rec.run, firstDifference(list, stored[rec.run]))
		}
		stored[rec.run] = list
	}
	return true
}

// all reads a run from its beginning. Servers may still end because of what has happened to them: then it asks again.
func (cs *clients) all(rec *record) (status int, list []frame) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		resp, err := cs.request(context.Background(), "GET", rec.stream(), "", "-1")
		if err != nil {
			continue
		}
		clean, list := frames(resp.Body, -1)
		resp.Body.Close()
		if status = resp.StatusCode; status == http.StatusNotFound || status == http.StatusOK && clean {
			return status, list
		}
	}
	return max(status, http.StatusInternalServerError), nil
}

// position is where a frame stands in the events of its thread.
type position struct{ seq, part int64 }

func (p position) after(q position) bool { return p.seq > q.seq || p.seq == q.seq && p.part > q.part }

func parsePosition(id string) (p position, err error) {
	seq, part, ok := strings.Cut(id, ".")
	if p.seq, err = strconv.ParseInt(seq, 10, 64); err != nil || !ok {
		return p, err
	}
	p.part, err = strconv.ParseInt(part, 10, 64)
	return p, err
}

// quiet waits until all runs have ended.
func (c *cluster) quiet() {
	c.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		open := c.ask(`SELECT id, thread, status, node, front, held, wish, attempt FROM run
			WHERE status IN ('pending', 'running')`)
		if len(open) == 0 {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("these runs neither end nor go on: %v\nservers: %v", open,
				c.ask(`SELECT id, host, pid, expires FROM node`))
		}
	}
}

// sound looks at what is stored, once nothing runs any more.
func (c *cluster) sound(threads []string) (called int) {
	c.t.Helper()
	for _, row := range c.ask(`SELECT what, node, count(*) FROM fault GROUP BY 1, 2`) {
		c.t.Errorf("written by a server after its eviction: %v", row)
	}
	if list := c.ask(`SELECT id, thread FROM run WHERE front <> 0`); len(list) > 0 {
		c.t.Errorf("at the front after their ends: %v", list)
	}
	if list := c.ask(`SELECT id, status FROM thread WHERE status = 'busy'`); len(list) > 0 {
		c.t.Errorf("threads are busy, and no run of them is open: %v", list)
	}
	// Numbers ascend without overlap, and the events of two runs of a thread don't mix: one is at work at a time.
	for _, row := range c.ask(`SELECT thread, seq, "to", before FROM (SELECT thread, seq, "to",
		lag("to") OVER (PARTITION BY thread ORDER BY "to") AS before FROM event) e WHERE seq > "to" OR seq <= before`) {
		c.t.Errorf("events overlap: %v", row)
	}
	for _, row := range c.ask(`SELECT e.thread, e.run, f.run FROM
		(SELECT thread, run, min(seq) AS low, max("to") AS high FROM event GROUP BY 1, 2) e JOIN
		(SELECT thread, run, min(seq) AS low, max("to") AS high FROM event GROUP BY 1, 2) f
		ON e.thread = f.thread AND e.run < f.run AND e.low <= f.high AND f.low <= e.high`) {
		c.t.Errorf("two runs were at work at the same time: %v", row)
	}
	for _, thread := range threads {
		called += c.answered(thread)
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	for id, n := range c.ledger.lines {
		if n > 1 {
			c.t.Errorf("the tool was called %d times for %s", n, id)
		}
	}
	return called
}

// answered looks whether all calls of a thread have one answer, and whether what is said to have happened did.
func (c *cluster) answered(thread string) (called int) {
	c.t.Helper()
	// Servers may still end because of what has happened to them, also in the middle of an answer.
	var status int
	var body []byte
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(c.url + "/threads/" + thread + "/state")
		if err == nil {
			status = resp.StatusCode
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil && status < http.StatusInternalServerError {
			break
		}
		if time.Now().After(end) {
			c.t.Fatalf("the state of thread %s: %d, %v", thread, status, err)
		}
	}
	var state struct {
		Values struct {
			Messages []struct {
				Type, Status string
				Content      any
				CallID       string                `json:"tool_call_id"`
				Calls        []struct{ ID string } `json:"tool_calls"`
			}
		}
	}
	if status == http.StatusNotFound {
		return 0 // nobody has used it
	}
	if err := json.Unmarshal(body, &state); err != nil || status != http.StatusOK {
		c.t.Errorf("the state of thread %s: %d, %v", thread, status, err)
		return 0
	}
	open := map[string]int{}
	for _, m := range state.Values.Messages {
		for _, call := range m.Calls {
			open[call.ID]++
			called++
		}
		if m.Type != "tool" {
			continue
		}
		open[m.CallID]--
		if text := fmt.Sprint(m.Content); strings.Contains(text, "noted "+m.CallID) && c.ledger.times(m.CallID) == 0 {
			c.t.Errorf("the thread %s says %q, which nobody has noted", thread, text)
		}
	}
	for id, n := range open {
		if n != 0 {
			c.t.Errorf("thread %s: call %s has %d answers too few", thread, id, n)
		}
	}
	return called
}

func (cs *clients) String() string {
	list := make([]string, 0, len(cs.asked))
	for what, n := range cs.asked {
		list = append(list, fmt.Sprintf("%s: %d", what, n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
