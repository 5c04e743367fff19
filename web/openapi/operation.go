package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Param is a parameter of a path or a query.
type Param struct {
	Name   string
	Schema Schema
	Text   string // its meaning in one sentence; may be empty
}

// Answer is a possible response of a route.
type Answer struct {
	Status int
	Text   string // one sentence
	Schema Schema // nil means no body, unless Type is set
	Type   string // media type; "" is application/json
}

// Op is one route.
type Op struct {
	ID     string // unique, as client generators use it for a function's name
	Method string
	Path   string // as in OpenAPI: /threads/{thread_id}
	Tag    string
	Text   string // one sentence without a full stop
	More   string // anything else worth knowing; may be empty
	// Native is a route of DeerFlow's gateway, which is only there under /api.
	Native bool
	// Public is a route that needs neither a token nor a session.
	Public bool
	Query  []Param
	Header []Param
	Body   Schema // nil means no body
	// Example is a body as JSON; empty for none.
	Example string
	// Keyed is a route that begins a run, and may be sent again with an Idempotency-Key.
	Keyed bool
	// Form names the field of a multipart form which replaces the body.
	Form string
	Need bool // an empty body is refused
	Lazy bool // a thread that does not exist is made, or counts as an empty one
	RPC  bool // errors are in the body of a 200, as in JSON-RPC
	Out  []Answer
	Fail []int // statuses of refusals besides those of every route
	// Refusal is the schema of refusals; nil uses the component Problem.
	Refusal Schema
	// Endless routes stream until the client leaves.
	Endless bool
}

// Full returns the path as a client calls it on the root mount.
func (o Op) Full() string {
	if o.Native {
		return "/api" + o.Path
	}
	return o.Path
}

// Params returns the names of the path's parameters.
func (o Op) Params() []string {
	var out []string
	for part := range strings.SplitSeq(o.Path, "/") {
		if strings.HasPrefix(part, "{") {
			out = append(out, strings.Trim(part, "{}"))
		}
	}
	return out
}

