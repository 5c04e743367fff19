package history_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// frame is what a reader was shown under an id.
type frame struct{ id, event, data string }

// record is what one client was shown of a run, over all of its connections.
type record struct {
	thread, run string
	frames      []frame
	whole       bool // it has read to the end
	told        bool // that it has ended
	early       bool // before it had
	cuts        int
}

// clients do what people and programs do, and write down what they are shown.
type clients struct {
	c       *cluster
	threads []string
	until   time.Time
	http    http.Client

	mu      sync.Mutex
	records []*record
	runs    []*record // those that somebody may cancel; without frames
	asked   map[string]int
}

// modes is what all readers ask for: then a frame is the same for all of them.
const modes = `["messages-tuple","updates","values"]`

var calls atomic.Int64 // so that no two have the same id

// script is an answer of some turns, with calls of the tool in between. Each call has an id of its own.
func script(r *rand.Rand) string {
	type call struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
		ID   string         `json:"id"`
	}
	type turn struct {
		Text   string  `json:"text,omitempty"`
		Tokens int     `json:"tokens,omitempty"`
		Rate   float64 `json:"rate,omitempty"`
		Calls  []call  `json:"tool_calls,omitempty"`
	}
	var turns []turn
	for range r.IntN(4) {
		t := turn{Text: "Now. ", Tokens: r.IntN(20), Rate: float64(20 + r.IntN(300))}
		for range 1 + r.IntN(2) {
			id := fmt.Sprintf("call-%d", calls.Add(1))
			t.Calls = append(t.Calls, call{note, map[string]any{"id": id, "ms": r.IntN(300)}, id})
		}
		turns = append(turns, t)
	}
	turns = append(turns, turn{Text: "So. ", Tokens: r.IntN(80), Rate: float64(20 + r.IntN(300))})
	b, err := json.Marshal(map[string]any{"turns": turns, "final": turn{Text: "Enough."}})
	if err != nil {
		panic(err)
	}
	return "SCRIPT" + string(b)
}

// work does one thing after another until it is time to end.
func (cs *clients) work(ctx context.Context, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for time.Now().Before(cs.until) {
		thread := cs.threads[r.IntN(len(cs.threads))]
		switch n := r.IntN(10); {
		case n < 6:
			cs.start(ctx, r, thread)
		case n < 8:
			cs.cancel(ctx, r)
		default:
			cs.read(ctx, thread)
		}
		time.Sleep(between(r, time.Millisecond, 200*time.Millisecond))
	}
}

// send is one request; whoever gets no answer asks another server. It returns 0 when nobody answers.
func (cs *clients) send(ctx context.Context, method, path, body string) (status int, answer []byte) {
	resp, err := cs.request(ctx, method, path, body, "")
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	cs.count(fmt.Sprintf("%s %d", method, resp.StatusCode))
	return resp.StatusCode, answer
}

func (cs *clients) request(ctx context.Context, method, path, body, cursor string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, cs.c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if cursor != "" {
		req.Header.Set("Last-Event-ID", cursor)
	}
	return cs.http.Do(req)
}

func (cs *clients) count(what string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.asked[what]++
}

// start starts a run and follows it to its end, over several connections.
func (cs *clients) start(ctx context.Context, r *rand.Rand, thread string) {
	how := []string{"reject", "enqueue", "enqueue", "interrupt", "rollback"}[r.IntN(5)]
	cs.count(how)
	body := fmt.Sprintf(`{"assistant_id": "lead_agent", "multitask_strategy": %q, "stream_mode": %s,
		"on_disconnect": "continue", "stream_resumable": true, "input": {"messages": [
			{"type": "human", "content": %q}]}}`, how, modes, script(r))
	if r.IntN(3) == 0 { // begun by one, followed by others
		status, answer := cs.send(ctx, "POST", "/threads/"+thread+"/runs", body)
		var run struct {
			ID string `json:"run_id"`
		}
		if status == http.StatusOK && json.Unmarshal(answer, &run) == nil {
			cs.follow(ctx, r, cs.know(thread, run.ID))
		}
		return
	}
	resp, err := cs.request(ctx, "POST", "/threads/"+thread+"/runs/stream", body, "")
	if err != nil {
		return
	}
	at := resp.Header.Get("Content-Location")
	if resp.StatusCode != http.StatusOK || at == "" {
		resp.Body.Close()
		return
	}
	rec := cs.know(thread, at[strings.LastIndex(at, "/")+1:])
	cs.take(resp, r, rec)
	cs.follow(ctx, r, rec)
}

