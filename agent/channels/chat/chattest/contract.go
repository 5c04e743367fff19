package chattest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// contracts hold the requests of official SDKs, which record/ writes down (*.sdk.json), and published descriptions of
// calls, answers and events, from which record/extract.py takes the parts in use (*.api.json).
//
//go:embed contract/*.json
var contracts embed.FS

// A contract is a parsed file of this kind.
type contract struct {
	Source string            `json:"source"`
	Date   string            `json:"date"`
	Calls  []*contractCall   `json:"calls"`
	Types  map[string]*shape `json:"types"`
}

// A contractCall describes a request. Frames that a bot writes to a socket have the method FRAME, events that it reads
// the method EVENT.
type contractCall struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Content []string          `json:"content"` // media types; the platform's own list wins over the SDK's
	Headers map[string]string `json:"headers"` // and the first word of Authorization
	Query   *shape            `json:"query"`
	Body    *shape            `json:"body"`
	Answer  *shape            `json:"answer"`
}

// A shape describes a JSON value.
type shape struct {
	Type     []string          `json:"type"` // JSON types, also file, and scalar for any form text
	Fields   map[string]*shape `json:"fields"`
	Required []string          `json:"required"`
	Items    *shape            `json:"items"`
	Max      int               `json:"max"` // UTF-16 units of a string, items of an array
	Open     bool              `json:"open"`
	Ref      string            `json:"ref"`
	Any      []*shape          `json:"any"` // alternatives, one of which an object must match
}

// rules combine the contracts of one platform: the first is the recording of its SDK.
type rules struct {
	sets  []*contract
	merge bool // arguments may be in the query or a form
}

// newRules reads the contracts of a platform.
func newRules(platform string) *rules {
	r := &rules{merge: platform == "slack"}
	for _, kind := range []string{"sdk", "api"} {
		raw, err := contracts.ReadFile("contract/" + platform + "." + kind + ".json")
		if err != nil {
			continue // few platforms publish a description
		}
		var c contract
		if err := json.Unmarshal(raw, &c); err != nil {
			panic(platform + "." + kind + ".json: " + err.Error())
		}
		r.sets = append(r.sets, &c)
	}
	return r
}

// matches compares a path with a pattern containing {names}.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool {
		return w == g || strings.HasPrefix(w, "{") && g != ""
	})
}

func (c *contract) find(method, path string) *contractCall {
	var found *contractCall
	for _, call := range c.Calls {
		if call.Method == method && matches(call.Path, path) &&
			(found == nil || strings.Count(call.Path, "{") < strings.Count(found.Path, "{")) {
			found = call
		}
	}
	return found
}

// check reports each way in which a request differs. The body can still be read afterwards.
func (r *rules) check(req *http.Request, path string) []string {
	kind, args, query, err := readArguments(req)
	if err != nil {
		return []string{err.Error()}
	}
	if r.merge && kind != "application/json" {
		maps.Copy(args, query)
		query = map[string]any{}
	}
	var wrong []string
	for i, set := range r.sets {
		c := set.find(req.Method, path)
		if c == nil {
			if i == 0 {
				wrong = append(wrong, req.Method+" "+path+" is no call of "+set.Source)
			}
			continue
		}
		own := r.published(i, req.Method, path)
		add := func(format string, a ...any) {
			wrong = append(wrong, fmt.Sprintf(format, a...)+", says "+set.Source)
		}
		if len(c.Content) > 0 && kind != "" && (own == nil || len(own.Content) == 0) && !slices.Contains(c.Content, kind) {
			add("content type %s instead of %s", kind, strings.Join(c.Content, " or "))
		}
		for name, want := range c.Headers {
			if got, _, _ := strings.Cut(req.Header.Get(name), " "); got == "" || want != "*" && got != want {
				add("header %s is %q instead of %q", name, got, want)
			}
		}
		if c.Query != nil {
			c.Query.check("query", query, set, add)
		}
		c.Body.check("", args, set, r.adder(&wrong, i, req.Method, path))
	}
	return wrong
}

// published finds the platform's own description of a call while set 0, the SDK's, is asked about it.
func (r *rules) published(i int, method, path string) *contractCall {
	if i > 0 || len(r.sets) < 2 {
		return nil
	}
	if c := r.sets[1].find(method, path); c != nil && c.Body != nil {
		return c
	}
	return nil // it may describe responses only
}