// Statuses returns all a client may see, ascending.
func (o Op) Statuses() []int {
	set := map[int]bool{403: true, 421: true, 503: true}
	if !o.Public {
		set[401] = true
	}
	if o.Keyed {
		for _, s := range []int{410, 422, 429} {
			set[s] = true
		}
	}
	for _, a := range o.Out {
		set[a.Status] = true
	}
	for _, s := range o.Fail {
		set[s] = true
	}
	if o.Body != nil || o.Form != "" {
		for _, s := range []int{400, 413, 415, 422} {
			set[s] = true
		}
	}
	if len(o.Query) > 0 {
		set[422] = true
	}
	for _, name := range o.Params() {
		set[404] = true
		if name == "thread_id" {
			set[422] = true
		}
	}
	if o.Method != "GET" {
		set[507] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Headers describes optional request headers.
func (o Op) Headers() []Param {
	if !o.Keyed {
		return o.Header
	}
	return append(slices.Clone(o.Header), Param{Name: "Idempotency-Key",
		Schema: Schema{"type": "string", "minLength": 1, "maxLength": 255},
		Text:   "The same request with the same key begins one run, and is answered with it for 24 hours"})
}

// Spec is the input for the document.
type Spec struct {
	Title, Version, Text string
	Ops                  []Op
	Schemas              map[string]Schema
	Params               map[string]Param // path parameters, by name
	Mounts               []string         // prefixes under which all but native routes are served too
	Base                 string           // base path of the server; empty is the root
}

// Tags returns the groups of the operations, in their order.
func (s Spec) Tags() []string {
	var out []string
	for _, o := range s.Ops {
		if !slices.Contains(out, o.Tag) {
			out = append(out, o.Tag)
		}
	}
	return out
}

// Reason words the status of a refusal.
func Reason(status int) string {
	return map[int]string{
		400: "Invalid message, file or checkpoint", 401: "No token or session, or one that isn't valid",
		403: "Not allowed: a foreign origin, a token that may only read, or a path outside the thread's folder",
		404: "Not found", 409: "Busy, already exists, or already finished", 410: "The run that was started with this key was deleted",
		412: "Changed since it was read", 413: "Too large", 415: "A form of the body or of the file that isn't read here",
		416: "Range not satisfiable", 421: "Unknown host name", 422: "Invalid field, parameter or id",
		426: "Wants a WebSocket", 429: "Too many requests; Retry-After says when to come back", 502: "Another service failed",
		503: "Shutting down, or too many streams", 507: "The disk is full",
	}[status]
}

// JSON returns the OpenAPI document. An error means that the description contradicts itself.
func (s Spec) JSON() ([]byte, error) {
	paths := map[string]map[string]any{}
	seen := map[string]bool{}
	for _, o := range s.Ops {
		if o.ID == "" || seen[o.ID] {
			return nil, fmt.Errorf("operation %s %s: the id %q is missing or taken", o.Method, o.Path, o.ID)
		}
		seen[o.ID] = true
		full := o.Full()
		if paths[full] == nil {
			paths[full] = map[string]any{}
		}
		method := strings.ToLower(o.Method)
		if paths[full][method] != nil {
			return nil, fmt.Errorf("operation %s %s is described twice", o.Method, full)
		}
		one, err := s.operation(o)
		if err != nil {
			return nil, err
		}
		paths[full][method] = one
	}
	servers := []any{map[string]string{"url": s.Base + "/"}}
	for _, m := range s.Mounts {
		servers = append(servers, map[string]string{"url": s.Base + m})
	}
	tags := []any{}
	for _, t := range s.Tags() {
		tags = append(tags, map[string]string{"name": t})
	}
	return json.Marshal(map[string]any{
		"openapi":  "3.1.0",
		"info":     map[string]string{"title": s.Title, "version": s.Version, "description": s.Text},
		"servers":  servers,
		"tags":     tags,
		"paths":    paths,
		"security": []any{map[string][]string{}, map[string][]string{"token": {}}, map[string][]string{"session": {}}},
		"components": map[string]any{"schemas": s.Schemas, "securitySchemes": map[string]any{
			"token":   map[string]string{"type": "http", "scheme": "bearer", "description": "A token of a user"},
			"session": map[string]string{"type": "apiKey", "in": "cookie", "name": "access_token", "description": "A session of the pages"}}},
	})
}

func (s Spec) operation(o Op) (map[string]any, error) {
	one := map[string]any{"operationId": o.ID, "tags": []string{o.Tag}, "summary": o.Text}
	if o.More != "" {
		one["description"] = o.More
	}
	if o.Native { // the mounts of the document do not hold for it
		one["servers"] = []any{map[string]string{"url": s.Base + "/"}}
	}
	if o.Endless {
		one["x-endless"] = true
	}
	if o.Public {
		one["security"] = []any{}
	}
	params := []any{}
	for _, name := range o.Params() {
		p, ok := s.Params[name]
		if !ok {
			return nil, fmt.Errorf("operation %s: the parameter %s is not described", o.ID, name)
		}
		params = append(params, parameter("path", p, name))
	}
	for _, p := range o.Query {
		params = append(params, parameter("query", p, p.Name))
	}
	for _, p := range o.Headers() {
		params = append(params, parameter("header", p, p.Name))
	}
	if len(params) > 0 {
		one["parameters"] = params
	}
	switch {
	case o.Form != "":
		one["requestBody"] = map[string]any{"required": true,
			"content": content("multipart/form-data", Object(Req(o.Form, List(File()))))}
	case o.Body != nil:
		of := map[string]any{"schema": o.Body}
		if o.Example != "" {
			if !json.Valid([]byte(o.Example)) {
				return nil, fmt.Errorf("operation %s: the example is not valid JSON", o.ID)
			}
			of["example"] = json.RawMessage(o.Example)
		}
		one["requestBody"] = map[string]any{"required": o.Need, "content": map[string]any{"application/json": of}}
	}
	answers := map[string]any{}
	for _, status := range o.Statuses() {
		refusal := map[string]any{"description": Reason(status)}
		if o.Method != "HEAD" {
			form := o.Refusal
			if form == nil {
				form = Ref("Problem")
			}
			refusal["content"] = content("application/json", form)
		}
		answers[strconv.Itoa(status)] = refusal
	}
	forms := map[int]map[string]any{} // of each answer's body
	for _, a := range o.Out {
		answer, status := map[string]any{"description": a.Text}, strconv.Itoa(a.Status)
		var body map[string]any
		switch {
		case a.Type != "" && a.Schema == nil:
			body = map[string]any{a.Type: map[string]any{}}
		case a.Type != "":
			body = content(a.Type, a.Schema)
		case a.Schema != nil:
			body = content("application/json", a.Schema)
		}
		if more := forms[a.Status]; more != nil { // the same in another format
			maps.Copy(more, body)
			continue
		}
		if forms[a.Status] = body; body != nil {
			answer["content"] = body
		}
		answers[status] = answer
	}
	one["responses"] = answers
	return one, nil
}

func content(kind string, s Schema) map[string]any {
	return map[string]any{kind: map[string]any{"schema": s}}
}

func parameter(in string, p Param, name string) map[string]any {
	out := map[string]any{"name": name, "in": in, "required": in == "path", "schema": p.Schema}
	if p.Text != "" {
		out["description"] = p.Text
	}
	return out
}
