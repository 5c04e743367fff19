//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/web/e2e/gate"
)

// TestEveryReaderEndsWithTheSameMessages: while a model speaks and calls tools, one reader
// stays, one leaves and comes back at random points, one forgets everything and reads from
// the start, and the server is killed and started again. All of them, and the state, end
// with the same messages in the same order.
func TestEveryReaderEndsWithTheSameMessages(t *testing.T) {
	t.Parallel()
	rounds := gate.Pick(2, 6, 60)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	h := &host{dir: t.TempDir(), conf: configured(t), changed: make(chan struct{})}
	h.start(t)
	withdrawn := 0
	for round := range rounds {
		if time.Since(h.since) > patience { // a server of these tests does not live for ever
			h.restart(t)
		}
		thread := fmt.Sprint("t", round)
		run := call[runRow](t, h.now(), "POST", "/threads/"+thread+"/runs", input(randomScript(r)))
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		readers := []*listener{{name: "that stays"}, {name: "that comes back", leave: 25},
			{name: "that starts again", leave: 60, forget: true}}
		var wg sync.WaitGroup
		for _, l := range readers {
			l.host = h
			l.path = "/threads/" + thread + "/runs/" + run.ID + "/stream"
			l.rand = rand.New(rand.NewPCG(seed, r.Uint64()))
			wg.Go(func() { l.err = l.listen(ctx) })
		}
		for range r.IntN(3) {
			time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
			h.restart(t)
		}
		wg.Wait()
		cancel()
		want := call[struct {
			Values struct{ Messages []heard }
		}](t, h.now(), "GET", "/threads/"+thread+"/state", "").Values.Messages
		want = slices.DeleteFunc(want, func(m heard) bool { return m.Type == "human" })
		for _, l := range readers {
			if l.err != nil {
				t.Errorf("round %d: the reader %s: %v", round, l.name, l.err)
			}
			if got, want := lines(l.all), lines(want); got != want {
				t.Errorf("round %d: the reader %s has\n%s\nand the state\n%s", round, l.name, got, want)
			}
			withdrawn += l.withdrawn
		}
		if row := call[runRow](t, h.now(), "GET", "/threads/"+thread+"/runs/"+run.ID, ""); row.Status != "success" {
			t.Errorf("round %d: the run ended as %+v", round, row)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d messages were withdrawn", withdrawn)
}

// randomScript is a conversation of a few turns with text, reasoning and tools.
func randomScript(r *rand.Rand) string {
	type turn = map[string]any
	var turns []turn
	for range r.IntN(4) {
		one := turn{"text": fmt.Sprintf("turn %d ", r.IntN(1000)), "tokens": r.IntN(60), "rate": 300 + r.IntN(700)}
		if r.IntN(2) == 0 {
			one["reasoning"] = "let me think"
		}
		var calls []turn
		for range 1 + r.IntN(3) {
			calls = append(calls, turn{"name": "ls", "args": turn{"description": "look", "path": "/mnt/user-data"}})
		}
		one["tool_calls"] = calls
		turns = append(turns, one)
	}
	turns = append(turns, turn{"text": "at last ", "tokens": 20 + r.IntN(100), "rate": 300 + r.IntN(700)})
	script, err := json.Marshal(turn{"turns": turns})
	if err != nil {
		panic(err)
	}
	return "SCRIPT" + string(script)
}

// host is a server that is killed and started again on the same folder.
type host struct {
	dir, conf string

	mu      sync.Mutex
	server  *server
	since   time.Time     // when it started; of the test's goroutine only
	changed chan struct{} // closed when there is another server
}

func (h *host) start(t *testing.T) {
	s := serve(t, nil, "--data", h.dir, "--config", h.conf)
	h.since = time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server = s
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *host) restart(t *testing.T) {
	t.Helper()
	h.now().end(t, os.Kill)
	h.start(t)
}

func (h *host) now() *server {
	s, _ := h.next()
	return s
}

// next is the server of now, and what tells that there is another one.
func (h *host) next() (*server, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server, h.changed
}

// heard is a message as a reader has it.
type heard struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Content string `json:"content"`
}

func lines(list []heard) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%s %s %s\n", m.Type, m.ID, strconv.Quote(m.Content))
	}
	return b.String()
}

// listener is a client that reads a run's messages.
type listener struct {
	name   string
	host   *host
	path   string
	rand   *rand.Rand
	leave  int  // leaves after up to so many frames, 0 = never
	forget bool // and forgets what it had, a few times

	last      string // id of the last frame
	all       []heard
	withdrawn int
	err       error
}

// listen reads to the end of the run, through leaving and through servers that go away.
func (l *listener) listen(ctx context.Context) error {
	for {
		s, changed := l.host.next()
		ended, gone, err := l.connect(ctx, s.url)
		switch {
		case err != nil:
			return err
		case ended:
			return nil
		case gone: // the server was killed: wait for the next
			select {
			case <-changed:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case l.forget:
			if l.last, l.all = "", nil; l.rand.IntN(5) == 0 {
				l.leave = 0 // else it would never come to the end
			}
		}
	}
}

// connect reads from the last frame on until the end, until it leaves, or until the server
// is gone.
func (l *listener) connect(ctx context.Context, url string) (ended, gone bool, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url+l.path+"?stream_mode=messages-tuple", nil)
	if err != nil {
		return false, false, err
	}
	if l.last != "" {
		req.Header.Set("Last-Event-ID", l.last)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		return false, true, context.Cause(ctx)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		return false, false, fmt.Errorf("%s: %s", res.Status, body)
	}
	left := -1
	if l.leave > 0 {
		left = l.rand.IntN(l.leave)
	}
	var event, data, id string
	r := bufio.NewReader(res.Body)
	for left != 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			return false, true, context.Cause(ctx)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			data = value
		case "id":
			id = value
		case "": // the frame is whole
			if event == "end" {
				return true, false, nil
			}
			if err := l.hear(event, data); err != nil {
				return false, false, err
			}
			if id != "" {
				l.last = id
			}
			event, data, id = "", "", ""
			left--
		}
	}
	return false, false, nil
}

// hear takes one frame.
func (l *listener) hear(event, data string) error {
	if event != "messages" {
		return nil
	}
	var pair [2]heard
	if err := json.Unmarshal([]byte(data), &[]any{&pair[0], &json.RawMessage{}}); err != nil {
		return fmt.Errorf("%w in %s", err, data)
	}
	m := pair[0]
	at := slices.IndexFunc(l.all, func(have heard) bool { return have.ID == m.ID })
	switch {
	case m.Type == "remove":
		l.withdrawn++
		l.all = slices.DeleteFunc(l.all, func(have heard) bool { return have.ID == m.ID })
	case m.Type == "AIMessageChunk" && at >= 0:
		l.all[at].Content += m.Content
	case m.Type == "AIMessageChunk":
		m.Type = "ai"
		l.all = append(l.all, m)
	case at >= 0:
		l.all[at] = m
	default:
		l.all = append(l.all, m)
	}
	return nil
}
