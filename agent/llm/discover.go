package llm

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fawn/agent/llm/offline"
)

// Found is a model server on this machine.
type Found struct {
	Name    string
	BaseURL string
	Use     string   // class of its models
	Models  []string // their names
	Offers  []Offer  // the same with details from the server
}

// listTime limits a local server's time to list its models, and then to describe them. Details that arrive later stay
// unknown.
const listTime = 400 * time.Millisecond

// Places returns the usual addresses of local model servers, and the port that OLLAMA_HOST names.
func Places() []Found {
	return []Found{
		{Name: "Ollama", BaseURL: ollama(os.Getenv("OLLAMA_HOST")), Use: "ollama"},
		{Name: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1", Use: "lmstudio"},
		{Name: "llama.cpp", BaseURL: "http://127.0.0.1:8080/v1", Use: "llamacpp"},
		{Name: "vLLM", BaseURL: "http://127.0.0.1:8000/v1", Use: "vllm"},
	}
}

// ollama returns Ollama's address on this machine, given the value of OLLAMA_HOST: [scheme://]host[:port]. Other
// machines are ignored.
func ollama(host string) string {
	const usual = "11434"
	host = strings.TrimSpace(host)
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	host, _, _ = strings.Cut(host, "/")
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, usual
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	here := name == "" || name == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || !here {
		port = usual
	}
	address := "127.0.0.1"
	if here && ip.IsLoopback() {
		address = ip.String()
	}
	return "http://" + net.JoinHostPort(address, port) + "/v1"
}

// Discover queries the usual addresses of this machine concurrently, for at most a second. Servers without a model are
// left out. No other machine is contacted.
func Discover(ctx context.Context) []Found { return DiscoverAt(ctx, Places(), listTime) }

// DiscoverAt is [Discover] for other addresses and another patience with each server.
func DiscoverAt(ctx context.Context, places []Found, patience time.Duration) []Found {
	t := &http.Transport{DisableKeepAlives: true} // no proxy: these are addresses of this machine
	defer t.CloseIdleConnections()
	c := catalog{client: &http.Client{Transport: t, CheckRedirect: noRedirect}}

	found := slices.Clone(places)
	var wg sync.WaitGroup
	for i := range found {
		wg.Go(func() { c.fill(ctx, &found[i], patience) })
	}
	wg.Wait()
	return slices.DeleteFunc(found, func(f Found) bool { return len(f.Models) == 0 })
}

// noRedirect rejects redirects, which could lead away from the queried server.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// fill asks one server.
func (c catalog) fill(ctx context.Context, f *Found, patience time.Duration) {
	listing, stop := context.WithTimeout(ctx, patience)
	offers, err := c.list(listing, f.BaseURL)
	stop()
	if err != nil || len(offers) == 0 {
		return
	}
	details, stop := context.WithTimeout(ctx, patience)
	c.describe(details, f.BaseURL, offers)
	stop()
	f.Offers = slices.DeleteFunc(offers, func(o Offer) bool { return o.Embeds })
	for _, o := range f.Offers {
		f.Models = append(f.Models, o.ID)
	}
}

// Environment lists connection options that the offline model describes.
func Environment(ctx context.Context) offline.Environment {
	env := offline.Environment{Keys: KeysInEnv()}
	for _, f := range Discover(ctx) {
		env.Servers = append(env.Servers, offline.Server{Name: f.Name, BaseURL: f.BaseURL, Models: f.Models})
	}
	return env
}
