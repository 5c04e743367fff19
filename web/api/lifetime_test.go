package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/web/webtest"
)

// hangAgent says something and waits to be cancelled; later it answers.
func hangAgent() *agent.Agent {
	return &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{
		{Chunks: []agent.Chunk{{Text: "half an "}}, Hang: true}, agenttest.Say("whole.")}}}
}

// until reads a stream up to the first event of a name.
func until(t *testing.T, r *bufio.Reader, event string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		must.Do(t, err, fmt.Sprintf("no %s event", event))
		if strings.TrimSpace(line) == "event: "+event {
			return
		}
	}
}

func TestDisconnectCancelsOnlyWhenAsked(t *testing.T) {
	for _, c := range []struct{ name, path, body, want string }{
		{"stream continues", "/threads/t1/runs/stream", `{"input":{"messages":"hi"},"stream_mode":"messages-tuple"}`, runs.Running},
		{"native stream continues", "/api/threads/t1/runs/stream", `{"input":{"messages":"hi"},"stream_mode":"messages-tuple"}`, runs.Running},
		{"stream cancels", "/threads/t1/runs/stream", `{"input":{"messages":"hi"},"stream_mode":"messages-tuple","on_disconnect":"cancel"}`, runs.Interrupted},
		{"wait cancels", "/threads/t1/runs/wait", `{"input":{"messages":"hi"},"on_disconnect":"cancel"}`, runs.Interrupted},
		{"wait continues", "/threads/t1/runs/wait", `{"input":{"messages":"hi"}}`, runs.Running},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t, hangAgent())
			w.api.SetBeat(20 * time.Millisecond)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			res := w.request(t, ctx, "POST", c.path, c.body)
			if strings.HasSuffix(c.path, "stream") {
				until(t, bufio.NewReader(res.Body), "messages")
			} else if b := make([]byte, 1); true {
				if _, err := io.ReadFull(res.Body, b); err != nil || b[0] != '\n' {
					t.Fatalf("keep-alive %q %v", b, err)
				}
			}
			id := runID(t, res.Header)
			leave()
			res.Body.Close()
			if c.want == runs.Interrupted {
				wait, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if r, err := w.m.Wait(wait, id); err != nil || r.Status != runs.Interrupted {
					t.Fatalf("%+v %v", r, err)
				}
				return
			}
			// Whoever comes later still finds the run going on.
			again := w.request(t, t.Context(), "GET", "/threads/t1/runs/"+id+"/stream", "")
			until(t, bufio.NewReader(again.Body), "metadata")
			again.Body.Close()
			if r, err := w.db.Run(t.Context(), id); err != nil || r.Status != runs.Running {
				t.Fatalf("%+v %v", r, err)
			}
			w.send(t, "POST", "/threads/t1/runs/"+id+"/cancel?wait=1", "").must(t, "/threads/t1/runs/"+id+"/cancel?wait=1", 204)
		})
	}
}

func TestCancelKeepsWhatWasSaid(t *testing.T) {
	w := open(t, hangAgent())
	res := w.request(t, t.Context(), "POST", "/threads/t1/runs/stream",
		`{"input":{"messages":"hi"},"stream_mode":["messages-tuple","updates","values"]}`)
	r := bufio.NewReader(res.Body)
	until(t, r, "messages")
	id := runID(t, res.Header)
	if a := w.send(t, "POST", "/threads/t1/runs/"+id+"/cancel?wait=0&action=interrupt", ""); a.status != 202 ||
		a.body != "" {
		t.Fatalf("%d %q", a.status, a.body)
	}
	rest, err := io.ReadAll(r)
	must.Do(t, err)
	_, rest2, _ := strings.Cut(string(rest), "\n\n")
	webtest.Same(t, "after the cancel", events(frames(t, rest2)), "updates values end")
	webtest.Holds(t, "the partial answer is gone", rest2, "half an ")
	state := w.ok(t, "GET", "/threads/t1/state", "")
	if fmt.Sprint(state["next"]) != "[model]" {
		t.Errorf("next = %v", state["next"])
	}
	if th := w.ok(t, "GET", "/threads/t1", ""); th["status"] != "interrupted" {
		t.Errorf("thread = %v", th["status"])
	}
	for q, want := range map[string]int{"?wait=0": 202, "?wait=1": 204, "?wait=maybe": 422, "?action=rollback": 409,
		"?action=x": 422} {
		w.send(t, "POST", "/threads/t1/runs/"+id+"/cancel"+q, "").want(t, "again "+q, want)
	}
	// A run without input goes on; its first values are the state it goes on from.
	fs := frames(t, w.send(t, "POST", "/threads/t1/runs/stream", `{"input":null,"stream_mode":"values"}`).body)
	if got := events(fs); got != "metadata values values end" || !strings.Contains(fs[1].data, "half an ") ||
		!strings.Contains(fs[2].data, "whole.") {
		t.Errorf("continued: %s", got)
	}
	run := w.ok(t, "GET", "/threads/t1/runs/"+id, "")
	webtest.Same(t, "run", run["status"], "interrupted")
}

