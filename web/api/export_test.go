package api

import (
	"context"
	"net/http"
	"time"

	"fawn/web/api/wire"
	"fawn/web/httpx"
)

// SetBeat changes how often streams show that they are alive.
func (a *API) SetBeat(d time.Duration) { a.beat = d }

// Replay writes what a reader of a run gets that asks for modes and comes back with an id.
func (a *API) Replay(ctx context.Context, w http.ResponseWriter, run string, names []string, last string) error {
	set, err := parseModes(names)
	if err != nil {
		return err
	}
	reader, err := a.Runs.Follow(ctx, run)
	if err != nil {
		return err
	}
	out, err := httpx.NewStream(w, a.beat)
	if err != nil {
		return err
	}
	defer out.Close()
	return mount{a, false}.pump(ctx, out, reader, wire.NewEncoder(a.DB, reader.Run(), set, false, httpx.ParseID(last)))
}

// SetWebhookWaits changes the times between attempts to call a webhook.
func (a *API) SetWebhookWaits(w ...time.Duration) { a.waits = w }

// ParsePath tells whether a search can extract by a path, and what is there in a value.
func ParsePath(path string, v any) (any, bool) {
	places, ok := parsePlace(path)
	if !ok {
		return nil, false
	}
	return at(v, places), true
}

// Reading tells whether somebody reads the runs of a thread.
func (a *API) Reading(thread string) bool {
	a.stateless.mu.Lock()
	defer a.stateless.mu.Unlock()
	return a.stateless.count[thread] > 0
}
