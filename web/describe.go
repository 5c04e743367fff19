package web

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"fawn/sandbox"
	"fawn/views"
	"fawn/web/api"
	"fawn/web/completions"
	"fawn/web/gateway"
	"fawn/web/httpx"
	"fawn/web/openapi"
	"fawn/web/route"
)

// Document returns the OpenAPI document of the program, as a server without a base path has it.
func Document() ([]byte, error) { return described("").JSON() }

// spec describes every route that programs may rely on.
func (a *App) spec() openapi.Spec { return described(a.opts.Version) }

func described(version string) openapi.Spec {
	schemas := api.Schemas()
	maps.Copy(schemas, gateway.Schemas())
	maps.Copy(schemas, completions.Schemas())
	report := openapi.Of[sandbox.Report](append(openapi.Without("detail"), openapi.Is("tried", openapi.List(openapi.Map(nil))))...)
	schemas["Health"] = openapi.Of[healthJSON](openapi.Is("status", openapi.Enum(healthy, unhealthy)), openapi.Is("sandbox", report))
	return openapi.Spec{Title: "Fawn", Version: version,
		Text: "The API of the LangGraph Platform and of DeerFlow's gateway. Every route whose path does not begin with /api " +
			"is served under /api/langgraph and /api too; under /api with the manners of the gateway.",
		Ops: slices.Concat(api.Operations(), gateway.Operations(), completions.Operations(), describeHealth(), describeMCP(),
			describeMetrics()),
		Schemas: schemas, Params: route.PathParams(),
		Mounts: []string{"/api/langgraph", "/api"}}
}

// describeHealth returns the routes for monitors.
func describeHealth() []openapi.Op {
	var out []openapi.Op
	for _, one := range []struct{ id, method, path string }{{"getHealth", "GET", "/health"},
		{"headHealth", "HEAD", "/health"},
		{"getHealthz", "GET", "/healthz"}, {"headHealthz", "HEAD", "/healthz"}, {"getAPIHealth", "GET", "/api/health"},
		{"headAPIHealth", "HEAD", "/api/health"}} {
		op := openapi.Op{ID: one.id, Method: one.method, Path: one.path,
			Tag: "Server", Text: "Tell whether the server can do its work", Public: true,
			Out: []openapi.Answer{{Status: 200, Text: "It can"},
				{Status: 503, Text: "It cannot; the reason is in the body"}}}
		if one.method == http.MethodGet {
			op.Out[0].Schema, op.Out[1].Schema = openapi.Ref("Health"), openapi.Ref("Health")
		}
		out = append(out, op)
	}
	return out
}

// describe returns the document for the API page and its handler; nil if the owner turned both off.
func (a *App) describe() (func() openapi.Spec, echo.HandlerFunc) {
	switch strings.ToLower(os.Getenv("GATEWAY_ENABLE_DOCS")) {
	case "0", "false", "no":
		return nil, nil
	}
	document := sync.OnceValues(func() ([]byte, error) { return a.spec().JSON() })
	return a.spec, func(c echo.Context) error {
		if base := views.Base(c.Request().Context()); base != "" {
			below := a.spec()
			below.Base = base
			b, err := below.JSON()
			if err != nil {
				return err
			}
			return httpx.Tagged(c, b)
		}
		b, err := document()
		if err != nil {
			return err
		}
		return httpx.Tagged(c, b)
	}
}
