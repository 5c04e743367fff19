package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

const (
	// maxFrame limits one frame of a stream, in bytes.
	maxFrame = 64 << 20
	// awayTime limits a server's absence while its run is followed.
	awayTime = 30 * time.Second
	// silence is the time without data after which a connection is dropped; servers send heartbeats every ten seconds.
	silence = 30 * time.Second
	// firstPause is a reader's delay before its first reconnect; it doubles up to maxPause.
	firstPause, maxPause = 100 * time.Millisecond, 2 * time.Second
)

// follower reads the stream of a run, over as many connections as that takes.
type follower struct {
	on      func(event string, data []byte)
	heard   time.Time // time of the last received data
	last    string    // id of the last event
	failure string    // the run's error
	ended   bool
}

// errSilent ends a silent connection: its server hangs, or is unreachable.
var errSilent = errors.New("no data from the server for 30 seconds")

// open makes a request with a streaming response, and closes it after a long silence. A request that may start a run is
// answered once the run is stored, without a time limit.
func (s Server) open(ctx context.Context, method, path string, h http.Header, body io.Reader) (
	*http.Response, error) {
	one, stop := context.WithCancelCause(ctx)
	quiet := time.AfterFunc(silence, func() { stop(errSilent) })
	if method == http.MethodPost {
		quiet.Stop()
	}
	res, err := s.do(one, method, path, h, body)
	if quiet.Stop() || method == http.MethodPost {
		quiet.Reset(silence)
	}
	if err != nil {
		quiet.Stop()
		err = cmp.Or(silent(one), err)
		stop(nil)
		return nil, err
	}
	res.Body = &heard{res.Body, one, quiet, stop}
	return res, nil
}

// silent returns the reason for dropping a silent connection, nil otherwise.
func silent(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, errSilent) {
		return err
	}
	return nil
}

// heard is the body of such an answer.
type heard struct {
	io.ReadCloser
	ctx   context.Context
	quiet *time.Timer
	stop  context.CancelCauseFunc
}

// Read implements io.Reader.
func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if n > 0 {
		h.quiet.Reset(silence)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = cmp.Or(silent(h.ctx), err)
	}
	return n, err
}

// Close implements io.Closer.
func (h *heard) Close() error {
	h.quiet.Stop()
	h.stop(nil)
	return h.ReadCloser.Close()
}

// Listener receives the events of a run, from one goroutine.
type Listener struct {
	Begun func(run string)                // called with the run's id
	Event func(event string, data []byte) // called with each event of its stream
	Away  func(why string)                // called if the server can't be reached; it is retried
}

// Follow starts a run in a thread and follows it to its end, across lost connections and server restarts. failure is
// the run's error.
func (s Server) Follow(ctx context.Context, thread string, body map[string]any, l Listener) (failure string, err error) {
	b, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	at, run := "/threads/"+url.PathEscape(thread)+"/runs/", ""
	res, err := s.open(ctx, http.MethodPost, at+"stream", header("Content-Type", "application/json"), bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	if made := res.Header.Get("Content-Location"); made != "" {
		run = path.Base(made)
		l.Begun(run)
	}
	f := &follower{on: l.Event, heard: time.Now()}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if res != nil {
			before := f.heard
			if err = f.read(res); f.heard != before {
				pause, f.heard = firstPause, time.Now() // it may have been silent for a while
			}
		}
		var no *Refusal
		if f.ended {
			return f.failure, nil
		}
		final := errors.As(err, &no) && no.final() || errors.Is(err, bufio.ErrTooLong)
		if run == "" {
			return "", fmt.Errorf("read the run: %w", err)
		}
		if final || time.Since(f.heard) > awayTime {
			return "", fmt.Errorf("follow run %s in chat %s, which may still be running: %w", run, thread, err)
		}
		if pause == maxPause {
			l.Away(fmt.Sprintf("the server is away; waiting up to %v for it", awayTime))
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(pause):
		}
		res, err = s.open(ctx, http.MethodGet, at+url.PathEscape(run)+"/stream", header("Last-Event-ID", f.last), nil)
	}
}

// read handles events until the run or the connection ends. An incomplete event is repeated on the next connection.
func (f *follower) read(res *http.Response) error {
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxFrame)
	var event, data, id string
	for lines.Scan() {
		f.heard = time.Now()
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "event":
			event = value
		case "data":
			data = value
		case "id":
			id = value
		case "":
			f.hear(event, []byte(data))
			event, data, f.last = "", "", cmp.Or(id, f.last)
		}
	}
	return cmp.Or(lines.Err(), fmt.Errorf("%w: the server stopped", io.ErrUnexpectedEOF))
}

// hear handles one event.
func (f *follower) hear(event string, data []byte) {
	switch event {
	case "error":
		var e struct{ Error, Message string }
		if json.Unmarshal(data, &e) != nil || e.Message == "" {
			e.Message = string(data)
		}
		f.failure = e.Message
	case "end":
		f.ended = true
	default:
		f.on(event, data)
	}
}
