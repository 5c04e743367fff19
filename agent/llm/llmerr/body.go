package llmerr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxMessage limits the provider's text, in bytes.
const maxMessage = 4000

// Detail is the parsed body of a provider's error.
type Detail struct {
	Message string
	Code    string // its code, else its type or status name
	Status  int    // an HTTP status written in the body, or 0
	Limit   int    // tokens the model reads, or 0
}

// keys returns the fields of an error: words hold messages of providers and gateways, codes name the error, deep are
// objects and lists that contain such fields.
func keys() (words [15]string, codes [8]string, deep [10]string) {
	return [...]string{"message", "msg", "error_message", "error_msg", "errormessage", "errormsg", "errmsg",
			"error_description", "status_msg", "faultstring", "reason", "title", "description", "text", "errmessage"},
		[...]string{"code", "error_code", "errorcode", "type", "status", "error_type", "status_code", "kind"},
		[...]string{"error", "errors", "detail", "details", "fault", "base_resp", "exception", "header", "data", "response"}
}

// maxDepth limits the depth of the search for an error.
const maxDepth = 6

// ParseBody parses an error body in any of the providers' formats: the message is in a field of the object itself, of
// the one under "error", "errors", "detail" or the like, or of the first in a list. Other bodies are quoted, shortened.
func ParseBody(body []byte) Detail {
	body = bytes.TrimSpace(body)
	if rest, is := bytes.CutPrefix(body, []byte("data:")); is { // an event in place of a body
		body = bytes.TrimSpace(rest)
	}
	var d Detail
	var root any
	if json.Unmarshal(body, &root) == nil {
		d.read(body, maxDepth)
	}
	if d.Message == "" {
		d.Message = quote(body)
	}
	return d
}

// Failed reports whether a successful response contains an error.
func Failed(body []byte) bool {
	var d Detail
	return d.read(bytes.TrimSpace(body), maxDepth) && d.Message != ""
}

// read extracts the information from a value; false if it has none.
func (d *Detail) read(raw json.RawMessage, depth int) bool {
	if depth == 0 || len(raw) == 0 {
		return false
	}
	switch raw[0] {
	case '"':
		var inner string
		if json.Unmarshal(raw, &inner) != nil || strings.TrimSpace(inner) == "" {
			return false
		}
		if s := strings.TrimSpace(inner); s[0] == '{' && json.Valid([]byte(s)) && d.read(json.RawMessage(s), depth-1) {
			return true // an error that was encoded twice
		}
		d.Message = cut(inner)
		return true
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return false
		}
		var said []string
		for _, part := range list {
			var one Detail
			if !one.read(part, depth-1) {
				continue
			}
			said = append(said, one.Message)
			if d.Code == "" {
				d.Code = one.Code
			}
			if d.Status == 0 {
				d.Status = one.Status
			}
			if d.Limit == 0 {
				d.Limit = one.Limit
			}
		}
		d.Message = cut(strings.Join(said, ", "))
		return len(said) > 0
	case '{':
		return d.object(raw, depth)
	}
	return false
}

func (d *Detail) object(raw json.RawMessage, depth int) bool {
	var exact map[string]json.RawMessage
	if json.Unmarshal(raw, &exact) != nil {
		return false
	}
	fields := make(map[string]json.RawMessage, len(exact))
	for k, v := range exact {
		fields[strings.ToLower(k)] = v
	}
	words, codes, deep := keys()
	found := false
	for _, key := range deep {
		if found = d.read(fields[key], depth-1); found {
			break
		}
	}
	if !found {
		for _, key := range words {
			if found = d.read(fields[key], depth-1); found {
				break
			}
		}
	}
	if !found {
		return false
	}
	if at := place(fields["loc"]); at != "" && !strings.Contains(d.Message, at) {
		d.Message = cut(at + ": " + d.Message)
	}
	if n, err := strconv.Atoi(text(fields["n_ctx"])); err == nil && d.Limit == 0 { // llama.cpp
		d.Limit = n
	}
	for _, key := range codes {
		s := text(fields[key])
		if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 {
			if d.Status == 0 {
				d.Status = n
			}
			continue
		}
		if d.Code == "" && s != "" && s[0] != '{' && s[0] != '[' {
			d.Code = s
		}
	}
	// a router repeats the provider's message, which is the helpful one
	var below struct {
		Raw json.RawMessage `json:"raw"`
	}
	if json.Unmarshal(fields["metadata"], &below) == nil {
		if said := text(below.Raw); said != "" && !strings.Contains(d.Message, said) {
			d.Message = cut(d.Message + ": " + said)
		}
	}
	return true
}

// place returns the field that FastAPI rejected, as in "messages.3.role"; "" for none.
func place(raw json.RawMessage) string {
	var parts []any
	if len(raw) == 0 || json.Unmarshal(raw, &parts) != nil || len(parts) < 2 {
		return ""
	}
	var out []string
	for _, p := range parts[1:] { // after "body"
		out = append(out, fmt.Sprint(p))
	}
	return strings.Join(out, ".")
}

// text returns a JSON string's value, a list of strings joined, or any other value as written.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return cut(s)
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return cut(strings.Join(list, ", "))
	}
	if string(raw) == "null" {
		return ""
	}
	return cut(string(raw))
}

func quote(body []byte) string {
	s := strings.Join(strings.Fields(string(body)), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

func cut(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// FromResponse returns the Error for a response with a failure status. The caller redacts it.
func FromResponse(status int, h http.Header, body []byte, now time.Time) *Error {
	d := ParseBody(body)
	e := &Error{Status: status, Code: d.Code, Message: d.Message, RetryAfter: RetryAfter(h, now), Limit: d.Limit}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	e.Class = Classify(status, e.Code, e.Message, e.RetryAfter)
	return e
}

// FromStream returns the Error for an error object inside a stream.
func FromStream(body []byte) *Error {
	d := ParseBody(body)
	return &Error{Status: 0, Code: d.Code, Message: d.Message, Limit: d.Limit,
		Class: Classify(d.Status, d.Code, d.Message, 0)}
}

// RetryAfter reads a response's delay from Retry-After-Ms or Retry-After in seconds or as a date; 0 when it does not
// say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if sec, err := strconv.ParseFloat(v, 64); err == nil && sec > 0 && sec < 1e6 {
		return time.Duration(sec * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Redact replaces each secret in the message by ***.
func (e *Error) Redact(secrets []string) *Error {
	for _, s := range secrets {
		if len(s) >= 4 {
			e.Message = strings.ReplaceAll(e.Message, s, "***")
		}
	}
	return e
}
