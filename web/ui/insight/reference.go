package insight

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/views/apidocs"
	"fawn/web/openapi"
	"fawn/web/ui/page"
)

// reference handles GET /docs.
func (h *Handlers) reference(c echo.Context) error {
	shell, err := h.Shell(c, views.NavNone, "")
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, apidocs.Page(views.ReferencePage{Shell: shell, Version: h.Version,
		Groups: routeGroups(h.Spec())}))
}

func routeGroups(s openapi.Spec) []views.RouteGroup {
	var out []views.RouteGroup
	for _, tag := range s.Tags() {
		g := views.RouteGroup{Name: tag}
		for _, op := range s.Ops {
			if op.Tag == tag {
				g.Routes = append(g.Routes, routeOf(s, op))
			}
		}
		out = append(out, g)
	}
	return out
}

func routeOf(s openapi.Spec, op openapi.Op) views.Route {
	r := views.Route{ID: op.ID, Method: op.Method, Path: op.Full(), Text: op.Text, More: op.More}
	for _, name := range op.Params() {
		p := s.Params[name]
		r.Params = append(r.Params, views.RouteField{Name: name, Type: p.Schema.Name(), Where: "path", Text: p.Text,
			Required: true})
	}
	for _, p := range op.Query {
		r.Params = append(r.Params, views.RouteField{Name: p.Name, Type: p.Schema.Name(), Where: "query", Text: p.Text})
	}
	for _, p := range op.Headers() {
		r.Params = append(r.Params, views.RouteField{Name: p.Name, Type: p.Schema.Name(), Where: "header", Text: p.Text})
	}
	switch {
	case op.Form != "":
		r.BodyType = "multipart/form-data"
		r.Body = []views.RouteField{{Name: op.Form, Type: "file", Required: true}}
	case op.Body != nil:
		r.BodyType, r.Example = op.Body.Name(), op.Example
		body := op.Body
		if named, ok := s.Schemas[body.Name()]; ok {
			body = named
		}
		for _, p := range body.Props() {
			r.Body = append(r.Body, views.RouteField{Name: p.Name, Type: p.Schema.Name(), Required: p.Required})
		}
	}
	for _, a := range op.Out {
		one := views.RouteAnswer{Status: a.Status, Text: a.Text, Type: a.Type}
		if a.Schema != nil && a.Type == "" {
			one.Type = a.Schema.Name()
		}
		r.Answers = append(r.Answers, one)
	}
	for _, status := range op.Statuses() {
		if !slices.ContainsFunc(op.Out, func(a openapi.Answer) bool { return a.Status == status }) {
			r.Answers = append(r.Answers, views.RouteAnswer{Status: status, Text: openapi.Reason(status),
				Type: "Problem"})
		}
	}
	return r
}
