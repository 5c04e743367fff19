package api_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// attendant reads a thread's stream frame by frame.
type attendant struct {
	scan *bufio.Scanner
	stop context.CancelFunc
	body io.Closer
}

func (w *world) attend(t *testing.T, path string, headers ...string) *attendant {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	res := w.request(t, ctx, "GET", path, "", headers...)
	t.Cleanup(func() { cancel(); res.Body.Close() })
	webtest.Same(t, path, res.StatusCode, 200)
	s := bufio.NewScanner(res.Body)
	s.Buffer(nil, 16<<20)
	return &attendant{scan: s, stop: cancel, body: res.Body}
}

// until reads frames up to the first with a name and returns them all.
func (l *attendant) until(t *testing.T, name string) []frame {
	t.Helper()
	var out []frame
	var f frame
	for l.scan.Scan() {
		line := l.scan.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			f.event = line[7:]
		case strings.HasPrefix(line, "data: "):
			f.data = line[6:]
		case strings.HasPrefix(line, "id: "):
			f.id = line[4:]
		case line == "":
			out = append(out, f)
			if f.event == name {
				return out
			}
			f = frame{}
		}
	}
	t.Fatalf("the stream ended before %s: %v %s", name, l.scan.Err(), events(out))
	return nil
}

func TestAThreadsStreamShowsEveryRunToCome(t *testing.T) {
	w := open(t, sayAgent("hi ", "there"))
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"before"}}`)
	l := w.attend(t, "/threads/t1/stream")
	for _, say := range []string{"one", "two"} {
		run := w.ok(t, "POST", "/threads/t1/runs",
			`{"input":{"messages":"`+say+`"},"stream_mode":["messages-tuple","values"]}`)["run_id"].(string)
		fs := l.until(t, "run_done")
		if fs[0].event != "metadata" || !strings.Contains(fs[0].data, run) {
			t.Fatalf("%s begins with %+v", say, fs[0])
		}
		webtest.Holds(t, say, events(fs), "!end", "messages", "values")
		if last := fs[len(fs)-1]; last.data != `{"run_id":"`+run+`","thread_id":"t1"}` || last.id == "" {
			t.Errorf("%+v", last)
		}
	}
}

func TestAThreadsStreamGoesOnBehindACursor(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for _, say := range []string{"one", "two", "three"} {
		w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"`+say+`"}}`)
	}
	all := w.attend(t, "/threads/t1/stream?stream_mode=lifecycle", "Last-Event-ID", "-1")
	first := all.until(t, "run_done")
	webtest.Same(t, "lifecycle", events(first), "metadata run_done")
	all.until(t, "run_done")
	all.until(t, "run_done")
	rest := w.attend(t, "/threads/t1/stream?stream_mode=state_update", "Last-Event-ID", first[1].id)
	for _, say := range []string{"two", "three"} {
		fs := rest.until(t, "run_done")
		if names := events(fs); !strings.HasPrefix(names, "metadata values") || !strings.Contains(fs[1].data, say) {
			t.Errorf("%s: %s", say, names)
		}
	}
}

func TestAThreadsStreamRefusesWhatItCannotDo(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.table(t, []row{
		{"unknown thread", "GET", "/threads/none/stream", "", 404, `not found`},
		{"unknown mode", "GET", "/threads/t1/stream?stream_mode=values", "", 422, `"stream_mode"`},
	})
}
