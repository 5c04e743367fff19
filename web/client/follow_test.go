package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// front answers requests in place of a server: the first with a stream that breaks off, the rest as later says.
type front struct {
	first    io.Reader
	later    func() (*http.Response, error)
	requests int
}

func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.requests++; f.requests > 1 {
		return f.later()
	}
	r.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Header: header("Content-Location", "/threads/t/runs/r"),
		Body: io.NopCloser(f.first)}, nil
}

// endless is a line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// mute is a body on which nothing comes until its request ends.
type mute struct {
	first io.Reader
	ctx   context.Context
}

func (m mute) Read(p []byte) (int, error) {
	if n, err := m.first.Read(p); err == nil {
		return n, nil
	}
	<-m.ctx.Done()
	return 0, m.ctx.Err()
}

// frozen is a server that stands still behind its first lines and takes connections up without an answer, so many times.
// Then it goes on.
type frozen struct {
	times    int
	requests int
}

func (f *frozen) RoundTrip(r *http.Request) (*http.Response, error) {
	const began, rest = "event: metadata\ndata: {}\nid: 1\n\n", "event: end\ndata: null\n\n"
	f.requests++
	switch {
	case f.requests == 1:
		time.Sleep(2 * silence) // until the run is stored
		r.Body.Close()
		return &http.Response{StatusCode: http.StatusOK, Header: header("Content-Location", "/threads/t/runs/r"),
			Body: io.NopCloser(mute{strings.NewReader(began), r.Context()})}, nil
	case f.requests <= f.times+1:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if r.Header.Get("Last-Event-ID") != "1" {
		return nil, errors.New("it doesn't go on behind what it has")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(rest))}, nil
}

// TestASilentServerIsLeft after thirty seconds, and looked for anew, by a fake clock.
func TestASilentServerIsLeft(t *testing.T) {
	for times, ok := range map[int]bool{0: true, 2: false} {
		synctest.Test(t, func(t *testing.T) {
			f := &frozen{times: times}
			start := time.Now()
			_, err := Server{URL: "http://server", Client: &http.Client{Transport: f}}.Follow(t.Context(),
				"t", map[string]any{}, Listener{Begun: func(string) {}, Event: func(string, []byte) {}, Away: func(string) {}})
			if took := time.Since(start) - 2*silence; ok != (err == nil) || !ok && !errors.Is(err, errSilent) ||
				took < silence || took > 2*silence+maxPause {
				t.Errorf("frozen %d times: %v after %v and %d requests", times, err, took, f.requests)
			}
		})
	}
}

// TestARunIsNotFollowedForEver uses a fake clock.
func TestARunIsNotFollowedForEver(t *testing.T) {
	const began = "event: metadata\ndata: {}\nid: 1\n\n"
	away := errors.New("nobody listens")
	for name, tc := range map[string]struct {
		first    io.Reader
		status   int // of later answers, 0 where nobody listens
		wait     time.Duration
		requests int // 0 for any number of them
		is       func(error) bool
	}{
		"a server that stays away": {first: strings.NewReader(began), wait: awayTime,
			is: func(err error) bool { return errors.Is(err, away) }},
		"a proxy without a server": {first: strings.NewReader(began), status: http.StatusBadGateway, wait: awayTime,
			is: func(err error) bool { return strings.Contains(err.Error(), "502") }},
		"a run that is not there": {first: strings.NewReader(began), status: http.StatusNotFound, wait: firstPause,
			requests: 2, is: func(err error) bool { return strings.Contains(err.Error(), "404") }},
		"a frame without an end": {first: endless{}, requests: 1,
			is: func(err error) bool { return errors.Is(err, bufio.ErrTooLong) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &front{first: tc.first, later: func() (*http.Response, error) {
					if tc.status == 0 {
						return nil, away
					}
					return &http.Response{StatusCode: tc.status, Status: fmt.Sprint(tc.status),
						Body: http.NoBody}, nil
				}}
				var progress bytes.Buffer
				show := &show{Screen: Screen{Answer: io.Discard, Progress: &progress}}
				start := time.Now()
				_, err := Server{URL: "http://server", Client: &http.Client{Transport: f}}.Follow(t.Context(), "t",
					map[string]any{}, Listener{Begun: func(string) {}, Event: func(string, []byte) {}, Away: show.note})
				took := time.Since(start)
				if err == nil || !tc.is(err) || !strings.Contains(err.Error(), "run r in chat t") {
					t.Errorf("the error: %v", err)
				}
				if took < tc.wait || took > tc.wait+maxPause {
					t.Errorf("given up after %v, not %v", took, tc.wait)
				}
				if tc.requests > 0 && f.requests != tc.requests {
					t.Errorf("%d requests", f.requests)
				}
				if told := strings.Contains(progress.String(), "the server is away"); told != (tc.wait == awayTime) {
					t.Errorf("shown: %q", progress.String())
				}
			})
		})
	}
}
