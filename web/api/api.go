package api

import (
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
	"fawn/web/once"
	"fawn/web/route"
)

// API serves the routes of all mounts.
type API struct {
	*route.Parts
	started time.Time
	beat    time.Duration   // of streams and of answers that wait
	waits   []time.Duration // between attempts to call a webhook
	hooks   sync.Mutex      // guards stored webhooks against being told and kept at once
	work    sync.WaitGroup

	stateless readers    // of runs whose threads may go with them
	keys      *once.Keys // of requests that may be sent again
}

// New makes the API.
func New(p *route.Parts) *API {
	return &API{Parts: p, started: time.Now().UTC(), beat: httpx.Heartbeat, waits: webhookWaits(),
		keys: once.New(p.DB, p.Log)}
}

// mount is the API under one prefix. native chooses the manners of DeerFlow's gateway where
// they differ from those of LangGraph.
type mount struct {
	*API
	native bool
}

type okJSON struct {
	OK bool `json:"ok"`
}

func (m mount) ok(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK, okJSON{true})
}

// infoJSON is the version, and which parts of LangGraph's API there are.
type infoJSON struct {
	Flags   map[string]bool `json:"flags"`
	Version string          `json:"version"`
}

func (m mount) info(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK, infoJSON{map[string]bool{"assistants": true, "crons": true, "langsmith": false}, m.Version})
}
