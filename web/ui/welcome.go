package ui

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/llm"
	"fawn/views"
	"fawn/views/chat"
)

func (u *UI) root(c echo.Context) error { return c.Redirect(http.StatusFound, views.NewChatURL) }

// welcome is GET /workspace/chats/new. The id of the thread is made here, so that files can
// be uploaded before the first message.
func (u *UI) welcome(c echo.Context) error {
	id := c.QueryParam("thread") // a draft that came back
	if u.free(c.Request().Context(), id) != nil {
		id = uuid.Must(uuid.NewV7()).String()
	}
	return u.welcomePage(c, id, boxDraft{text: head(c.QueryParam("q"), maxDraft)})
}

func (u *UI) welcomePage(c echo.Context, thread string, d boxDraft) error {
	shell, err := u.shell(c, views.NavNew, "")
	if err != nil {
		return err
	}
	p := views.WelcomePage{Shell: shell, Notice: u.configNotice(c)}
	if p.Composer, err = u.composer(c, thread, nil, nil); err != nil {
		return err
	}
	p.Composer.New, p.Composer.Autofocus = true, true
	p.Composer.Text, p.Composer.Problem = d.text, d.problem
	snap := u.Config.Current()
	connected := len(snap.UsableModels()) > 0
	if !connected {
		p.FirstRun = u.firstRun(c.Request().Context())
	}
	if !connected || !snap.File.Web.Enabled { // nothing reads the web
		p.Starters = []string{"write", "analyse", "learn", "page"}
	}
	return html(c, max(d.status, http.StatusOK), chat.WelcomePage(p))
}

// firstRun is the card about connecting a model.
func (u *UI) firstRun(ctx context.Context) *views.FirstRun {
	f := &views.FirstRun{ConfigPath: cmp.Or(u.Config.Current().ConfigPath, u.Config.Current().SettingsPath())}
	m := u.offered(ctx)
	f.Keys, f.Servers = m.Keys, m.Found
	return f
}

const (
	discoverEvery = 30 * time.Second      // how long what was found counts as fresh
	discoverWait  = 50 * time.Millisecond // how long a page waits for a look
	discoverTime  = 2 * time.Second       // how long a look may take
)

// discovery remembers which model servers answered on this machine. At most one look is
// under way; it ends by itself within discoverTime.
type discovery struct {
	find func(context.Context) []llm.Found

	mu    sync.Mutex
	found []llm.Found
	at    time.Time
	look  chan struct{} // closed when the look under way ends; nil when there is none
}

// known is what was found last. When that is old it looks again, and waits for the outcome
// only a moment.
func (d *discovery) known(ctx context.Context) []llm.Found {
	d.mu.Lock()
	if time.Since(d.at) > discoverEvery && d.look == nil {
		d.look = make(chan struct{})
		go d.run(context.WithoutCancel(ctx), d.look)
	}
	look := d.look
	d.mu.Unlock()
	if look != nil {
		wait := time.NewTimer(discoverWait)
		defer wait.Stop()
		select {
		case <-look:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.found)
}

func (d *discovery) run(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	found := d.find(ctx)
	d.mu.Lock()
	d.found, d.at, d.look = found, time.Now(), nil
	d.mu.Unlock()
	close(done)
}

// isThreadID tells whether a thread can have this id.
func isThreadID(id string) bool {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	return id != "" && len(id) <= 64 && strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) < 0
}
