package httpx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/httpx"
	"fawn/web/webtest"
)

func TestFrameIsOneLineOfData(t *testing.T) {
	got := string(httpx.AppendFrame(nil, "custom", []byte("{\n \"a\": \"b\\n\"\r\n}"), httpx.ID{Seq: 7}))
	if want := "event: custom\ndata: {  \"a\": \"b\\n\"  }\nid: 7\n\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	webtest.Same(t, "without id", string(httpx.AppendFrame([]byte("x"), "end", []byte("null"), httpx.ID{})), "xevent: end\ndata: null\n\n")
}

// serve runs one stream handler on a real server whose writes have a deadline.
func serve(t *testing.T, h func(s *httpx.Stream), beat time.Duration) *http.Response {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := httpx.NewStream(w, beat)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		h(s)
	}))
	srv.Config.WriteTimeout = 50 * time.Millisecond
	srv.Start()
	t.Cleanup(srv.Close)
	res, err := http.Get(srv.URL)
	must.Do(t, err)
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestHeadersLeaveBeforeTheFirstEvent(t *testing.T) {
	gate := make(chan struct{})
	res := serve(t, func(s *httpx.Stream) { <-gate; s.Write([]byte("x"), true) }, time.Hour)
	for k, want := range map[string]string{"Content-Type": "text/event-stream",
		"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"} {
		webtest.Same(t, k, res.Header.Get(k), want)
	}
	close(gate)
	if b, err := io.ReadAll(res.Body); string(b) != "x" || err != nil {
		t.Errorf("body = %q, %v", b, err)
	}
}

func TestHeartbeatIsOneLineAndOutlivesTheWriteDeadline(t *testing.T) {
	const beat = ": heartbeat\n"
	gate := make(chan struct{})
	res := serve(t, func(*httpx.Stream) { <-gate }, 20*time.Millisecond)
	b := make([]byte, 5*len(beat))
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != strings.Repeat(beat, 5) {
		t.Errorf("%q %v", b, err)
	}
	close(gate)
	rest, err := io.ReadAll(res.Body)
	if err != nil || strings.Trim(strings.ReplaceAll(string(rest), beat, ""), "") != "" {
		t.Errorf("rest = %q, %v", rest, err)
	}
}

// TestTheFirstHeartbeatHasItsTime: a stream that has begun says nothing before a heartbeat is due.
func TestTheFirstHeartbeatHasItsTime(t *testing.T) {
	for after, want := range map[time.Duration]string{time.Minute: "x", 61 * time.Second: "x: heartbeat\n"} {
		synctest.Test(t, func(t *testing.T) {
			rec := httptest.NewRecorder()
			s, err := httpx.NewStream(rec, time.Minute)
			must.Do(t, err)
			must.Do(t, s.Write([]byte("x"), true))
			time.Sleep(after)
			s.Close()
			webtest.Same(t, fmt.Sprintf("after %v the stream has", after), rec.Body.String(), want)
		})
	}
}

func TestLimiterGivesPlacesBack(t *testing.T) {
	var l httpx.Limiter
	a, err := l.Acquire(1)
	must.Do(t, err)
	_, err = l.Acquire(1)
	if d := new(httpx.Detail); !errors.As(err, &d) || d.Status != http.StatusServiceUnavailable {
		t.Errorf("over the limit: %v", err)
	}
	a()
	if _, err := l.Acquire(1); err != nil {
		t.Errorf("after release: %v", err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("{\"a\":\n[1,\r\n2]}"))
	f.Add([]byte("\"\u2028\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		b := httpx.AppendFrame(nil, "x", data, httpx.ID{Seq: 3})
		b, ok := bytes.CutPrefix(b, []byte("event: x\ndata: "))
		b, ok2 := bytes.CutSuffix(b, []byte("\nid: 3\n\n"))
		if !ok || !ok2 || bytes.ContainsAny(b, "\r\n") {
			t.Fatalf("%q", b)
		}
		var one, two bytes.Buffer // the same value, however its numbers would be read
		err := errors.Join(json.Compact(&one, data), json.Compact(&two, b))
		if err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%q became %q: %v", data, b, err)
		}
	})
}
