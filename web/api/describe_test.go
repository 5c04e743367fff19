package api_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/agent/agenttest/must"
	"fawn/web/api"
	"fawn/web/gateway"
	"fawn/web/openapi"
	"fawn/web/route"
	"fawn/web/webtest"
)

// shape is a route without the names of its parameters.
func shape(method, path string) string {
	path = regexp.MustCompile(`:[a-z]+|\{[a-z_]+\}|\*`).ReplaceAllString(path, "{}")
	return method + " " + path
}

// operations are those of all routes.
func operations() []openapi.Op { return slices.Concat(api.Operations(), gateway.Operations()) }

// schemas are the shapes that they refer to.
func schemas() map[string]openapi.Schema {
	all := api.Schemas()
	maps.Copy(all, gateway.Schemas())
	return all
}

func spec() openapi.Spec {
	return openapi.Spec{Title: "Fawn", Version: "test", Ops: operations(), Schemas: schemas(),
		Params: route.PathParams()}
}

func TestEveryRouteIsDescribedAndEveryDescriptionHasARoute(t *testing.T) {
	for _, native := range []bool{false, true} {
		served, described := map[string]bool{}, map[string]bool{}
		e := echo.New()
		serve(route.Deps{}, e.Group(""), native)
		for _, r := range e.Routes() {
			if r.Method != echo.RouteNotFound {
				served[shape(r.Method, r.Path)] = true
			}
		}
		for _, o := range operations() {
			if native || !o.Native {
				described[shape(o.Method, o.Path)] = true
			}
		}
		for one := range served {
			if !described[one] {
				t.Errorf("native %v: %s has no line in Operations (describe_*.go of web/api and web/gateway)",
					native, one)
			}
		}
		for one := range described {
			if !served[one] {
				t.Errorf("native %v: %s is described, but there is no such route", native, one)
			}
		}
	}
}

func TestTheDocumentHoldsTogether(t *testing.T) {
	b, err := spec().JSON()
	must.Do(t, err)
	doc := decode[struct {
		OpenAPI    string                               `json:"openapi"`
		Paths      map[string]map[string]map[string]any `json:"paths"`
		Components struct{ Schemas map[string]any }     `json:"components"`
	}](t, string(b))
	if doc.OpenAPI != "3.1.0" || len(doc.Paths) < 30 {
		t.Fatalf("version %q with %d paths", doc.OpenAPI, len(doc.Paths))
	}
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			id, _ := op["operationId"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: the id %q is missing or not unique", method, path, id)
			}
			ids[id] = true
			if op["summary"] == "" || op["responses"] == nil {
				t.Errorf("%s %s says nothing", method, path)
			}
		}
	}
	for _, m := range regexp.MustCompile(`"#/components/schemas/([A-Za-z]+)"`).FindAllStringSubmatch(string(b), -1) {
		if doc.Components.Schemas[m[1]] == nil {
			t.Errorf("%s is pointed at and not there", m[1])
		}
	}
	for name := range doc.Components.Schemas {
		webtest.Holds(t, "nothing points at "+name, string(b), `/schemas/`+name+`"`)
	}
	again, err := spec().JSON()
	if err != nil || string(again) != string(b) {
		t.Error("the document differs from one time to the next")
	}
}

func TestADescriptionThatContradictsItselfIsRefused(t *testing.T) {
	good := openapi.Op{ID: "a", Method: "GET", Path: "/a", Tag: "T", Text: "x"}
	for name, ops := range map[string][]openapi.Op{
		"an id twice":          {good, {ID: "a", Method: "GET", Path: "/b"}},
		"no id":                {{Method: "GET", Path: "/b"}},
		"a route twice":        {good, {ID: "b", Method: "GET", Path: "/a"}},
		"an unknown parameter": {{ID: "b", Method: "GET", Path: "/{nobody}"}},
	} {
		if _, err := (openapi.Spec{Ops: ops}).JSON(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := (openapi.Spec{Ops: []openapi.Op{good}}).JSON(); err != nil {
		t.Error(err)
	}
}

// resolve follows a pointer into the components.
func resolve(s openapi.Schema) openapi.Schema {
	for s["$ref"] != nil {
		s = schemas()[s.Name()]
	}
	return s
}

// wrong is a JSON value of a type s does not allow; ok is false when it allows all.
func wrong(s openapi.Schema) (v string, ok bool) {
	s = resolve(s)
	types := s.Types()
	if len(types) == 0 {
		return "", false
	}
	for _, c := range []struct {
		kind, value string
	}{{"object", `{"a":1}`}, {"array", `[{"a":1}]`}, {"string", `"a"`}, {"boolean", "true"}, {"number", "1.5"}} {
		allowed := slices.Contains(types, c.kind) || c.kind == "array" &&
			slices.Contains(types, "string") && len(types) > 2
		if !allowed {
			return c.value, true
		}
	}
	return "", false
}

func TestWrongValuesAreFoundForSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		schema openapi.Schema
		want   string
	}{
		"text":           {openapi.String(), `{"a":1}`},
		"object":         {openapi.Map(nil), `[{"a":1}]`},
		"object or null": {openapi.Nullable(openapi.Map(nil)), `[{"a":1}]`},
		"enum or null":   {openapi.Nullable(openapi.Enum("a")), `{"a":1}`},
		"anything":       {openapi.Any(), ""},
		"pointer":        {openapi.Ref("Thread"), `[{"a":1}]`},
	} {
		got, ok := wrong(c.schema)
		if got != c.want || ok != (c.want != "") || ok && !json.Valid([]byte(got)) {
			t.Errorf("%s: %s %v, want %s", name, got, ok, c.want)
		}
	}
}
