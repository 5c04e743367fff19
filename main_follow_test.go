package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web/client"
)

// relay is a proxy to a server that may change. Streams through it break off after cut bytes, if that is not 0.
type relay struct {
	*httptest.Server
	to      atomic.Pointer[url.URL]
	streams atomic.Int64
}

func newRelay(t *testing.T, s *server, cut int) *relay {
	t.Helper()
	r := &relay{}
	r.leadTo(t, s)
	r.Server = httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(r.to.Load())
			agenttest.ReadAhead(p)
		},
		ModifyResponse: func(res *http.Response) error {
			if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
				r.streams.Add(1)
				if cut > 0 {
					res.Body = &cutOff{res.Body, cut}
				}
			}
			return nil
		}})
	t.Cleanup(r.Close)
	return r
}

func (r *relay) leadTo(t *testing.T, s *server) {
	t.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	r.to.Store(to)
}

// cutOff is a body that breaks off.
type cutOff struct {
	io.ReadCloser
	left int
}

func (c *cutOff) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// TestRunFollowsOverConnectionsThatBreak: on a terminal every piece of the answer appears once.
func TestRunFollowsOverConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--data", t.TempDir(), "--config", configured(t))
	front := newRelay(t, s, 4000)
	hc := &http.Client{Transport: &http.Transport{}}
	defer hc.CloseIdleConnections()
	var answer, progress bytes.Buffer
	r, err := client.Run(t.Context(), client.Server{URL: front.URL, Client: hc},
		client.Task{Text: "echo 120 tokens at 0 tok/s"},
		client.Screen{Answer: &answer, Progress: &progress, Live: true})
	if err != nil || r.Status != client.Success || progress.String() != "" {
		t.Fatalf("%+v %v %s", r, err, progress.String())
	}
	if strings.Count(r.Answer, "lorem") != 120 || strings.TrimRight(answer.String(), "\n") != r.Answer {
		t.Errorf("shown: %q, stored: %q", answer.String(), r.Answer)
	}
	if n := front.streams.Load(); n < 3 || len(runsOf(t, s, r.ThreadID)) != 1 {
		t.Errorf("%d connections, runs %v", n, runsOf(t, s, r.ThreadID))
	}
}

// TestRunWaitsForItsServer: one that is killed and started again behind the same address.
func TestRunWaitsForItsServer(t *testing.T) {
	t.Parallel()
	args := []string{"--data", t.TempDir(), "--config", configured(t, "title: {enabled: false}")}
	s := serve(t, nil, args...)
	front := newRelay(t, s, 0)
	cmd := program(t, nil, "run", "echo 300 tokens at 100 tok/s", "--json", "--server", front.URL)
	var stdout, stderr agenttest.Log
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		for _, th := range call[[]struct {
			ID string `json:"thread_id"`
		}](t, s, "GET", "/threads", "") {
			return strings.Count(page(t, s, "/workspace/chats/"+th.ID), "lorem lorem") > 0
		}
		return false
	})
	s.end(t, os.Kill)
	front.leadTo(t, serve(t, nil, args...))
	err := cmd.Wait()
	got := object(t, result{stdout: stdout.String(), stderr: stderr.String()})
	if err != nil || got.Status != "success" || strings.Count(got.Answer, "lorem") != 300 || front.streams.Load() < 2 {
		t.Errorf("%v: %+v %s, %d connections", err, got, stderr.String(), front.streams.Load())
	}
}
