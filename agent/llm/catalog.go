package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Offer describes a model available on a server. Zero values are unknown.
type Offer struct {
	ID         string
	Context    int // tokens of prompt and answer together, as the server runs the model
	MaxContext int // the model's own maximum
	Vision     bool
	Tools      bool
	Thinking   bool
	Embeds     bool // an embedding model
}

// Limits of a server's responses.
const (
	maxCatalog = 4 << 20
	maxOffers  = 2000
	maxShown   = 64 // limit of models queried individually on one server
)

// catalog asks servers which models they have.
type catalog struct {
	client  *http.Client
	headers map[string]string
}

// get reads a JSON answer into v.
func (c catalog) get(ctx context.Context, method, address string, body, v any) error {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.headers {
		r.Header.Set(k, v)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxCatalog)).Decode(v)
}

// listed is an entry of the list of models, with the servers' names for the same fields.
type listed struct {
	ID           string `json:"id"`
	OwnedBy      string `json:"owned_by"`
	MaxModelLen  int    `json:"max_model_len"`  // vLLM, SGLang
	ContextSize  int    `json:"context_length"` // OpenRouter, Moonshot
	Window       int    `json:"context_window"` // Groq
	MaxContext   int    `json:"max_context_length"`
	MaxInput     int    `json:"max_input_tokens"` // Anthropic
	Architecture struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"`
	Parameters []string `json:"supported_parameters"`
	Meta       struct {
		Trained int `json:"n_ctx_train"` // llama.cpp
		Context int `json:"n_ctx"`
	} `json:"meta"`
}

// list asks for the models of a base URL.
func (c catalog) list(ctx context.Context, base string) ([]Offer, error) {
	var answer struct {
		Data []listed `json:"data"`
	}
	if err := c.get(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil, &answer); err != nil {
		return nil, err
	}
	var out []Offer
	for _, d := range answer.Data[:min(len(answer.Data), maxOffers)] {
		if d.ID == "" {
			continue
		}
		out = append(out, Offer{ID: d.ID,
			Context:    cmp.Or(d.MaxModelLen, d.ContextSize, d.Window, d.MaxInput, d.Meta.Context),
			MaxContext: cmp.Or(d.MaxContext, d.Meta.Trained),
			Vision:     slices.Contains(d.Architecture.Input, "image"), Tools: slices.Contains(d.Parameters, "tools"),
			Thinking: slices.Contains(d.Parameters, "reasoning")})
	}
	return out, nil
}

// describe asks a local server's native API about its models. Each server supports one of the addresses; details not
// received in time stay unknown.
func (c catalog) describe(ctx context.Context, base string, offers []Offer) {
	u, err := url.Parse(base)
	if err != nil {
		return
	}
	root := u.Scheme + "://" + u.Host
	var mu sync.Mutex
	at := func(id string, f func(o *Offer)) {
		mu.Lock()
		defer mu.Unlock()
		if i := slices.IndexFunc(offers, func(o Offer) bool { return o.ID == id }); i >= 0 {
			f(&offers[i])
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.askLMStudio(ctx, root, at) })
	wg.Go(func() { c.askLlamaCpp(ctx, root, offers, at) })
	wg.Go(func() { c.askOllama(ctx, root, offers, at) })
	wg.Wait()
}

// note changes the offer of that id under a lock.
type note func(id string, f func(o *Offer))

func (c catalog) askLMStudio(ctx context.Context, root string, at note) {
	var answer struct {
		Data []struct {
			ID           string   `json:"id"`
			Type         string   `json:"type"`
			Max          int      `json:"max_context_length"`
			Loaded       int      `json:"loaded_context_length"`
			Capabilities []string `json:"capabilities"`
		} `json:"data"`
	}
	if c.get(ctx, http.MethodGet, root+"/api/v0/models", nil, &answer) != nil {
		return
	}
	for _, d := range answer.Data {
		at(d.ID, func(o *Offer) {
			o.Context, o.MaxContext = d.Loaded, d.Max
			o.Vision = d.Type == "vlm"
			o.Embeds = d.Type == "embeddings"
			o.Tools = slices.Contains(d.Capabilities, "tool_use")
		})
	}
}

func (c catalog) askLlamaCpp(ctx context.Context, root string, offers []Offer, at note) {
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	if len(offers) != 1 || c.get(ctx, http.MethodGet, root+"/props", nil, &props) != nil ||
		props.Settings.Context == 0 {
		return
	}
	at(offers[0].ID, func(o *Offer) { o.Context, o.Vision = props.Settings.Context, props.Modalities.Vision })
}

// askOllama reads each model's capabilities and the context window of the loaded ones.
func (c catalog) askOllama(ctx context.Context, root string, offers []Offer, at note) {
	var running struct {
		Models []struct {
			Name    string `json:"name"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if c.get(ctx, http.MethodGet, root+"/api/ps", nil, &running) != nil {
		return // another server
	}
	ids := make([]string, 0, len(offers))
	for _, o := range offers[:min(len(offers), maxShown)] {
		ids = append(ids, o.ID)
	}
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for _, id := range ids {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			c.showOllama(ctx, root, id, at)
		})
	}
	wg.Wait()
	for _, m := range running.Models {
		at(m.Name, func(o *Offer) { o.Context = cmp.Or(m.Context, o.Context) })
	}
}

func (c catalog) showOllama(ctx context.Context, root, id string, at note) {
	var shown struct {
		Info         map[string]any `json:"model_info"`
		Parameters   string         `json:"parameters"`
		Capabilities []string       `json:"capabilities"`
	}
	if c.get(ctx, http.MethodPost, root+"/api/show", map[string]string{"model": id}, &shown) != nil {
		return
	}
	at(id, func(o *Offer) {
		can := func(what string) bool { return slices.Contains(shown.Capabilities, what) }
		o.Vision, o.Tools, o.Thinking = can("vision"), can("tools"), can("thinking")
		o.Embeds = len(shown.Capabilities) > 0 && !can("completion")
		for key, v := range shown.Info {
			if n, ok := v.(float64); ok && strings.HasSuffix(key, ".context_length") && n > 0 && n < 1e9 {
				o.MaxContext = int(n)
			}
		}
		if m := regexp.MustCompile(`(?m)^num_ctx\s+(\d+)\s*$`).FindStringSubmatch(shown.Parameters); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				o.Context = n
			}
		}
	})
}
