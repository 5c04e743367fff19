package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// described is an operation of the document, and what finds it.
type described struct {
	method, at string // as in the document
	path       *regexp.Regexp
	literal    int                                   // bytes of the path that are no parameters
	answers    map[string]map[string]json.RawMessage // schemas by status and media type
}

// document is what the program says of its API. It doesn't depend on a configuration.
type document struct {
	ops     []described
	schemas map[string]json.RawMessage // of the components

	mu    sync.Mutex
	ready map[string]*jsonschema.Resolved
}

var apiDocument = sync.OnceValues(func() (*document, error) {
	b, err := web.Document()
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Native    any `json:"servers"`
			Responses map[string]struct {
				Content map[string]struct {
					Schema json.RawMessage `json:"schema"`
				} `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	d := &document{schemas: doc.Components.Schemas, ready: map[string]*jsonschema.Resolved{}}
	param := regexp.MustCompile(`\\\{[a-z_]+\\\}`)
	for path, ops := range doc.Paths {
		for method, op := range ops {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(path), `\{path\}`, `.+`)
			one := described{method: strings.ToUpper(method), at: path, literal: len(param.ReplaceAllString(pattern, "")),
				answers: map[string]map[string]json.RawMessage{}}
			pattern = param.ReplaceAllString(pattern, `[^/]+`)
			if op.Native == nil {
				pattern = `(?:/api/langgraph|/api)?` + pattern
			}
			if one.path, err = regexp.Compile(`^` + pattern + `/*$`); err != nil {
				return nil, err
			}
			for status, answer := range op.Responses {
				one.answers[status] = map[string]json.RawMessage{}
				for kind, content := range answer.Content {
					one.answers[status][kind] = content.Schema
				}
			}
			d.ops = append(d.ops, one)
		}
	}
	slices.SortFunc(d.ops, func(a, b described) int { return b.literal - a.literal })
	return d, nil
})

// defined has references of a schema lead to definitions in the same text.
func defined(schema []byte) string {
	return strings.ReplaceAll(string(schema), `#/components/schemas/`, `#/$defs/`)
}

var reference = regexp.MustCompile(`"#/components/schemas/([^"/]+)"`)

// needs are the schemas of the components that a schema refers to, also by others. All of them would take thirty times as
// long to make ready.
func (d *document) needs(raw json.RawMessage) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	for todo := []json.RawMessage{raw}; len(todo) > 0; todo = todo[1:] {
		for _, m := range reference.FindAllSubmatch(todo[0], -1) {
			if name := string(m[1]); found[name] == nil {
				found[name] = d.schemas[name]
				todo = append(todo, d.schemas[name])
			}
		}
	}
	return found
}

// of is the schema of an answer, ready to judge one; nil for none.
func (d *document) of(o described, status, kind string) (*jsonschema.Resolved, error) {
	raw := o.answers[status][kind]
	if len(raw) == 0 {
		raw = o.answers[status]["*/*"]
	}
	if len(raw) == 0 {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := o.method + " " + o.at + " " + status
	if r := d.ready[id]; r != nil {
		return r, nil
	}
	var s jsonschema.Schema
	defs, err := json.Marshal(d.needs(raw))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(fmt.Appendf(nil, `{"$defs":%s,"allOf":[%s]}`, defined(defs), defined(raw)), &s); err != nil {
		return nil, err
	}
	r, err := s.Resolve(nil)
	d.ready[id] = r
	return r, err
}

// conforms fails a test for an answer that is not as the document says: of a status that it doesn't name, or of another shape.
func conforms(t testing.TB, method, path string, a answer) {
	t.Helper()
	switch a.status {
	case http.StatusInternalServerError, http.StatusNotImplemented, http.StatusRequestHeaderFieldsTooLarge, http.StatusMethodNotAllowed,
		http.StatusNotModified:
		return
	}
	u, err := url.ParseRequestURI(path)
	if err != nil || method == http.MethodHead || method == http.MethodOptions {
		return
	}
	d, err := apiDocument()
	must.Do(t, err)
	at := slices.IndexFunc(d.ops, func(o described) bool { return o.method == method && o.path.MatchString(u.EscapedPath()) })
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if at < 0 || kind == "text/html" || a.status >= 300 && a.status < 400 {
		return
	}
	o, status := d.ops[at], strconv.Itoa(a.status)
	if _, known := o.answers[status]; !known {
		t.Errorf("%s %s answers %s, which the document doesn't say of %s: %.300s", method, path, status, o.at, a.body)
		return
	}
	if kind != "application/json" {
		return
	}
	s, err := d.of(o, status, kind)
	if err != nil {
		t.Errorf("the schema of %s %s %s: %v", method, o.at, status, err)
	}
	if s == nil || err != nil {
		return
	}
	var v any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s %s %s is not what the document says of %s: %v\n%.600s", method, path, status, o.at, err, a.body)
	}
}

// TestExamplesAreWhatTheyShow: each example of the document is a body that its operation takes.
func TestExamplesAreWhatTheyShow(t *testing.T) {
	t.Parallel()
	b, err := web.Document()
	must.Do(t, err)
	doc := webtest.Decode[struct {
		Paths map[string]map[string]struct {
			Body struct {
				Content map[string]struct{ Schema, Example json.RawMessage } `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
		Components struct{ Schemas json.RawMessage } `json:"components"`
	}](t, string(b))
	n := 0
	for path, ops := range doc.Paths {
		for method, op := range ops {
			c := op.Body.Content["application/json"]
			if c.Example == nil {
				continue
			}
			n++
			s := webtest.Decode[jsonschema.Schema](t, string(fmt.Appendf(nil, `{"$defs":%s,"allOf":[%s]}`, defined(doc.Components.Schemas), defined(c.Schema))))
			r, err := s.Resolve(nil)
			must.Do(t, err)
			v := webtest.Decode[any](t, string(c.Example))
			if err := r.Validate(v); err != nil {
				t.Errorf("%s %s: %v", method, path, err)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d examples", n)
	}
}

// TestUnusualAnswersAreDescribed asks for what a program that reads the document may ask for as well; send compares each
// answer with the document.
func TestUnusualAnswersAreDescribed(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	s.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
	for _, c := range []struct {
		path string
		want int
	}{
		{"/api/threads/t1/export?format=json", 200}, // among answers of any kind
		{"/api/threads/t1/export?format=md", 200},
		{"/.well-known/agent.json?assistant_id=none", 404},
		{"/.well-known/agent-card.json?assistant_id=none", 404},
		{"/a2a/none", 404},
		{"/api/skills/custom/none/history", 404},
		{"/api/channels", 200}, {"/assistants/lead_agent/graph", 200}, {"/assistants/lead_agent/schemas", 200},
		{"/threads/t1/storage", 200}, {"/api/access", 200}, {"/api/console/stats", 200}, {"/v1/models", 200}, {"/v1/models/none", 404},
	} {
		s.send(t, "GET", c.path, "").want(t, c.path, c.want)
	}
}