// adder collects the faults of a body that a set finds. A platform's own description of its needs, fields and types
// wins over the habits of its SDK, which always sends some fields, lacks others and picks one of several types.
func (r *rules) adder(wrong *[]string, i int, method, path string) func(format string, a ...any) {
	own := r.published(i, method, path)
	return func(format string, a ...any) {
		text := fmt.Sprintf(format, a...)
		if own != nil && (!own.Body.Open || strings.HasSuffix(text, missingField)) {
			return
		}
		*wrong = append(*wrong, text+", says "+r.sets[i].Source)
	}
}

// checkFrame reports each way in which a frame that a bot wrote to a socket differs.
func (r *rules) checkFrame(name string, frame []byte) []string {
	v, err := decodeOne(frame)
	if err != nil {
		return []string{err.Error()}
	}
	return r.checkValue(name, v)
}

// checkValue is checkFrame for a decoded frame, or for the query of a socket's address.
func (r *rules) checkValue(name string, v any) []string {
	var wrong []string
	for i, set := range r.sets {
		c := set.find("FRAME", name)
		if c == nil {
			if i == 0 {
				wrong = append(wrong, name+" is no frame of "+set.Source)
			}
			continue
		}
		c.Body.check("", v, set, r.adder(&wrong, i, "FRAME", name))
	}
	return wrong
}

// checkOwn compares a response or event of a simulator with the published description. Additional fields pass, since
// platforms add some at any time.
func (r *rules) checkOwn(method, path string, v any) []string {
	return r.checkSaid(method, path, v, true)
}

// checkSaid is checkOwn with a choice: more allows fields beyond the description.
func (r *rules) checkSaid(method, path string, v any, more bool) []string {
	var wrong []string
	raw, err := json.Marshal(v)
	if err != nil {
		return []string{err.Error()}
	}
	if v, err = decodeOne(raw); err != nil {
		return []string{err.Error()}
	}
	for _, set := range r.sets {
		c := set.find(method, path)
		if c == nil {
			continue
		}
		s := c.Answer
		if method == "EVENT" {
			s = c.Body
		}
		s.check(path, v, set, func(format string, a ...any) {
			if text := fmt.Sprintf(format, a...); !more || !strings.HasSuffix(text, unknownField) {
				wrong = append(wrong, text+", says "+set.Source)
			}
		})
	}
	return wrong
}

// describes reports whether a published description has the answer of a call, or an event.
func (r *rules) describes(method, path string) bool {
	return slices.ContainsFunc(r.sets, func(set *contract) bool {
		c := set.find(method, path)
		return c != nil && (c.Answer != nil || method == "EVENT")
	})
}

// recorded lists the calls and frames of the SDK's recording, as "METHOD path".
func (r *rules) recorded() (all []string) {
	for _, c := range r.sets[0].Calls {
		if c.Method != "EVENT" { // the platform's
			all = append(all, c.Method+" "+c.Path)
		}
	}
	return all
}

// nameOf returns the recorded name of a call, as "METHOD path"; "" for one without a recording.
func (r *rules) nameOf(method, path string) string {
	if c := r.sets[0].find(method, path); c != nil {
		return c.Method + " " + c.Path
	}
	return ""
}

func decodeOne(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("data after the JSON")
	}
	return v, nil
}

// readArguments reads the body of a request, whatever its media type, and puts it back.
func readArguments(req *http.Request) (kind string, args, query map[string]any, err error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return "", nil, nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	args, query = map[string]any{}, fromForm(req.URL.Query())
	kind, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
		if len(raw) > 0 {
			return kind, args, query, fmt.Errorf("a body without a content type")
		}
		return kind, args, query, nil
	}
	switch kind {
	case "application/json":
		v, err := decodeOne(raw)
		if err != nil {
			return kind, args, query, err
		}
		object, ok := v.(map[string]any)
		if !ok {
			return kind, args, query, fmt.Errorf("JSON object expected")
		}
		args = object
	case "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(raw))
		if err != nil {
			return kind, args, query, err
		}
		args = fromForm(values)
	case "multipart/form-data":
		form, err := multipart.NewReader(bytes.NewReader(raw), params["boundary"]).ReadForm(32 << 20)
		if err != nil {
			return kind, args, query, err
		}
		defer form.RemoveAll()
		args = fromForm(form.Value)
		if payload, ok := args["payload_json"].(map[string]any); ok { // Discord's arguments next to files
			delete(args, "payload_json")
			maps.Copy(args, payload)
		}
		for name := range form.File {
			args[name] = formFile{}
		}
	}
	return kind, args, query, nil
}

