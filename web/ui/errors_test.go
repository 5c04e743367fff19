package ui_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/agent/agenttest"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
)

func TestEveryErrorIsACalmPageInBothLanguages(t *testing.T) {
	w := open(t, &agenttest.Script{})
	e := echo.New()
	e.HTTPErrorHandler = w.ui.ErrorHandler(e.DefaultHTTPErrorHandler)
	status := 0
	e.GET("/workspace/broken", func(echo.Context) error { return httpx.Errorf(status, "because of <that>") })
	for _, c := range []struct {
		status      int
		lang, title string
	}{
		{403, "en", "Access denied"}, {404, "en", "Page not found"}, {413, "en", "Request too large"},
		{421, "en", "Unknown address"}, {500, "en", "Something went wrong"}, {503, "en", "Temporarily unavailable"},
		{507, "en", "The disk is full"}, {421, "zh", "未知的地址"}, {507, "zh", "磁盘已满"}, {404, "zh", "error.404"},
	} {
		status = c.status
		r := httptest.NewRequest(http.MethodGet, "/workspace/broken", nil)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Language", c.lang)
		out := httptest.NewRecorder()
		e.ServeHTTP(out, r)
		body := out.Body.String()
		if out.Code != c.status || strings.Contains(body, c.title) == strings.HasPrefix(c.title, "error.") ||
			!strings.Contains(body, `href="/workspace/chats/new"`) || strings.Contains(body, "<that>") ||
			!strings.Contains(body, "<code>") {
			t.Errorf("%d %s: %d %.200s", c.status, c.lang, out.Code, body)
		}
	}
}

// What will be over in a moment is said in the reader's language, and is a warning in the log.
func TestAServerThatIsAwayForAMomentSaysSo(t *testing.T) {
	w := open(t, &agenttest.Script{})
	var log bytes.Buffer
	w.ui.Log = slog.New(slog.NewTextHandler(&log, nil))
	e := echo.New()
	e.HTTPErrorHandler = w.ui.ErrorHandler(e.DefaultHTTPErrorHandler)
	var why error
	e.GET("/workspace/away", func(echo.Context) error { return fmt.Errorf("commit: %w", why) })
	for _, why = range []error{runs.ErrClosed, store.ErrClosed, store.ErrFenced, store.ErrAway} {
		r := httptest.NewRequest(http.MethodGet, "/workspace/away", nil)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Language", "zh-CN")
		out := httptest.NewRecorder()
		e.ServeHTTP(out, r)
		if body := out.Body.String(); out.Code != http.StatusServiceUnavailable || !strings.Contains(body, "暂时不可用") ||
			strings.Contains(body, why.Error()) {
			t.Errorf("%v: %d %s", why, out.Code, body)
		}
	}
	if said := log.String(); strings.Contains(said, "level=ERROR") || strings.Count(said, "level=WARN") != 4 {
		t.Error(said)
	}
}
