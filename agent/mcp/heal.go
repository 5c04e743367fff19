package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/mcp/process"
)

// fields is a JSON object with undecoded members.
type fields = map[string]json.RawMessage

// healed returns a JSON-RPC message with every field in its required type: servers write numbers for text, null for
// lists and the like, and the library would reject the whole message. It returns nil if the text isn't a message.
func healed(raw []byte) []byte {
	m := object(raw)
	if m == nil {
		return nil
	}
	h := &healer{}
	_, version := m["jsonrpc"]
	has := func(key string) bool { return len(m[key]) > 0 && string(m[key]) != "null" }
	method, isMethod := str(m["method"])
	switch {
	case !version && (!has("id") || !has("result") && !has("error")), has("method") && !isMethod:
		return nil // for instance a line of a log
	case isMethod:
		h.request(m, method)
	case has("result") || has("error") || version && has("id"):
		if !h.response(m, has("error")) {
			return nil
		}
	default:
		return nil
	}
	if s, _ := str(m["jsonrpc"]); s != "2.0" {
		h.set(m, "jsonrpc", "2.0")
	}
	if !h.changed {
		return raw
	}
	out, err := json.Marshal(m)
	if err != nil { // it was decoded from JSON
		return raw
	}
	return out
}

// healer fixes fields and records whether it changed any.
type healer struct{ changed bool }

func (h *healer) set(m fields, key string, v any) {
	raw, err := json.Marshal(v)
	if err != nil { // only JSON values are set
		return
	}
	m[key], h.changed = raw, true
}

func (h *healer) drop(m fields, keys ...string) {
	for _, key := range keys {
		if _, ok := m[key]; ok {
			delete(m, key)
			h.changed = true
		}
	}
}

func (h *healer) request(m fields, method string) {
	if raw, ok := m["id"]; ok && raw[0] != '"' && !isNumber(raw) {
		h.drop(m, "id")
	}
	h.drop(m, "result", "error")
	if raw, ok := m["params"]; ok && raw[0] != '{' {
		h.drop(m, "params")
	}
	p := object(m["params"])
	if p == nil {
		return
	}
	inner := &healer{}
	inner.objects(p, "_meta")
	switch method {
	case "notifications/progress":
		inner.numbers(p, "progress", "total")
		inner.texts(p, "message")
		if _, ok := p["progress"]; !ok {
			inner.set(p, "progress", 0)
		}
	case "notifications/message":
		inner.texts(p, "level", "logger")
	}
	if inner.changed {
		h.set(m, "params", p)
	}
}

// response fixes a response; false means that no request waits for it.
func (h *healer) response(m fields, failed bool) bool {
	id := strings.Trim(string(m["id"]), `" `) // ours are whole numbers
	n, err := strconv.ParseFloat(id, 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return false
	}
	if want := strconv.FormatInt(int64(n), 10); string(m["id"]) != want {
		h.set(m, "id", int64(n))
	}
	h.drop(m, "method", "params")
	if !failed {
		h.drop(m, "error")
		r := object(m["result"])
		switch raw := m["result"]; {
		case r != nil:
		case len(raw) == 0 || string(raw) == "null":
			h.set(m, "result", fields{})
			return true
		default: // a result of a tool without its frame
			h.set(m, "result", fields{"content": content(raw)})
			return true
		}
		inner := &healer{}
		inner.result(r)
		if inner.changed {
			h.set(m, "result", r)
		}
		return true
	}
	h.drop(m, "result")
	e := object(m["error"])
	if e == nil {
		h.set(m, "error", map[string]any{"code": -32603, "message": textOf(m["error"])})
		return true
	}
	inner := &healer{}
	if n, err := strconv.ParseFloat(strings.Trim(string(e["code"]), `"`), 64); err != nil || n != math.Trunc(n) {
		inner.set(e, "code", -32603)
	} else if strings.ContainsAny(string(e["code"]), `".eE`) {
		inner.set(e, "code", int64(n))
	}
	if _, ok := str(e["message"]); !ok {
		inner.set(e, "message", textOf(e["message"]))
	}
	if inner.changed {
		h.set(m, "error", e)
	}
	return true
}