type (
	formFile struct{}
	formText string
)

// fromForm reads the values of a form: lists and objects are JSON there.
func fromForm(values map[string][]string) map[string]any {
	all := map[string]any{}
	for name, list := range values {
		all[name] = formText(list[0])
		if v, err := decodeOne([]byte(list[0])); err == nil {
			switch v.(type) {
			case map[string]any, []any:
				all[name] = v
			}
		}
	}
	return all
}

const (
	unknownField = "is unknown"
	missingField = "is missing"
)

// check calls add for each difference between a value and its description.
func (s *shape) check(at string, v any, set *contract, add func(format string, a ...any)) {
	if s == nil {
		return
	}
	if _, object := v.(map[string]any); object && len(s.Any) > 0 {
		s.checkAny(at, v, set, add)
		return
	}
	if s.Ref != "" {
		if named := set.Types[s.Ref]; named != nil {
			if _, object := v.(map[string]any); object {
				named.check(at, v, set, add)
				return
			}
		}
	}
	if kind := kindOf(v); !s.takes(kind, v) {
		add("%s is %s instead of %s", name(at), kind, strings.Join(s.Type, " or "))
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Fields == nil {
			return
		}
		for _, field := range s.Required {
			if _, ok := v[field]; !ok && !strings.HasPrefix(field, "{") {
				add("%s %s", name(at+"."+field), missingField)
			}
		}
		for field, value := range v {
			known := s.Fields[field]
			if _, file := value.(formFile); file && known == nil {
				known = s.Fields["{file}"]
				if known == nil && s.takesFiles() {
					continue
				}
			}
			if known == nil {
				if !s.Open {
					add("%s %s", name(at+"."+field), unknownField)
				}
				continue
			}
			known.check(at+"."+field, value, set, add)
		}
	case []any:
		if s.Max > 0 && len(v) > s.Max {
			add("%s has %d items, more than %d", name(at), len(v), s.Max)
		}
		for i, value := range v {
			s.Items.check(fmt.Sprintf("%s[%d]", at, i), value, set, add)
		}
	case string:
		if n := len(utf16.Encode([]rune(v))); s.Max > 0 && n > s.Max {
			add("%s has %d characters, more than %d", name(at), n, s.Max)
		}
	}
}

// checkAny matches an object against several kinds. If none fits, the errors of the closest are reported.
func (s *shape) checkAny(at string, v any, set *contract, add func(format string, a ...any)) {
	var fewest []string
	for i, kind := range s.Any {
		var wrong []string
		kind.check(at, v, set, func(format string, a ...any) {
			if text := fmt.Sprintf(format, a...); !strings.HasSuffix(text, unknownField) {
				wrong = append(wrong, text)
			}
		})
		if i == 0 || len(wrong) < len(fewest) {
			fewest = wrong
		}
	}
	for _, text := range fewest {
		add("%s", text)
	}
}

func name(at string) string {
	if at = strings.TrimPrefix(at, "."); at == "" {
		return "the body"
	}
	return at
}

// takesFiles reports whether a field names its file as attach://, so that the part may have any name.
func (s *shape) takesFiles() bool {
	media := s.Fields["media"]
	return media != nil && slices.Contains(media.Type, "object")
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	case formFile:
		return "file"
	case formText:
		return "text of a form"
	}
	return "object"
}

func (s *shape) takes(kind string, v any) bool {
	has := func(kind string) bool { return slices.Contains(s.Type, kind) }
	switch kind {
	case "integer":
		return has("integer") || has("number") || has("scalar")
	case "string", "number", "boolean":
		return has(kind) || has("scalar")
	case "text of a form": // only the platform knows its type
		text := string(v.(formText))
		number := text != "" && strings.Trim(text, "0123456789.-") == ""
		return has("string") || has("scalar") || number && (has("integer") || has("number")) ||
			has("boolean") && (text == "true" || text == "false")
	}
	return has(kind)
}
