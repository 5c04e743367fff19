package httpx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/account"
	"fawn/web/httpx"
	"fawn/web/webtest"
)

func TestEveryKnownErrorHasItsStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{runs.ErrBusy, 409}, {runs.ErrNotFound, 404}, {runs.ErrInput, 400}, {runs.ErrNotCancelable, 409},
		{runs.ErrStorage, 507}, {runs.ErrClosed, 503}, {store.ErrNotFound, 404}, {store.ErrExists, 409},
		{store.ErrChanged, 409},
		{store.ErrFull, 507}, {store.ErrClosed, 503}, {fmt.Errorf("%w: %w", runs.ErrStorage, store.ErrFull), 507},
		{fmt.Errorf("%w: %w", runs.ErrStorage, store.ErrNotFound), 404}, {&uploads.TooManyError{Limit: 3}, 413},
		{uploads.ErrNoFiles, 400}, {uploads.ErrName, 400}, {&uploads.NotFoundError{Name: "x"}, 404},
		{uploads.ErrForm, 400}, {files.ErrEscape, 403}, {files.ErrThread, 422}, {files.ErrPath, 400},
		{files.ErrNotRegular, 400}, {fs.ErrNotExist, 404}, {context.Canceled, 503}, {context.DeadlineExceeded, 503}, {echo.ErrNotFound, 404},
		{httpx.Errorf(418, "x"), 418}, {errors.New("disk /home/x broke"), 500},
		{account.ErrEnded, 401}, {fmt.Errorf("%w: no route to 10.0.0.1", store.ErrAway), 503}, {store.ErrFenced, 503},
	} {
		status, detail := httpx.StatusOf(fmt.Errorf("do it: %w", c.err))
		webtest.Same(t, c.err, status, c.want)
		if (detail == nil) != (status == 500) {
			t.Errorf("%v: detail = %v", c.err, detail)
		}
		if said, ok := detail.(string); ok && strings.Contains(said, "10.0.0.1") {
			t.Errorf("%v tells an address: %q", c.err, said)
		}
	}
}

// TestOnlyARequestThatEndedItselfIsGone: what was cancelled inside of the server is an answer to come back for.
func TestOnlyARequestThatEndedItselfIsGone(t *testing.T) {
	e := echo.New()
	e.HTTPErrorHandler = httpx.ErrorHandler(slog.New(slog.DiscardHandler))
	for path, err := range map[string]error{"/cancelled": context.Canceled, "/late": context.DeadlineExceeded,
		"/away": store.ErrAway, "/worded": httpx.Errorf(503, "not now"), "/crowded": store.ErrCrowded} {
		e.GET(path, func(echo.Context) error { return fmt.Errorf("ask 10.0.0.1: %w", err) })
	}
	over, end := context.WithCancel(t.Context())
	end()
	for path, want := range map[string]int{"/cancelled": 503, "/late": 503, "/away": 503, "/worded": 503, "/crowded": 429} {
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		if rec.Code != want || rec.Header().Get("Retry-After") == "" || strings.Contains(rec.Body.String(), "10.0.0.1") {
			t.Errorf("%s: %d %v %s", path, rec.Code, rec.Header(), rec.Body)
		}
		rec = httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequestWithContext(over, "GET", path, nil))
		if gone := path == "/cancelled" || path == "/late"; gone != (rec.Code == 499) {
			t.Errorf("%s, and the client has left: %d", path, rec.Code)
		}
	}
}

func TestInternalErrorsShowAnIDAndNothingElse(t *testing.T) {
	var log bytes.Buffer
	e := echo.New()
	e.HTTPErrorHandler = httpx.ErrorHandler(slog.New(slog.NewTextHandler(&log, nil)))
	e.GET("/x", func(echo.Context) error { return errors.New("secret place") })
	e.GET("/busy", func(echo.Context) error {
		d := httpx.Errorf(503, "later <b>")
		d.Header = map[string][]string{"Retry-After": {"5"}}
		return d
	})
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest("GET", "/x", nil))
	body := rec.Body.String()
	_, id, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(body), `)"}`), `{"detail":"internal error (request `)
	if rec.Code != 500 || !ok || strings.Contains(body, "secret") || !strings.Contains(log.String(), id) ||
		!strings.Contains(log.String(), "secret place") {
		t.Errorf("%d %s\nlog %s", rec.Code, body, log.String())
	}
	rec = httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest("GET", "/busy", nil))
	if rec.Header().Get("Retry-After") != "5" || strings.TrimSpace(rec.Body.String()) != `{"detail":"later <b>"}` {
		t.Errorf("%v %s", rec.Header(), rec.Body)
	}
	rec = httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest("GET", "/nowhere", nil))
	if rec.Code != 404 || strings.TrimSpace(rec.Body.String()) != `{"detail":"Not Found"}` {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestWhoeverLeavesIsNoError: an answer that ends because nobody is there any more is not logged, one that ends
// because of the server is.
func TestWhoeverLeavesIsNoError(t *testing.T) {
	var log bytes.Buffer
	e := echo.New()
	e.HTTPErrorHandler = httpx.ErrorHandler(slog.New(slog.NewTextHandler(&log, nil)))
	e.GET("/long", func(c echo.Context) error {
		// The context is slower than the connection.
		c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
		for {
			if _, err := c.Response().Write(make([]byte, 64<<10)); err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
		}
	})
	e.GET("/broken", func(c echo.Context) error {
		c.Response().WriteHeader(http.StatusOK)
		c.Response().Flush()
		return errors.New("the disk broke")
	})
	over := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { over <- struct{}{} }()
		e.ServeHTTP(w, r)
	}))
	defer s.Close()
	for path, want := range map[string]string{"/long": "", "/broken": "the disk broke"} {
		log.Reset()
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		must.Do(t, err)
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			<-over // only then does it leave
		}
		must.Do(t, c.Close())
		if want == "" {
			<-over
		}
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: logged %q", path, got)
		}
	}
}

// TestAnAnswerThatFailsIsCutOff, so that nobody takes it for whole. One that is refused on its way just ends.
func TestAnAnswerThatFailsIsCutOff(t *testing.T) {
	for name, c := range map[string]struct{ err, want error }{
		"the disk broke":  {errors.New("the disk broke"), io.ErrUnexpectedEOF},
		"the server left": {fmt.Errorf("read a run: %w", runs.ErrClosed), io.ErrUnexpectedEOF},
		"while it read":   {fmt.Errorf("read a run: %w", context.Canceled), io.ErrUnexpectedEOF},
		"gone":            {runs.ErrNotFound, nil},
	} {
		e := echo.New()
		e.HTTPErrorHandler = httpx.ErrorHandler(slog.New(slog.DiscardHandler))
		e.GET("/broken", func(ctx echo.Context) error {
			if _, err := io.WriteString(ctx.Response(), "half"); err != nil {
				return err
			}
			ctx.Response().Flush()
			return c.err
		})
		s := httptest.NewServer(e)
		resp, err := http.Get(s.URL + "/broken")
		must.Do(t, err)
		if body, err := io.ReadAll(resp.Body); string(body) != "half" || !errors.Is(err, c.want) {
			t.Errorf("%s: %q, %v", name, body, err)
		}
		resp.Body.Close()
		s.Close()
	}
}
