package ui_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/agent/agenttest"
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
