// Package embed computes embeddings with models behind OpenAI-compatible APIs (/embeddings).
package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	client "github.com/sashabaranov/go-openai"

	"fawn/agent/llm/openai"
	"fawn/agent/llm/wire"
)

// Limits of one call.
const (
	callTime  = 2 * time.Minute
	maxAnswer = 64 << 20 // bytes
)

// Config selects the model and its address.
type Config struct {
	Model   string // required
	BaseURL string // root, or root + /v1; empty is OpenAI's
	APIKey  string
	HTTP    *http.Client // nil uses the one shared with chat models
}

// Client calls one model. It is safe for concurrent use; refusals are [llmerr.Error].
type Client struct {
	model string
	api   *client.Client
}

// New checks the configuration without a request.
func New(cfg Config) (*Client, error) {
	if cfg.Model == "" {
		return nil, errors.New("no model is set")
	}
	base, query, err := openai.Endpoint(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	h := wire.Client(cfg.HTTP)
	h.Transport = &wire.Direct{Below: h.Transport, Query: query, Secrets: wire.Secrets(cfg.APIKey, nil), Most: maxAnswer}
	cc := client.DefaultConfig(cfg.APIKey)
	cc.BaseURL, cc.HTTPClient = base, h
	return &Client{model: cfg.Model, api: client.NewClientWithConfig(cc)}, nil
}

// Model returns the provider's name of the model.
func (c *Client) Model() string { return c.model }

// Embed returns a vector for each text, all of one length.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	answer, err := c.api.CreateEmbeddings(ctx, client.EmbeddingRequestStrings{Input: texts,
		Model: client.EmbeddingModel(c.model)})
	if err != nil {
		return nil, wire.Failed(ctx, err, callTime)
	}
	out := make([][]float32, len(texts))
	for _, e := range answer.Data {
		if e.Index < 0 || e.Index >= len(out) || len(e.Embedding) == 0 || out[e.Index] != nil {
			return nil, fmt.Errorf("the model %s returned vectors that don't match the texts", c.model)
		}
		out[e.Index] = e.Embedding
	}
	for _, v := range out {
		if len(v) == 0 || len(v) != len(out[0]) {
			return nil, fmt.Errorf("the model %s returned too few vectors, or of different lengths", c.model)
		}
	}
	return out, nil
}
