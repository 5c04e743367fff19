package scriptmodel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Limits of the server.
const (
	maxBody       = 64 << 20
	maxKept       = 256
	maxKeptBytes  = 16 << 20
	maxCounters   = 4096
	maxHang       = 5 * time.Minute
	sideAnswer    = "Scripted reply."
	generatedWord = "lorem "
	thoughtWord   = "think "
)

// Model is the model server as an [http.Handler]. Make one with [New]; its
// methods may be called while it serves.
type Model struct {
	mux *http.ServeMux

	mu       sync.Mutex // guards the fields below
	rules    []Rule
	attempts map[string]int
	gates    map[string]chan struct{} // closed when open
	kept     []Request
	keptSize int
	count    int
}

// Rule assigns a script to user messages that contain Match and no script of their own. The first matching rule wins.
type Rule struct {
	Match  string `json:"match"`
	Script Script `json:"script"`
}

// Request is one recorded chat completion request.
type Request struct {
	N    int             `json:"n"` // counts from 1 since the server's start
	At   time.Time       `json:"at"`
	Kind string          `json:"kind"` // "script", "side" or "invalid"
	Turn int             `json:"turn"`
	Body json.RawMessage `json:"body"`
}

// Server is a [Model] that listens on a loopback port of the system's choice.
type Server struct {
	*Model
	URL string // base address; the API is below URL + "/v1"
}

// New returns a model server without rules.
func New() *Model {
	m := &Model{mux: http.NewServeMux(), attempts: map[string]int{}, gates: map[string]chan struct{}{}}
	for _, prefix := range [...]string{"/v1", ""} {
		m.mux.HandleFunc("POST "+prefix+"/chat/completions", m.complete)
		m.mux.HandleFunc("GET "+prefix+"/models", m.models)
	}
	m.mux.HandleFunc("GET /script/requests", m.listRequests)
	m.mux.HandleFunc("DELETE /script/requests", m.forgetRequests)
	m.mux.HandleFunc("PUT /script/rules", m.putRules)
	m.mux.HandleFunc("PUT /script/gates/{name}", func(w http.ResponseWriter, r *http.Request) {
		m.Open(r.PathValue("name"))
		w.WriteHeader(http.StatusNoContent)
	})
	return m
}

// Start serves a new model for the length of a test.
func Start(t testing.TB) *Server {
	t.Helper()
	m := New()
	srv := httptest.NewServer(m)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return &Server{Model: m, URL: srv.URL}
}

// ServeHTTP answers one request.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// When answers user messages that contain match with s, unless they carry a
// script. Rules are tried in the order they were given.
func (m *Model) When(match string, s Script) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = append(m.rules, Rule{Match: match, Script: s})
}

// Replace replaces all rules.
func (m *Model) Replace(rules []Rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = slices.Clone(rules)
}

// Open opens a gate for waiting and future answers.
func (m *Model) Open(gate string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.gate(gate):
	default:
		close(m.gates[gate])
	}
}

// gate returns a channel that is closed when the gate opens. mu is held.
func (m *Model) gate(name string) chan struct{} {
	if m.gates[name] == nil {
		m.gates[name] = make(chan struct{})
	}
	return m.gates[name]
}

// passed waits at a gate and reports whether the client is still connected.
func (m *Model) passed(r *http.Request, name string) bool {
	m.mu.Lock()
	gate := m.gate(name)
	m.mu.Unlock()
	select {
	case <-gate:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Requests returns the recorded requests, oldest first.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.kept...)
}

// Forget drops the recorded requests.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept, m.keptSize = nil, 0
}

// choice is the answer picked for a request.
type choice struct {
	turn  Turn
	index int
	kind  string
	key   string
}

