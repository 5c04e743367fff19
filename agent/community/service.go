package community

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"fawn/sandbox/netguard"
)

// Names of the tools.
const (
	WebSearch   = "web_search"
	WebFetch    = "web_fetch"
	ImageSearch = "image_search"
)

// Group is the group of all web tools.
const Group = "web"

// Names returns the names of all web tools.
func Names() []string { return []string{WebSearch, WebFetch, ImageSearch} }

// Choice configures one tool. Its zero value uses defaults.
type Choice struct {
	Provider   string        // one of [Providers]; empty selects one with a key, or one that needs none
	Key        string        // empty uses the environment variable
	Base       string        // address of the service; empty is its own
	Most       int           // result limit; 0 uses the model's
	Time       time.Duration // limit of one request; 0 is the default
	Region     string        // region of the results, such as de-de
	SafeSearch string        // off, moderate or strict
	Public     bool          // Base must be a public address or one of Settings.Opened
}

// Settings are the owner's choices, read at each call.
type Settings struct {
	Search, Fetch, Images Choice
	// Fallback tries the next service when one fails.
	Fallback bool
	// SearXNG is the address of the owner's search engine, asked before the public ones.
	SearXNG string
	// SearXNGPublic restricts it to public addresses and those of Opened.
	SearXNGPublic bool
	// Env looks up a variable; nil finds none.
	Opened []netip.Prefix
	// Private are networks web_fetch may read from though they are not public.
	Private []netip.Prefix
	// Ports are further ports that web_fetch may connect to.
	Ports []int
	// Order lists services to ask before the others, in this order. It takes precedence over the Provider
	// of a Choice.
	Order []string
	// Env looks up a variable; nil knows none.
	Env func(name string) (string, bool)

	render bool // the model asks for a browser
}

// Config configures a Service.
type Config struct {
	// Settings returns the current settings; nil uses the defaults.
	Settings func() Settings
	// Guard checks addresses; requests may reach the given private networks besides public addresses. Nil uses a guard
	// without knowledge of this server.
	Guard func(private []netip.Prefix) *netguard.Guard
	// Convert converts a document or page to Markdown in a separate process. why is a code for missing content or for the
	// failure. Nil reads plain text only.
	Convert func(ctx context.Context, name string, data []byte) (text, why string, err error)
	// Render renders a page in a browser, which may connect to the given networks and ports besides the usual ones. Nil
	// disables it.
	Render func(ctx context.Context, address string, private []netip.Prefix, ports []int) (Rendered, error)
	// Base returns the default address of a service; "" and nil use its own.
	Base func(service string) string
	// World replaces the web: searches and reads use it exclusively. Nil uses the web.
	World *World
	// Now is the clock; nil means the system's.
	Now func() time.Time
	Log *slog.Logger
}

// Rendered is a page rendered by a browser. Without HTML, Why is set.
type Rendered struct {
	Address string
	HTML    string
	Status  int    // status of the HTTP response; 0 if unknown
	Why     string // the browser can't show it
	None    bool   // there is no browser
}

// Service searches and reads. It is safe for concurrent use.
type Service struct {
	cfg     Config
	numbers numbers
	pages   pages
	slots   chan struct{} // one for each active conversion
}

// conversions limits concurrent conversions.
const conversions = 2

// New returns a Service.
func New(c Config) *Service {
	if c.Settings == nil {
		c.Settings = func() Settings { return Settings{Fallback: true} }
	}
	if c.Guard == nil {
		c.Guard = func(private []netip.Prefix) *netguard.Guard { return &netguard.Guard{AllowPrivate: private} }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: c, slots: make(chan struct{}, conversions)}
}

// Forget deletes a thread's cached data.
func (s *Service) Forget(thread string) {
	s.numbers.forget(thread)
	s.pages.forget(thread)
}
