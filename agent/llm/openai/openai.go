// Package openai calls every provider with an OpenAI-compatible chat completions API, and OpenAI's Responses API.
//
// # Why chat requests are encoded here beside go-openai
//
// go-openai is used for the types of messages, tools and requests, and for the HTTP request (package agent/llm/media
// uses it for images and audio). The body of a chat request is encoded by this package all the same, because
// go-openai's request
//
//   - has no fields for provider extensions: reasoning that is sent back, signatures of calls, thinking switches,
//     extra_body;
//   - can't omit a field that a provider refuses, and drops a temperature of 0 and an empty content;
//   - would encode the whole conversation again at every step. Here messages are encoded once.
//
// So the transport lays our fields and the encoded messages over the small body that go-openai made. The answer
// bypasses go-openai too: its errors keep neither body nor headers, and its chunks have only the fields that OpenAI
// knows. The two halves meet in the request's context, because nothing else passes through the client.
//
// Begin with openai.go and dialect.go; encode.go and transport.go write requests, stream.go and decode.go read answers.
package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	client "github.com/sashabaranov/go-openai"

	"fawn/agent/llm/wire"
)

// Config selects the model, its address, and the provider's dialect.
type Config struct {
	Name    string            // how errors call the model; empty = Model
	Model   string            // the provider's name of the model; required
	BaseURL string            // root, root + /v1, or the full /chat/completions address; empty = OpenAI
	APIKey  string            // sent as a bearer token; empty = none
	Headers map[string]string // added to every request

	MaxTokens   int      // most tokens of one answer; 0 = the provider's default
	Temperature *float64 // nil = the provider's default
	// ExtraBody is merged into the request body key by key. A nil value removes a field that the provider doesn't
	// accept, such as stream_options.
	ExtraBody   map[string]any
	ThinkingOn  map[string]any // laid over ExtraBody when the call asks for thinking
	ThinkingOff map[string]any // overrides ExtraBody otherwise
	Effort      bool           // the model takes reasoning_effort
	Responses   bool           // the model is called through the Responses API
	Lessons     *Lessons       // lessons of earlier refusals; nil = of this model alone
	Dialect     Dialect        // how the provider differs from the common API

	Timeout     time.Duration // wait for the answer to begin; 0 = 10 minutes
	IdleTimeout time.Duration // longest silence inside an answer; 0 = 4 minutes, < 0 = no limit
	Client      *http.Client  // nil = a client shared by all models
}

// Model is one model behind an OpenAI-compatible API. It is safe for concurrent use.
type Model struct {
	cfg     Config
	client  *client.Client
	http    *http.Client // below it
	base    string
	call    wire.Call
	dropped []string // fields the provider refused
	taken   shapes   // message shapes the provider accepts
	first   *opening // shared by copies of the model
}

// New checks the configuration without network access.
func New(cfg Config) (*Model, error) {
	if cfg.Model == "" {
		return nil, fmt.Errorf("model %q: no model name is set", cfg.Name)
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Model
	}
	base, query, err := Endpoint(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	if cfg.Lessons == nil {
		cfg.Lessons = &Lessons{}
	}
	m := &Model{cfg: cfg, first: &opening{},
		call: wire.Call{Name: cfg.Name, Timeout: cfg.Timeout, IdleTimeout: cfg.IdleTimeout,
			Secrets: wire.Secrets(cfg.APIKey, cfg.Headers)}}
	h := wire.Client(cfg.Client)
	h.Transport = &transport{below: h.Transport, headers: cfg.Headers, query: query, secrets: m.call.Secrets}

	cc := client.DefaultConfig(cfg.APIKey)
	cc.BaseURL, cc.HTTPClient = base, h
	m.http, m.base = h, base
	m.client = client.NewClientWithConfig(cc)
	return m, nil
}

// Endpoint finds the address that go-openai appends /chat/completions and its other paths to, and the query
// each request carries. Empty is OpenAI's.
func Endpoint(raw string) (base, query string, err error) {
	if raw == "" {
		return "https://api.openai.com/v1", "", nil
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", fmt.Errorf("base_url %q must look like https://host/v1", raw)
	}
	p := strings.TrimRight(path.Clean("/"+u.Path), "/")
	p = strings.TrimSuffix(strings.TrimSuffix(p, "/chat/completions"), "/responses")
	if p == "" {
		p = "/v1"
	}
	query, u.Path, u.RawPath, u.RawQuery, u.Fragment = u.RawQuery, p, "", "", ""
	return u.String(), query, nil
}
