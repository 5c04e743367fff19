// Package anthropic implements Anthropic's Messages API through its SDK: thinking with signatures, prompt caching, and
// tools.
//
// The SDK makes the requests and has their types. Its use of the environment, its retries and its stream decoder are
// off: package sse reads the streams of all providers, so that silence, cuts and failures inside an answer are the same
// everywhere.
package anthropic

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"fawn/agent/llm/wire"
)

// Config selects the model and its address.
type Config struct {
	Name    string            // how errors call the model; empty = Model
	Model   string            // the provider's name of the model; required
	BaseURL string            // root, root + /v1, or the full /v1/messages address; empty = Anthropic
	APIKey  string            // sent as x-api-key; empty = none
	Headers map[string]string // added to every request

	MaxTokens   int      // most tokens of one answer; 0 = 8192
	Temperature *float64 // nil = the provider's default
	// ExtraBody is laid over the request body, objects merged key by key. A nil value
	// removes a field.
	ExtraBody   map[string]any
	ThinkingOn  map[string]any // laid over ExtraBody when the call asks for thinking
	ThinkingOff map[string]any // overrides ExtraBody otherwise
	Effort      bool           // the model takes an effort
	NoCache     bool           // disable prompt caching

	Timeout     time.Duration // wait for the answer to begin; 0 = 10 minutes
	IdleTimeout time.Duration // longest silence inside an answer; 0 = 4 minutes, < 0 = no limit
	Client      *http.Client  // nil = a client shared by all models
}

// Base is the provider's address.
const Base = "https://api.anthropic.com"

// Version of the API that is spoken.
const Version = "2023-06-01"

const defaultMaxTokens = 8192 // the API requires a limit

// Model is one model behind the Messages API. It is safe for concurrent use.
type Model struct {
	cfg  Config
	api  sdk.MessageService
	call wire.Call
}

// New checks the configuration without network access.
func New(cfg Config) (*Model, error) {
	if cfg.Model == "" {
		return nil, fmt.Errorf("model %q: no model name is set", cfg.Name)
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Model
	}
	root, query, err := Root(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	if cfg.MaxTokens <= 0 {
		cfg.MaxTokens = defaultMaxTokens
	}
	opts := []option.RequestOption{option.WithBaseURL(root), option.WithHTTPClient(wire.Client(cfg.Client)),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream"),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			r.URL.RawQuery = query
			resp, err := next(r)
			if err != nil {
				return nil, err
			}
			if refused := wire.Refused(resp); refused != nil {
				return nil, refused // the SDK reads failures of any length
			}
			return resp, nil
		})}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	for _, k := range slices.Sorted(maps.Keys(cfg.Headers)) {
		opts = append(opts, option.WithHeader(k, cfg.Headers[k]))
	}
	return &Model{cfg: cfg, api: sdk.NewMessageService(opts...),
		call: wire.Call{Name: cfg.Name, Timeout: cfg.Timeout, IdleTimeout: cfg.IdleTimeout,
			Secrets: wire.Secrets(cfg.APIKey, cfg.Headers)}}, nil
}

// Root finds the address below which /v1 is, and the query each request carries.
func Root(raw string) (root, query string, err error) {
	if raw == "" {
		return Base, "", nil
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", "", fmt.Errorf("base_url %q must look like https://host", raw)
	}
	p := strings.TrimRight(path.Clean("/"+u.Path), "/")
	for _, end := range []string{"/messages", "/models", "/v1"} {
		p = strings.TrimSuffix(p, end)
	}
	query, u.Path, u.RawPath, u.RawQuery, u.Fragment = u.RawQuery, p, "", "", ""
	return u.String(), query, nil
}

// Headers returns the headers of every API request.
func Headers(key string) map[string]string {
	h := map[string]string{"Anthropic-Version": Version}
	if key != "" {
		h["X-Api-Key"] = key
	}
	return h
}
