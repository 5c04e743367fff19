package headless

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
	// maxFrame bounds one frame of a stream, in bytes.
	maxFrame = 64 << 20
	// awayTime is how long a server may be away while its run is followed.
	awayTime = 30 * time.Second
	// firstPause is what a reader waits before it comes back; each pause is twice the last, up to maxPause.
	firstPause, maxPause = 100 * time.Millisecond, 2 * time.Second
)

// follower reads the stream of a run, over as many connections as that takes.
type follower struct {
	run     *Result
	show    *show
	heard   time.Time // when something last came
	last    string    // id of the last event
	failure string    // what the run says went wrong
	ended   bool
}

// stream starts the run and follows it to its end, also where connections break off or the server restarts.
// failure is what the run says went wrong.
func (s Server) stream(ctx context.Context, r *Result, body map[string]any, show *show) (failure string, err error) {
	b, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	at := "/threads/" + url.PathEscape(r.ThreadID) + "/runs/"
	res, err := s.do(ctx, http.MethodPost, at+"stream", header("Content-Type", "application/json"), bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	if made := res.Header.Get("Content-Location"); made != "" {
		r.RunID = path.Base(made)
	}
	f := &follower{run: r, show: show, heard: time.Now()}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if res != nil {
			before := f.heard
			if err = f.read(res); f.heard != before {
				pause = firstPause
			}
		}
		var no *refusal
		if f.ended {
			return f.failure, nil
		}
		final := errors.As(err, &no) && no.final() || errors.Is(err, bufio.ErrTooLong)
		if r.RunID == "" {
			return "", fmt.Errorf("read the run: %w", err)
		}
		if final || time.Since(f.heard) > awayTime {
			return "", fmt.Errorf("follow run %s in chat %s, which may still be running: %w", r.RunID, r.ThreadID, err)
		}
		if pause == maxPause {
			show.note(fmt.Sprintf("the server is away; waiting up to %v for it", awayTime))
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(pause):
		}
		res, err = s.do(ctx, http.MethodGet, at+url.PathEscape(r.RunID)+"/stream", header("Last-Event-ID", f.last), nil)
	}
}

// read hears events until the run or the connection ends. One that is cut off comes again on the next connection.
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

// hear is one event.
func (f *follower) hear(event string, data []byte) {
	switch event {
	case "error":
		var e struct{ Error, Message string }
		if json.Unmarshal(data, &e) != nil || e.Message == "" {
			e.Message = string(data)
		}
		f.failure = e.Message
	case "messages":
		f.show.delta(data)
	case "updates":
		f.show.step(data)
	case "end":
		f.ended = true
	}
}