// result fixes a result, whose type its fields reveal.
func (h *healer) result(r fields) {
	h.objects(r, "_meta")
	h.moveTask(r)
	h.texts(r, "nextCursor", "description", "instructions")
	if _, ok := r["protocolVersion"]; ok || r["serverInfo"] != nil {
		h.hello(r)
	}
	if _, ok := r["tools"]; ok {
		h.list(r, "tools", h.tool)
	}
	for _, key := range []string{"prompts", "resources", "resourceTemplates", "contents"} {
		if _, ok := r[key]; ok {
			h.list(r, key, func(m fields, inner *healer) {
				inner.texts(m, "name", "title", "description", "uri", "uriTemplate", "mimeType", "text", "blob")
				inner.numbers(m, "size")
				inner.lists(m, "arguments", "icons")
				inner.objects(m, "_meta", "annotations")
			})
		}
	}
	_, contents := r["content"]
	_, structured := r["structuredContent"]
	if _, failed := r["isError"]; contents || structured || failed {
		h.answer(r)
	}
}

func (h *healer) hello(r fields) {
	if _, ok := str(r["protocolVersion"]); !ok {
		h.set(r, "protocolVersion", legacy)
	}
	info := object(r["serverInfo"])
	inner := &healer{}
	if info == nil {
		info, inner.changed = fields{}, true
	}
	inner.texts(info, "name", "version", "title", "websiteUrl", "description")
	inner.lists(info, "icons")
	for _, key := range []string{"name", "version"} {
		if info[key] == nil {
			inner.set(info, key, "")
		}
	}
	if inner.changed {
		h.set(r, "serverInfo", info)
	}
	caps := object(r["capabilities"])
	if caps == nil {
		h.set(r, "capabilities", map[string]any{"tools": fields{}})
		return
	}
	inner = &healer{}
	for key, raw := range caps {
		if raw[0] == '{' {
			one, flags := object(raw), &healer{}
			for flag, v := range one {
				if (flag == "listChanged" || flag == "subscribe") && string(v) != "true" && string(v) != "false" {
					flags.set(one, flag, strings.Trim(string(v), `"`) == "true" || string(v) == "1")
				}
			}
			if flags.changed {
				inner.set(caps, key, one)
			}
		} else if string(raw) == "false" || string(raw) == "null" {
			inner.drop(caps, key)
		} else {
			inner.set(caps, key, fields{})
		}
	}
	inner.moveFeature(caps)
	if inner.changed {
		h.set(r, "capabilities", caps)
	}
}

// list fixes the elements of a list, which may be a map or a single element. Positions are kept: a non-object becomes
// an empty object.
func (h *healer) list(r fields, key string, each func(m fields, inner *healer)) {
	raw := r[key]
	var parts []json.RawMessage
	changed := false
	switch {
	case len(raw) > 0 && raw[0] == '[':
		if json.Unmarshal(raw, &parts) != nil {
			return
		}
	case len(raw) > 0 && raw[0] == '{':
		changed = true
		all := object(raw)
		if _, one := all["name"]; one && all["name"][0] == '"' {
			parts = []json.RawMessage{raw}
			break
		}
		for _, name := range sortedKeys(all) {
			if m := object(all[name]); m != nil {
				if m["name"] == nil {
					h.set(m, "name", name)
				}
				b, err := json.Marshal(m)
				if err != nil { // as above
					continue
				}
				parts = append(parts, b)
			}
		}
	default:
		changed = true
	}
	for i, part := range parts {
		m, inner := object(part), &healer{}
		if m == nil {
			m, inner.changed = fields{}, true
		}
		each(m, inner)
		if !inner.changed {
			continue
		}
		b, err := json.Marshal(m)
		if err != nil { // as above
			continue
		}
		parts[i], changed = b, true
	}
	if changed {
		if parts == nil {
			parts = []json.RawMessage{}
		}
		h.set(r, key, parts)
	}
}