func TestNothingToRunSucceedsWithUnchangedValues(t *testing.T) {
	w := open(t, sayAgent("hello"))
	first := w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"hi"}}`)
	for _, body := range []string{`{"input":null}`, `{}`, `{"command":{"resume":"nobody asked"}}`} {
		again := w.send(t, "POST", "/threads/t1/runs/wait", body)
		if again.status != 200 || again.body != first.body {
			t.Errorf("%s: %d %s\nwant %s", body, again.status, again.body, first.body)
		}
	}
	got := events(frames(t, w.send(t, "POST", "/threads/t1/runs/stream", `{"input":null}`).body))
	webtest.Same(t, "got", got, "metadata values end")
}

func TestQueuedRunsKeepTheirStreamsAliveAndStartInOrder(t *testing.T) {
	gate := make(chan struct{})
	first := agenttest.Say("one")
	first.Before = gate
	w := open(t,
		&agent.Agent{
			Model: &agenttest.Script{Replies: []agenttest.Reply{first, agenttest.Say("two"), agenttest.Say("three")}},
		})
	w.api.SetBeat(10 * time.Millisecond)
	w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"1"}}`)
	second := w.request(t, t.Context(), "POST", "/threads/t1/runs/stream", `{"input":{"messages":"2"}}`)
	defer second.Body.Close()
	third := w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"3"}}`)
	beats := make([]byte, 3*len(": heartbeat\n"))
	if _, err := io.ReadFull(second.Body, beats); err != nil || string(beats) != strings.Repeat(": heartbeat\n", 3) {
		t.Fatalf("%q %v", beats, err)
	}
	a := w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"4"},"multitask_strategy":"reject"}`)
	if a.status != 409 ||
		a.body != `{"detail":"Thread t1 already has an active run"}` || a.header.Get("Content-Location") != "" {
		t.Errorf("reject: %d %s", a.status, a.body)
	}
	w.send(t, "POST", "/api/threads/t1/runs/stream", `{"input":{"messages":"4"}}`).want(t, "native default", 409)
	if a := w.send(t, "POST", "/threads/t1/state", `{"values":{"title":"x"}}`); a.status != 409 ||
		a.body != `{"detail":"Thread is busy"}` {
		t.Errorf("state of a busy thread: %d %s", a.status, a.body)
	}
	close(gate)
	rest, err := io.ReadAll(second.Body)
	must.Do(t, err)
	for strings.HasPrefix(string(rest), ":") {
		_, after, _ := strings.Cut(string(rest), "\n")
		rest = []byte(after)
	}
	webtest.Same(t, "got", events(frames(t, string(rest))), "metadata values values end")
	joined := w.send(t, "GET", "/threads/t1/runs/"+runID(t, third.header)+"/join", "")
	var texts []string
	for _, m := range decode[struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}](t, joined.body).Messages {
		texts = append(texts, m.Content)
	}
	webtest.Same(t, " ", strings.Join(texts, " "), "1 one 2 two 3 three")
}

// TestAStoppingServerCutsStreamsOff, whether its runs have been let go of by then or not: the run goes on, so nobody
// is told an end. Who comes back to it is sent away.
func TestAStoppingServerCutsStreamsOff(t *testing.T) {
	for name, stop := range map[string]func(*world){
		"drained":   func(w *world) { w.drain() },
		"let go of": func(w *world) { w.m.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, hangAgent())
			w.api.SetBeat(20 * time.Millisecond)
			res := w.request(t, t.Context(), "POST", "/threads/t1/runs/stream",
				`{"input":{"messages":"hi"},"stream_mode":"messages-tuple","on_disconnect":"cancel"}`)
			defer res.Body.Close()
			id := runID(t, res.Header)
			all := w.request(t, t.Context(), "GET", "/threads/t1/stream", "")
			defer all.Body.Close()
			events := w.request(t, t.Context(), "POST", "/threads/t1/stream/events", `{"channels":["messages"]}`)
			defer events.Body.Close()
			wait := w.request(t, t.Context(), "GET", "/threads/t1/runs/"+id+"/join", "")
			defer wait.Body.Close()
			r := bufio.NewReader(res.Body)
			until(t, r, "messages")
			stop(w)
			for what, body := range map[string]io.Reader{"run": r, "thread": all.Body, "events": events.Body,
				"wait": wait.Body} {
				rest, err := io.ReadAll(body)
				if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(string(rest), "event: end") ||
					strings.Contains(string(rest), "run_done") {
					t.Errorf("%s: %v after %s", what, err, rest)
				}
			}
			if run, err := w.db.Run(t.Context(), id); err != nil || run.Status != runs.Running {
				t.Errorf("a stopping server is no client that left: %+v %v", run, err)
			}
			if name == "drained" {
				return
			}
			w.send(t, "GET", "/threads/t1/runs/"+id+"/stream", "").want(t, "who comes back gets", http.StatusServiceUnavailable)
		})
	}
}

