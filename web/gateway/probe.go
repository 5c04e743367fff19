package gateway

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/web/httpx"
	"fawn/web/route"
)

// maxProbes limits concurrent test calls to models.
const maxProbes = 4

// probedJSON is the result of a test call to a model.
type probedJSON struct {
	OK         bool      `json:"ok"`
	BaseURL    string    `json:"base_url"` // the address that answered, or whose failure says most
	Reply      string    `json:"reply"`
	LatencyMS  int64     `json:"latency_ms"`
	Error      string    `json:"error"` // in the provider's own words
	ErrorClass string    `json:"error_class"`
	Status     int       `json:"status"` // status of the provider's answer; 0 without one
	Tried      []tryJSON `json:"tried"`
	Models     []string  `json:"models"`         // models of the server, if it lists them
	Context    int       `json:"context_length"` // context window of the model; 0 = unknown
}

type tryJSON struct {
	BaseURL   string `json:"base_url"`
	OK        bool   `json:"ok"`
	Error     string `json:"error"`
	LatencyMS int64  `json:"latency_ms"`
}

func probedOf(p llm.Probed, model string) probedJSON {
	out := probedJSON{OK: p.OK, BaseURL: p.BaseURL, Reply: p.Reply, LatencyMS: p.Took.Milliseconds(),
		Tried: []tryJSON{}}
	out.Error, out.ErrorClass, out.Status = llm.Words(p.Err)
	for _, t := range p.Tried {
		words, _, _ := llm.Words(t.Err)
		out.Tried = append(out.Tried, tryJSON{t.BaseURL, t.Err == nil, words, t.Took.Milliseconds()})
	}
	out.Models = []string{}
	for _, o := range p.Offers {
		out.Models = append(out.Models, o.ID)
	}
	if o, ok := p.Offer(model); ok {
		out.Context = cmp.Or(o.Context, o.MaxContext)
	}
	return out
}

// probeModel handles POST /models/probe: a real call to a model, stored or not.
func (g *Gateway) probeModel(c echo.Context) error {
	e, err := g.bindModel(c)
	if err != nil {
		return err
	}
	settings, err := g.settings()
	if err != nil {
		return err
	}
	entry, known := settings.Current().Model(e.Name)
	switch {
	case !known && len(e.Fields) == 0 && e.Key == nil && e.Name != "":
		return settingsError(config.ErrNoModel)
	case known && len(e.Fields) == 0 && e.Key == nil:
	default:
		if e.Name == "" {
			e.Name = "unnamed"
		}
		if !known && e.Fields["model"] == nil && e.Name == "unnamed" {
			return httpx.Invalid("body", "model", "name the model to call, or give the name of a stored one")
		}
		if entry, err = settings.Overlaid(e); err != nil {
			return settingsError(err)
		}
	}
	if entry.Disabled != "" {
		return httpx.Errorf(http.StatusConflict, "model %s is disabled: %s", route.Cut(entry.Name, 80), entry.Disabled)
	}
	p, err := g.probe(c.Request().Context(), entry)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, probedOf(p, entry.Model))
}

// probe waits for its turn and calls the model.
func (g *Gateway) probe(ctx context.Context, entry config.Model) (llm.Probed, error) {
	select {
	case g.probes <- struct{}{}:
		defer func() { <-g.probes }()
	case <-ctx.Done():
		return llm.Probed{}, context.Cause(ctx)
	}
	return lead.ProbeVia(ctx, entry, g.Outward.Guard(ctx)), nil
}

// offerJSON is a model a server has.
type offerJSON struct {
	ID         string `json:"id"`
	Context    int    `json:"context_length"`     // window configured on the server; 0 = unknown
	MaxContext int    `json:"max_context_length"` // the model's own limit; 0 = unknown
	Vision     bool   `json:"supports_vision"`
	Tools      bool   `json:"supports_tools"`
	Thinking   bool   `json:"supports_thinking"`
}

// serverJSON is a model server on this machine.
type serverJSON struct {
	Name    string      `json:"name"`
	BaseURL string      `json:"base_url"`
	Use     string      `json:"use"`
	Models  []offerJSON `json:"models"`
}

// discoveredJSON are model servers, and the names of variables that hold keys.
type discoveredJSON struct {
	Keys    []string     `json:"keys"`
	Servers []serverJSON `json:"servers"`
}

// discoverModels handles GET /models/discover: models that could be set up without further
// configuration.
func (g *Gateway) discoverModels(c echo.Context) error {
	servers := []serverJSON{}
	for _, f := range g.Discover(c.Request().Context()) {
		one := serverJSON{f.Name, f.BaseURL, f.Use, []offerJSON{}}
		for _, o := range f.Offers {
			one.Models = append(one.Models, offerJSON{o.ID, o.Context, o.MaxContext, o.Vision, o.Tools, o.Thinking})
		}
		servers = append(servers, one)
	}
	keys := llm.KeysInEnv()
	if keys == nil {
		keys = []string{}
	}
	return httpx.JSON(c, http.StatusOK, discoveredJSON{keys, servers})
}

// presetJSON is a provider that can be chosen by name.
type presetJSON struct {
	Name    string `json:"name"`
	Label   string `json:"label"`
	BaseURL string `json:"base_url"`
	Key     string `json:"key_variable"`
	KeySet  bool   `json:"key_set"` // that variable is set
	KeyPage string `json:"key_page"`
	Local   bool   `json:"local"`
}

type presetList struct {
	Presets []presetJSON `json:"presets"`
}

// presets handles GET /settings/presets: providers selectable by name.
func (g *Gateway) presets(c echo.Context) error {
	set := llm.KeysInEnv()
	list := []presetJSON{}
	for _, p := range llm.Presets() {
		list = append(list, presetJSON{p.Name, p.Label, p.BaseURL, p.Key, slices.Contains(set, p.Key),
			p.KeyPage, p.Local})
	}
	return httpx.JSON(c, http.StatusOK, presetList{list})
}