// nameless replaces the name of a nameless tool, which is left out with the reason.
const nameless = "(without a name)"

func (h *healer) tool(m fields, inner *healer) {
	inner.texts(m, "name", "title", "description")
	if s, ok := str(m["name"]); !ok || s == "" {
		inner.set(m, "name", nameless)
	}
	for _, other := range []string{"input_schema", "parameters", "schema"} { // other protocols' names
		if m["inputSchema"] == nil && object(m[other]) != nil {
			inner.set(m, "inputSchema", m[other])
		}
	}
	switch s, isText := str(m["inputSchema"]); {
	case isText && object([]byte(s)) != nil: // encoded twice
		inner.set(m, "inputSchema", json.RawMessage(s))
	case m["inputSchema"] == nil || string(m["inputSchema"]) == "null" || string(m["inputSchema"]) == "true":
		inner.set(m, "inputSchema", map[string]any{"type": "object"})
	}
	inner.objects(m, "outputSchema", "_meta", "execution", "annotations")
	inner.lists(m, "icons")
	inner.moveSupport(m)
	if a := object(m["annotations"]); a != nil {
		flags := &healer{}
		flags.texts(a, "title")
		for _, key := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if raw, ok := a[key]; ok && string(raw) != "true" && string(raw) != "false" {
				flags.drop(a, key)
			}
		}
		if flags.changed {
			inner.set(m, "annotations", a)
		}
	}
	var icons []fields
	if raw, ok := m["icons"]; ok && json.Unmarshal(raw, &icons) != nil {
		inner.drop(m, "icons")
	}
	for _, icon := range icons {
		if _, ok := str(icon["src"]); !ok || icon["sizes"] != nil && icon["sizes"][0] != '[' {
			inner.drop(m, "icons")
		}
	}
}

// answer fixes the result of a tool.
func (h *healer) answer(r fields) {
	if raw, ok := r["isError"]; ok && string(raw) != "true" && string(raw) != "false" {
		h.set(r, "isError", strings.EqualFold(strings.Trim(string(raw), `"`), "true") || string(raw) == "1")
	}
	raw, ok := r["content"]
	switch {
	case !ok:
		h.set(r, "content", []any{})
		return
	case raw[0] != '[':
		if string(raw) == "null" {
			h.set(r, "content", []any{})
		} else {
			h.set(r, "content", content(raw))
		}
		raw = r["content"]
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return
	}
	changed := false
	for i, p := range parts {
		m := object(p)
		if m == nil {
			parts[i], changed = asText(p), true
			continue
		}
		inner := &healer{}
		if good := part(m, inner); !good {
			parts[i], changed = asText(p), true
		} else if inner.changed {
			b, err := json.Marshal(m)
			if err != nil { // as above
				continue
			}
			parts[i], changed = b, true
		}
	}
	if changed {
		h.set(r, "content", parts)
	}
}

// part fixes one part of a result; false means an unknown type.
func part(m fields, h *healer) bool {
	h.objects(m, "_meta", "annotations")
	kind, _ := str(m["type"])
	if kind == "" && m["text"] != nil {
		kind = "text"
		h.set(m, "type", kind)
	}
	switch kind {
	case "text":
		if raw := m["text"]; len(raw) == 0 || raw[0] != '"' {
			h.set(m, "text", textOf(raw))
		}
	case "image", "audio":
		h.texts(m, "mimeType")
		var data []byte
		return json.Unmarshal(m["data"], &data) == nil && len(data) > 0
	case "resource_link":
		h.texts(m, "uri", "name", "title", "description", "mimeType")
		h.numbers(m, "size")
		h.lists(m, "icons")
		for _, key := range []string{"uri", "name"} {
			if m[key] == nil {
				h.set(m, key, "")
			}
		}
	case "resource":
		r, inner := object(m["resource"]), &healer{}
		if r == nil {
			return false
		}
		inner.texts(r, "uri", "mimeType", "text")
		inner.objects(r, "_meta")
		if r["uri"] == nil {
			inner.set(r, "uri", "")
		}
		var blob []byte
		if raw, ok := r["blob"]; ok && json.Unmarshal(raw, &blob) != nil {
			return false
		}
		if inner.changed {
			h.set(m, "resource", r)
		}
	default:
		return false
	}
	return true
}

