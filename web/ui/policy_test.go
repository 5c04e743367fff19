package ui_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/agent/agenttest/must"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui"
	"fawn/web/ui/page"
	"fawn/web/webtest"
)

// TestNoPageIsWithoutAPolicy: without an account only what is shared is open, and what concerns
// the installation refuses all but its operator, before it does anything.
func TestNoPageIsWithoutAPolicy(t *testing.T) {
	open, operators := []string{"/share/", "/ui/diagram", "/login", "/ui/login/", "/logout", "/setup", "/reset",
		"/api/v1/auth/"}, []string{"/ui/models", "/ui/media", "/ui/hosts", "/ui/users"}
	for owner, limited := range map[string]int{"": http.StatusUnauthorized, "eve": http.StatusForbidden} {
		e := echo.New()
		e.HTTPErrorHandler = httpx.ErrorHandler(slog.New(slog.DiscardHandler))
		if owner != "" {
			e.Use(principal.Middleware(func(*http.Request) principal.Principal {
				return principal.Principal{Owner: owner}
			}))
		}
		u, err := ui.New(ui.Deps{Site: &page.Site{}})
		must.Do(t, err)
		u.Routes(e.Group(""))
		below := func(path string, list []string) bool {
			return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(path, p) })
		}
		n := 0
		for _, r := range e.Routes() {
			if r.Method == echo.RouteNotFound || below(r.Path, open) || owner != "" && !below(r.Path, operators) {
				continue
			}
			n++
			rec := httptest.NewRecorder()
			path := strings.NewReplacer(":", "x", "*", "x").Replace(r.Path)
			e.ServeHTTP(rec, httptest.NewRequest(r.Method, path, nil))
			webtest.Same(t, fmt.Sprintf("%s %s as %q: %s", r.Method, r.Path, owner, rec.Body), rec.Code, limited)
		}
		if n < 7 {
			t.Errorf("as %q: %d routes", owner, n)
		}
	}
}
