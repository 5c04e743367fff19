package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// Features of DeerFlow's front end that Fawn lacks respond in its formats that they are unavailable, so that no page
// waits for them. They are all in this file; remove the lines of a feature when it is added.

// unavailable returns the routes.
func (g *Gateway) unavailable() []route.Route {
	noLark := absent(http.StatusNotFound, "The Lark integration is not available")
	return []route.Route{
		route.On("GET", "/integrations/lark/status", user, "getLarkStatus", always(larkStatus())),
		route.On("POST", "/integrations/lark/install", user, "installLark", noLark),
		route.On("POST", "/integrations/lark/config/start", user, "startLarkConfig", noLark),
		route.On("POST", "/integrations/lark/config/complete", user, "completeLarkConfig", noLark),
		route.On("POST", "/integrations/lark/config/credentials", user, "setLarkCredentials", noLark),
		route.On("POST", "/integrations/lark/auth/start", user, "startLarkAuth", noLark),
		route.On("POST", "/integrations/lark/auth/complete", user, "completeLarkAuth", noLark),
	}
}

// always returns a handler with a constant response.
func always(body any) echo.HandlerFunc {
	return func(c echo.Context) error { return httpx.JSON(c, http.StatusOK, body) }
}

// absent refuses with a reason.
func absent(status int, why string) echo.HandlerFunc {
	return func(echo.Context) error { return httpx.Errorf(status, "%s", why) }
}

// larkStatus reports an integration that isn't installed.
func larkStatus() map[string]any {
	const why = "Fawn has no Lark integration"
	return map[string]any{"installed": false, "version": "", "manifest_version": nil, "latest_available_version": nil,
		"runtime_version_mismatch": false, "app_configured": false, "app_id": nil, "app_brand": nil,
		"skills_expected": 0, "skills_installed": 0, "installed_skills": []string{}, "enabled_skills": []string{},
		"install_path": "", "cli": map[string]any{"available": false, "path": nil, "version": nil, "error": why},
		"auth":                 map[string]any{"status": "unavailable", "message": why, "user": nil, "verified": false},
		"sandbox_runtime_mode": "none", "sandbox_runtime_ready": false, "sandbox_runtime_detail": why}
}

// describeUnavailable returns the operations of these routes.
func describeUnavailable() []o.Op {
	const tag = "Not available"
	var out []o.Op
	for _, one := range []struct{ id, text string }{{"installLark", "Install the Lark integration"},
		{"startLarkConfig", "Begin to configure Lark"}, {"completeLarkConfig", "Finish configuring Lark"},
		{"setLarkCredentials", "Set the credentials of Lark"}, {"startLarkAuth", "Begin to sign in to Lark"},
		{"completeLarkAuth", "Finish signing in to Lark"}} {
		out = append(out, o.Op{ID: one.id, Tag: tag, Text: one.text, More: "Always refused.", Fail: []int{404}})
	}
	return append(out,
		o.Op{ID: "getLarkStatus", Tag: tag, Text: "Tell whether Lark is installed",
			Out: route.Answered("It isn't", o.Map(nil))})
}
