package web_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"fawn/web"
)

// TestReadersOfAStoppingServerGoOnWithTheNext: a stream is cut off, as its run has not ended, and goes on from its
// cursor at the next server, where the run is finished.
func TestReadersOfAStoppingServerGoOnWithTheNext(t *testing.T) {
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
	a := s.send(t, "GET", run+"/stream", "", "Last-Event-ID", last)
	if a.status != http.StatusOK || !strings.Contains(a.body, `"attempt":2`) ||
		!strings.Contains(a.body, "event: end") {
		t.Errorf("the next server: %d %.2000s", a.status, a.body)
	}
	if got := s.send(t, "GET", run, "").body; !strings.Contains(got, `"success"`) {
		t.Errorf("run: %s", got)
	}
}