// texts converts fields to text and drops those that can't be converted.
func (h *healer) texts(m fields, keys ...string) {
	for _, key := range keys {
		raw, ok := m[key]
		switch {
		case !ok || raw[0] == '"':
		case raw[0] == '{' || raw[0] == 'n':
			h.drop(m, key)
		default:
			h.set(m, key, textOf(raw))
		}
	}
}

func (h *healer) numbers(m fields, keys ...string) {
	for _, key := range keys {
		raw, ok := m[key]
		if !ok || isNumber(raw) {
			continue
		}
		if n, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
			h.set(m, key, n)
		} else {
			h.drop(m, key)
		}
	}
}

// objects drops fields that aren't the required objects; lists names those that must be lists.
func (h *healer) objects(m fields, keys ...string) {
	for _, key := range keys {
		if raw, ok := m[key]; ok && raw[0] != '{' {
			h.drop(m, key)
		}
	}
}

func (h *healer) lists(m fields, keys ...string) {
	for _, key := range keys {
		if raw, ok := m[key]; ok && raw[0] != '[' {
			h.drop(m, key)
		}
	}
}

func object(raw []byte) fields {
	var m fields
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func str(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// textOf returns a value as text: a string, the strings of a list, or JSON.
func textOf(raw json.RawMessage) string {
	if s, ok := str(raw); ok {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, "\n")
	}
	if string(raw) == "null" {
		return ""
	}
	return agent.Clip(string(raw), maxText)
}

// asText returns a part of a result with any value as its text.
func asText(raw json.RawMessage) json.RawMessage {
	b, err := json.Marshal(map[string]string{"type": "text", "text": textOf(raw)})
	if err != nil { // strings always encode
		return json.RawMessage(`{"type":"text","text":""}`)
	}
	return b
}

// content returns a list with one part, which is the value itself if it is one.
func content(raw json.RawMessage) json.RawMessage {
	if m := object(raw); m == nil || m["type"] == nil {
		raw = asText(raw)
	}
	return slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))
}

func sortedKeys(m fields) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// explain describes a server's failure, with the last lines of its output.
func (s *server) explain(err error, began time.Time) error {
	if errors.As(err, &process.NotFoundError{}) {
		return err
	}
	if s.unknown.Load() {
		return errLogin
	}
	var u *url.Error
	switch {
	case tooLarge(err):
		err = fmt.Errorf("it sent a message larger than %d MiB", s.pool.o.MaxMessage>>20)
	case errors.As(err, &u):
		err = u.Err // its wrapper repeats the address
	case errors.Is(err, io.EOF):
		err = errors.New("it has ended")
	}
	text := s.veil.over(err.Error())
	if said := s.log.since(began, 3); said != "" {
		text += "; it said: " + said
	}
	return errors.New(agent.Clip(text, 600))
}

// tooLarge reports whether a message exceeded the limit. The library has no sentinel errors.
func tooLarge(err error) bool {
	return errors.Is(err, errTooLarge) ||
		strings.Contains(err.Error(), "exceeded the configured maximum line length") ||
		strings.Contains(err.Error(), "SSE event exceeded") || strings.Contains(err.Error(), errTooLarge.Error())
}

// fail schedules the next attempt; the lock is held.
func (s *server) fail(why string) {
	if s.unknown.Load() { // trying again would not help
		s.state, s.err, s.next = StateLogin, errLogin.Error(), time.Time{}
		return
	}
	s.state, s.err = StateFailed, why
	s.next = time.Now().Add(min(firstDelay<<min(s.failures, 16), lastDelay))
	s.failures++
	s.pool.o.Log.Warn("MCP server failed", "server", s.name, "err", why, "next", s.next)
}