// know makes a run known to those who may cancel it, and a record of who follows it.
func (cs *clients) know(thread, run string) *record {
	rec := &record{thread: thread, run: run}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.records = append(cs.records, rec)
	cs.runs = append(cs.runs, rec)
	return rec
}

// follow reads until the run has ended, and somebody says that nothing comes any more.
func (cs *clients) follow(ctx context.Context, r *rand.Rand, rec *record) {
	for ctx.Err() == nil {
		status, answer := cs.send(ctx, "GET", "/threads/"+rec.thread+"/runs/"+rec.run, "")
		var run struct{ Status string }
		if status == http.StatusNotFound {
			return // rolled back
		}
		if status != http.StatusOK || json.Unmarshal(answer, &run) != nil {
			time.Sleep(between(r, 10*time.Millisecond, 300*time.Millisecond))
			continue
		}
		ended := run.Status != "pending" && run.Status != "running"
		rec.early = rec.early || rec.told && !ended
		cursor := "-1"
		if n := len(rec.frames); n > 0 {
			cursor = rec.frames[n-1].id
		}
		resp, err := cs.request(ctx, "GET", rec.stream(), "", cursor)
		if err != nil {
			continue
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			continue
		}
		if whole := cs.take(resp, r, rec); whole && ended {
			rec.whole = true
			return
		}
		rec.cuts++
	}
}

// stream is where the run is read in all modes.
func (rec *record) stream() string {
	var list []string
	if err := json.Unmarshal([]byte(modes), &list); err != nil {
		panic(err)
	}
	return "/threads/" + rec.thread + "/runs/" + rec.run + "/stream?stream_mode=" + strings.Join(list, "&stream_mode=")
}

// take adds what comes on a connection to a record, and now and then leaves early. True says that nothing more comes.
func (cs *clients) take(resp *http.Response, r *rand.Rand, rec *record) (clean bool) {
	defer resp.Body.Close()
	left := -1
	if r.IntN(3) == 0 {
		left = r.IntN(60)
	}
	whole, frames := frames(resp.Body, left)
	rec.frames = append(rec.frames, frames...)
	rec.told = rec.told || whole
	return whole
}

// frames reads at most so many, all when that is negative. A last one that is cut does not count. They are whole when
// the server says so: one that stops ends its connections without a word, wherever they are.
func frames(body io.Reader, most int) (whole bool, list []frame) {
	lines := bufio.NewReaderSize(body, 1<<20)
	var f frame
	said := false
	for len(list) != most {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return said && err == io.EOF, list
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(string(line), ": ")
		switch {
		case len(line) == 0 && f != (frame{}):
			if f.event == "end" {
				said = true
			} else {
				list = append(list, f)
			}
			f = frame{}
		case name == "id":
			f.id = value
		case name == "event":
			f.event = value
		case name == "data":
			f.data += value
		}
	}
	return false, list
}

// cancel ends some run, in one of the ways there are.
func (cs *clients) cancel(ctx context.Context, r *rand.Rand) {
	cs.mu.Lock()
	n := len(cs.runs)
	var rec *record
	if n > 0 {
		rec = cs.runs[max(0, n-1-r.IntN(6))]
	}
	cs.mu.Unlock()
	if rec == nil {
		return
	}
	how := []string{"interrupt", "interrupt", "rollback"}[r.IntN(3)]
	cs.send(ctx, "POST", fmt.Sprintf("/threads/%s/runs/%s/cancel?action=%s&wait=%t", rec.thread, rec.run, how,
		r.IntN(2) == 0), "")
}

// read looks at a thread.
func (cs *clients) read(ctx context.Context, thread string) {
	cs.send(ctx, "GET", "/threads/"+thread+"/state", "")
	cs.send(ctx, "GET", "/threads/"+thread+"/history?limit=3", "")
}