func TestTooManyReadersAreToldWhenToComeBack(t *testing.T) {
	w := open(t, hangAgent(), withConfig(func(s *config.Snapshot) { s.File.Server.MaxReaders = 1 }))
	res := w.request(t, t.Context(), "POST", "/threads/t1/runs/stream",
		`{"input":{"messages":"hi"},"stream_mode":"messages-tuple"}`)
	defer res.Body.Close()
	until(t, bufio.NewReader(res.Body), "messages")
	a := w.send(t, "POST", "/threads/t2/runs/stream", `{"input":{"messages":"hi"}}`)
	if a.status != 503 || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "server.max_readers") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	w.send(t, "GET", "/threads/t2", "").want(t, "a refused stream left a thread behind", 404)
}

func TestSlowReaderGetsEverything(t *testing.T) {
	words := make([]string, 3000)
	for i := range words {
		words[i] = fmt.Sprintf("w%d ", i)
	}
	w := open(t, sayAgent(words...))
	res := w.request(t, t.Context(), "POST", "/threads/t1/runs/stream",
		`{"input":{"messages":"hi"},"stream_mode":"messages-tuple"}`)
	defer res.Body.Close()
	// while nobody reads
	if r, err := w.m.Wait(t.Context(), runID(t, res.Header)); err != nil || r.Status != runs.Success {
		t.Fatalf("%+v %v", r, err)
	}
	b, err := io.ReadAll(res.Body)
	must.Do(t, err)
	n := 0
	for _, f := range frames(t, string(b)) {
		if f.event == "messages" && n < len(words) {
			if !strings.Contains(f.data, `"content":"`+words[n]+`"`) {
				t.Fatalf("frame %d: %s", n, f.data)
			}
			n++
		}
	}
	webtest.Same(t, "of … words", n, len(words))
}

func TestInterruptStrategyTakesOver(t *testing.T) {
	w := open(t, hangAgent())
	res := w.request(t, t.Context(), "POST", "/threads/t1/runs/stream",
		`{"input":{"messages":"one"},"stream_mode":"messages-tuple"}`)
	defer res.Body.Close()
	until(t, bufio.NewReader(res.Body), "messages")
	second := w.send(t, "POST", "/threads/t1/runs/wait",
		`{"input":{"messages":"two"},"multitask_strategy":"interrupt"}`)
	second.holds(t, "the answer", "one", "half an ", "two", "whole.")
	if r, err := w.db.Run(t.Context(), runID(t, res.Header)); err != nil || r.Status != runs.Interrupted {
		t.Errorf("first run: %+v %v", r, err)
	}
	w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"x"},"multitask_strategy":"roll back"}`).want(t, "unknown strategy", 422)
}

func TestStreamOfARunThatNeverStartedEnds(t *testing.T) {
	w := open(t, hangAgent())
	w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"one"}}`)
	res := w.request(t, t.Context(), "POST", "/threads/t1/runs/stream", `{"input":{"messages":"two"}}`)
	defer res.Body.Close()
	id := runID(t, res.Header)
	w.send(t, "POST", "/threads/t1/runs/"+id+"/cancel?wait=1", "").must(t, "/threads/t1/runs/"+id+"/cancel?wait=1", 204)
	b, err := io.ReadAll(res.Body)
	if err != nil || events(frames(t, string(b))) != "end" {
		t.Errorf("%s %v", b, err)
	}
	if a := w.send(t, "GET", "/threads/t1/runs/"+id+"/stream", ""); events(frames(t, a.body)) != "end" {
		t.Errorf("joined later: %s", a.body)
	}
	w.send(t, "DELETE", "/threads/t1", "")
}
