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
	beat    time.Duration   // heartbeat interval of streams and waiting answers
	waits   []time.Duration // delays between attempts to call a webhook
	hooks   sync.Mutex      // prevents sending and storing a webhook at the same time
	work    sync.WaitGroup

	stateless readers    // readers of runs whose threads are deleted with them
	keys      *once.Keys // keys of requests that may be repeated
}

// New creates the API.
func New(p *route.Parts) *API {
	return &API{Parts: p, started: time.Now().UTC(), beat: httpx.Heartbeat, waits: webhookWaits(),
		keys: once.New(p.DB, p.Log)}
}

// mount is the API under one prefix. native selects the behaviour of DeerFlow's gateway where it
// differs from LangGraph's.
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

// infoJSON is the version with the supported parts of LangGraph's API.
type infoJSON struct {
	Flags   map[string]bool `json:"flags"`
	Version string          `json:"version"`
}

func (m mount) info(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK, infoJSON{map[string]bool{"assistants": true, "crons": true, "langsmith": false}, m.Version})
}
