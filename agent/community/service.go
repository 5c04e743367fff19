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

// Choice is what a configuration says about one tool. Its zero value leaves all to us.
type Choice struct {
	Provider   string        // one of [Providers]; empty takes what there is a key for, or needs none
	Key        string        // empty looks into the environment
	Base       string        // address of the service; empty is its own
	Most       int           // results at most; 0 is what the model asks for
	Time       time.Duration // of one request; 0 is the usual
	Region     string        // that results are meant for, such as de-de
	SafeSearch string        // off, moderate or strict
	Public     bool          // Base is only reached at public addresses, and at those of Settings.Opened
}

// Settings are what the owner chose. They are asked for at each call.
type Settings struct {
	Search, Fetch, Images Choice
	// Fallback asks the next service when one fails.
	Fallback bool
	// SearXNG is the address of an own search engine, asked before the public ones.
	SearXNG string
	// SearXNGPublic has it only reached at public addresses, and at those of Opened.
	SearXNGPublic bool
	// Opened are the private networks that the owner of a server has opened for its administrators.
	Opened []netip.Prefix
	// Private are networks web_fetch may read from though they are not public.
	Private []netip.Prefix
	// Ports are further ports that web_fetch may connect to.
	Ports []int
	// Order names services to ask before the others, the first first. It counts more than the Provider
	// of a Choice.
	Order []string
	// Env looks up a variable; nil knows none.
	Env func(name string) (string, bool)

	render bool // the model asks for a browser
}

// Config is what a Service needs.
type Config struct {
	// Settings gives those of this moment; nil stands for the defaults.
	Settings func() Settings
	// Guard judges addresses; a request may reach the given networks besides public ones. Nil
	// stands for a guard that knows nothing of this server.
	Guard func(private []netip.Prefix) *netguard.Guard
	// Convert makes Markdown of a document or page apart from this process. Why says in a word
	// what is missing, or why there is no text. Nil reads plain text only.
	Convert func(ctx context.Context, name string, data []byte) (text, why string, err error)
	// Render shows a page in a browser, which may connect to the given networks and ports besides
	// the usual ones. Nil has none.
	Render func(ctx context.Context, address string, private []netip.Prefix, ports []int) (Rendered, error)
	// Base is where a service is that has no address in the settings; "" and nil stand for its own.
	Base func(service string) string
	// World stands in for the web: searches and reads go to it and nowhere else. Nil leaves them to the web.
	World *World
	// Now is the clock; nil is the system's.
	Now func() time.Time
	Log *slog.Logger
}

// Rendered is a page as a browser shows it. Without HTML there is a Why.
type Rendered struct {
	Address string
	HTML    string
	Status  int    // of the HTTP answer; 0 if it isn't known
	Why     string // the browser can't show it
	None    bool   // there is no browser
}

// Service searches and reads. Its methods may be called from any goroutine.
type Service struct {
	cfg     Config
	numbers numbers
	pages   pages
	slots   chan struct{} // one for each conversion under way
}

// conversions is how many pages are converted at a time.
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

// Forget drops what is kept of a thread.
func (s *Service) Forget(thread string) {
	s.numbers.forget(thread)
	s.pages.forget(thread)
}
