package channels

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"slices"
	"sync"
	"time"

	"fawn/agent/channels/chat"
	"fawn/agent/channels/qrlogin"
	"fawn/agent/clusterstate"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/uploads"
)

// Config are the parts a Hub needs.
type Config struct {
	DB   *store.DB
	Runs *runs.Manager
	Log  *slog.Logger
	// Save stores the files of a form in the uploads of a thread; nil rejects files.
	Save func(ctx context.Context, thread string, form *multipart.Reader) (uploads.Result, error)
	// Listen transcribes a recording; nil transcribes nothing.
	Listen func(ctx context.Context, name string, audio io.Reader) (string, error)
	// Listens reports whether Listen is currently available.
	Listens func() bool
	// Open opens a file of a thread by its virtual path, with its size; nil sends no files.
	Open func(thread, path string) (io.ReadCloser, int64, error)
	// Models lists a user's models by name, the default one first.
	Models func(ctx context.Context, owner string) []string
	// Skill reports whether there is a callable skill with a name.
	Skill func(name string) bool
	// Facts records an owner's known facts.
	Facts func(ctx context.Context, owner string) (int, error)
	// Elsewhere returns the status of a platform's bot on another server; nil without other servers.
	Elsewhere func(provider string) (s Status, ok bool)
	// Notes are the notes shared by all servers; nil without other servers.
	Notes clusterstate.Notes
	// Observer is notified of bot activity; nil for none.
	Observer Observer
}

// Settings may change while the server runs.
type Settings struct {
	MaxRuns      int    // limit for runs of all chats together
	MaxWaiting   int    // messages of a platform that wait; more are not read
	RequireBound bool   // only people with a connected account may write
	Web          string // public address of the server, without a slash at its end; empty if there is none
	Lang         string // language tag for people whose app doesn't report theirs
	Bots         []Bot
}

// Bot is one configured platform.
type Bot struct {
	Provider  string
	Name      string   // name of the platform, for people
	Allowed   []string // ids that may write without a connected account; "*" allows everyone
	Unasked   bool     // in groups, also answer messages without a mention
	Guests    bool     // in groups, also answer people without an account, unless the group's settings differ
	Assistant string
	Config    map[string]any // configuration of its runs
	Context   map[string]any
	Handle    string // name of the bot in links
	Warning   string // for the log, when it starts
	Stamp     string // differs when the bot must be opened again
	Open      func() (chat.Channel, error)
}

// Hub runs the bots. A Hub without bots has no goroutines.
type Hub struct {
	cfg    Config
	slots  *semaphore // of runs
	writes *semaphore // of turns that are being stored

	scans *qrlogin.Scans

	applying sync.Mutex // held while starting and stopping bots

	mu       sync.Mutex
	settings Settings
	bots     map[string]*bot
	closed   bool
}

// New returns a Hub without bots. The caller calls Close before it closes the run manager.
func New(cfg Config) *Hub {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	return &Hub{cfg: cfg, bots: map[string]*bot{}, scans: qrlogin.New(cfg.Notes),
		slots: newSemaphore(0), writes: newSemaphore(writesAtOnce)}
}

// writesAtOnce limits the turns stored per commit, so incoming messages don't wait behind a long one.
const writesAtOnce = 16

// stopTime is the grace period for calls in progress when a bot stops.
const stopTime = 3 * time.Second

// Apply starts, stops and restarts bots to match s. Unchanged bots continue.
func (h *Hub) Apply(s Settings) {
	h.applying.Lock()
	defer h.applying.Unlock()
	if s.MaxRuns <= 0 {
		s.MaxRuns = 5
	}
	if s.MaxWaiting <= 0 {
		s.MaxWaiting = 1000
	}
	h.slots.Resize(s.MaxRuns)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.settings = s
	var old []*bot
	for name, b := range h.bots {
		i := slices.IndexFunc(s.Bots, func(n Bot) bool { return n.Provider == name && n.Stamp == b.conf().Stamp })
		if i < 0 {
			old = append(old, b)
			delete(h.bots, name)
			continue
		}
		b.configure(s.Bots[i])
	}
	h.mu.Unlock()
	for _, b := range old {
		b.close()
	}
	for _, n := range s.Bots {
		if h.bot(n.Provider) == nil {
			h.start(n)
		}
	}
}

func (h *Hub) start(conf Bot) {
	b := newBot(h, conf)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.bots[conf.Provider] = b
	b.wg.Go(b.run)
}

// Wake makes the bots process work stored by other servers.
func (h *Hub) Wake(ctx context.Context) error {
	h.mu.Lock()
	list := slices.Collect(maps.Values(h.bots))
	h.mu.Unlock()
	for _, b := range list {
		if b.channel() == nil { // the bot checks again when it begins
			continue
		}
		answers, err := h.cfg.DB.OpenAnswers(ctx, b.provider)
		if err != nil {
			return err
		}
		for _, first := range answers {
			b.deliver(first, false)
		}
	}
	return nil
}

// Scans returns the sign-ins by QR code.
func (h *Hub) Scans() *qrlogin.Scans { return h.scans }

// Restart reopens a bot. It reports whether the bot exists.
func (h *Hub) Restart(provider string) bool {
	h.applying.Lock()
	defer h.applying.Unlock()
	b := h.bot(provider)
	if b == nil {
		return false
	}
	b.close()
	h.start(b.conf())
	return true
}

// Close stops all bots. The next server completes their unfinished work.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	bots := h.bots
	h.bots = map[string]*bot{}
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, b := range bots {
		wg.Go(b.close)
	}
	wg.Wait()
}

func (h *Hub) bot(provider string) *bot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bots[provider]
}

func (h *Hub) current() Settings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings
}

// ErrNoBot means that a platform is not set up, or its bot is not running.
var ErrNoBot = errors.New("this channel is not running")
