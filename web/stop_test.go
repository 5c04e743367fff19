package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestReadersOfAStoppingServerGoOnWithTheNext: a stream is cut off, as its run has not ended, and goes on from its
// cursor at the next server, where the run is finished.
func TestReadersOfAStoppingServerGoOnWithTheNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := scripted(t)
	s := start(t, conf, func(o *web.Options) { o.Data = dir })
	l := s.stream(t, t.Context(), "/threads/t1/runs/stream",
		human(`SCRIPT{"turns": [{"text": "first words, ", "chunk": 6, "tokens": 1200, "rate": 200}]}`,
			`"stream_mode": ["messages-tuple"]`))
	run := l.res.Header.Get("Content-Location")
	l.until(t, "lorem")
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	last, ended := "", false
	for l.line.Scan() {
		ended = ended || l.line.Text() == "event: end"
		if id, ok := strings.CutPrefix(l.line.Text(), "id: "); ok {
			last = id
		}
	}
	if err := <-stopped; err != nil || ended || last == "" || !errors.Is(l.line.Err(), io.ErrUnexpectedEOF) {
		t.Fatalf("end %v, cursor %q, %v %v", ended, last, err, l.line.Err())
	}

	s = start(t, conf, func(o *web.Options) { o.Data = dir })
	s.send(t, "GET", run+"/stream", "", "Last-Event-ID", last).want(t, "the next server", http.StatusOK, `"attempt":2`, "event: end")
	webtest.Holds(t, "run", s.send(t, "GET", run, "").body, `"success"`)
}

// hearing is a log that calls a function when some words are written to it.
type hearing struct {
	words string
	then  func()
}

// Write implements io.Writer.
func (h hearing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(h.words)) {
		h.then()
	}
	return len(p), nil
}

// TestAStopWhileTheDatabaseIsAwayIsNoFailure: a service manager that gives up on the start isn't told that it failed.
func TestAStopWhileTheDatabaseIsAwayIsNoFailure(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	config := filepath.Join(t.TempDir(), "config.yaml")
	database := "database: {url: 'postgres://fawn@" + nobody.Addr().String() + "/fawn?sslmode=disable'}\n"
	must.Do(t, errors.Join(nobody.Close(), os.WriteFile(config, []byte(database), 0o600)))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log := slog.New(slog.NewTextHandler(hearing{"database unreachable; retrying", stop}, nil))
	err = web.Serve(ctx, web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: config, Log: log, Out: io.Discard})
	if err != nil || ctx.Err() == nil {
		t.Errorf("it ended with %v, asked to: %v", err, ctx.Err() != nil)
	}
}
