package llmerr

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxMessage bounds the provider's text, in bytes.
const maxMessage = 4000

// Detail is what a provider's error body says.
type Detail struct {
	Message string
	Code    string // its code, else its type or status name
	Status  int    // an HTTP status written in the body, or 0
	Limit   int    // tokens the model reads, or 0
}

// ParseBody reads an error body in any of the shapes providers use: an object under
// "error" (alone or in a list), a string there, or "message"/"detail" at the top. A body
// that is no JSON is quoted, shortened.
func ParseBody(body []byte) Detail {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var top struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
	}
	if json.Unmarshal(body, &top) != nil {
		return Detail{Message: quote(body)}
	}
	if len(top.Error) > 0 && string(top.Error) != "null" {
		if d := parseObject(top.Error); d.Message != "" {
			return d
		}
	}
	d := Detail{Message: text(top.Message), Code: text(top.Code)}
	if d.Message == "" {
		d.Message = text(top.Detail)
	}
	if d.Message == "" {
		d.Message = quote(body)
	}
	return d
}

// parseObject reads the value of "error".
func parseObject(raw json.RawMessage) Detail {
	var e struct {
		Message  json.RawMessage `json:"message"`
		Code     json.RawMessage `json:"code"`
		Type     json.RawMessage `json:"type"`
		Status   json.RawMessage `json:"status"`
		Limit    json.RawMessage `json:"n_ctx"` // llama.cpp
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return Detail{Message: text(raw)}
	}
	d := Detail{Message: text(e.Message)}
	d.Limit, _ = strconv.Atoi(text(e.Limit))
	for _, c := range []json.RawMessage{e.Code, e.Type, e.Status} {
		s := text(c)
		if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 {
			d.Status = n
			continue
		}
		if d.Code == "" {
			d.Code = s
		}
	}
	// a router repeats what the provider behind it said, which is what helps
	if below := text(e.Metadata.Raw); below != "" && !strings.Contains(d.Message, below) {
		d.Message = cut(d.Message + ": " + below)
	}
	return d
}

// text is a JSON string's value, a list of strings joined, or any other value as written.
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

// FromResponse makes the Error of a response with a failure status. The caller redacts it.
func FromResponse(status int, h http.Header, body []byte, now time.Time) *Error {
	d := ParseBody(body)
	e := &Error{Status: status, Code: d.Code, Message: d.Message, RetryAfter: RetryAfter(h, now), Limit: d.Limit}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	e.Class = Classify(status, e.Code, e.Message, e.RetryAfter)
	return e
}

// FromStream makes the Error of an error object that came inside a stream.
func FromStream(body []byte) *Error {
	d := ParseBody(body)
	return &Error{Status: 0, Code: d.Code, Message: d.Message, Limit: d.Limit,
		Class: Classify(d.Status, d.Code, d.Message, 0)}
}

// RetryAfter reads how long a response asks to wait, from Retry-After-Ms or Retry-After in
// seconds or as a date; 0 when it does not say.
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