func (m *Model) choose(q *chatRequest) choice {
	side := choice{kind: "side", turn: Turn{Text: sideAnswer}.bounded()}
	if q.ResponseFormat.Type == "json_object" || q.ResponseFormat.Type == "json_schema" {
		side.turn.Text = "{}"
	}
	answered, newest := 0, true
	for i := len(q.Messages) - 1; i >= 0; i-- {
		msg := &q.Messages[i]
		switch msg.Role {
		case "assistant":
			answered++
		case "user":
			text := msg.text()
			s, at := m.find(text)
			if newest && len(q.Tools) == 0 && at != 0 {
				return side
			}
			newest = false
			if s == nil {
				continue
			}
			sum := sha256.Sum256([]byte(text))
			key := s.Key
			if key == "" {
				key = hex.EncodeToString(sum[:8])
			}
			return choice{turn: s.Turn(answered), index: answered, kind: "script",
				key: key + "/" + strconv.Itoa(answered)}
		}
	}
	return side
}

func (m *Model) find(text string) (*Script, int) {
	if s, at := Find(text); s != nil {
		return s, at
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.rules {
		if at := strings.Index(text, m.rules[i].Match); at >= 0 {
			return &m.rules[i].Script, at
		}
	}
	return nil, -1
}

func (m *Model) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	var q chatRequest
	if err := json.Unmarshal(body, &q); err != nil {
		m.record("invalid", 0, mustJSON(string(body)))
		writeError(w, http.StatusBadRequest, "request body: "+err.Error())
		return
	}
	c := m.choose(&q)
	n := m.record(c.kind, c.index, body)
	if !pause(r.Context(), time.Duration(c.turn.FirstByteMS)*time.Millisecond) {
		return
	}
	if f := c.turn.Error; f != nil && m.fails(c.key, f) {
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.FormatFloat(f.RetryAfter, 'f', -1, 64))
		}
		status := f.Status
		if status < 400 || status > 599 {
			status = http.StatusInternalServerError
		}
		message := f.Message
		if message == "" {
			message = http.StatusText(status)
		}
		writeError(w, status, message)
		return
	}
	a := &answer{turn: c.turn, model: q.Model, id: fmt.Sprintf("chatcmpl-%d-%d", n, c.index),
		promptBytes: len(body), passed: m.passed}
	if q.Stream {
		a.usageFrame = q.StreamOptions.IncludeUsage
		a.stream(w, r)
		return
	}
	a.whole(w, r)
}

// fails counts an attempt and reports whether it must fail.
func (m *Model) fails(key string, f *Failure) bool {
	if f.Times <= 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.attempts) >= maxCounters {
		clear(m.attempts)
	}
	m.attempts[key]++
	return m.attempts[key] <= f.Times
}

// record keeps a request and returns its number.
func (m *Model) record(kind string, turn int, body json.RawMessage) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	m.kept = append(m.kept, Request{N: m.count, At: time.Now().UTC(), Kind: kind, Turn: turn, Body: body})
	m.keptSize += len(body)
	for len(m.kept) > maxKept || m.keptSize > maxKeptBytes && len(m.kept) > 1 {
		m.keptSize -= len(m.kept[0].Body)
		m.kept = m.kept[1:]
	}
	return m.count
}

func (m *Model) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"object": "list", "data": []any{
		map[string]any{"id": "script", "object": "model", "created": 0, "owned_by": "scriptmodel"},
	}})
}

func (m *Model) listRequests(w http.ResponseWriter, _ *http.Request) {
	list := m.Requests()
	if list == nil {
		list = []Request{}
	}
	writeJSON(w, list)
}

func (m *Model) forgetRequests(w http.ResponseWriter, _ *http.Request) {
	m.Forget()
	w.WriteHeader(http.StatusNoContent)
}

func (m *Model) putRules(w http.ResponseWriter, r *http.Request) {
	var rules []Rule
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&rules); err != nil {
		writeError(w, http.StatusBadRequest, "rules: "+err.Error())
		return
	}
	m.Replace(rules)
	w.WriteHeader(http.StatusNoContent)
}

func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%s,"type":"scripted_error","param":null,"code":"%d"}}`,
		mustJSON(message), status)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	b, err := json.Marshal(v)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Write(b)
}

// mustJSON quotes a string; that cannot fail.
func mustJSON(s string) json.RawMessage {
	b, _ := json.Marshal(s)
	return b
}

// pause waits and reports whether the client is still connected.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(time.Duration(math.Min(float64(d), float64(maxHang))))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
