package api

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fawn/agent/tracestore"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// traceJSON lists the calls of a run with durations and costs.
type traceJSON struct {
	Thread string            `json:"thread_id"`
	Run    string            `json:"run_id"`
	Status string            `json:"status"`
	Spans  []tracestore.Span `json:"spans"`
}

// spans returns the calls of a run, without where their prompts are.
func (m mount) spans(c echo.Context, r store.Run) ([]tracestore.Span, error) {
	if m.Inspect == nil {
		return nil, httpx.Errorf(http.StatusNotFound,
			"Traces of model calls aren't stored here (inspector.enabled in the config)")
	}
	return m.Inspect.Spans(c.Request().Context(), r.ThreadID, r.ID)
}

// trace returns the calls of a run.
func (m mount) trace(c echo.Context, r store.Run) error {
	list, err := m.spans(c, r)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Prompt = nil
	}
	return httpx.JSON(c, http.StatusOK, traceJSON{r.ThreadID, r.ID, r.Status, list})
}

// traceCall returns one call with its model's prompt.
func (m mount) traceCall(c echo.Context, r store.Run) error {
	list, err := m.spans(c, r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(route.Param(c, "span"), 10, 64)
	if err != nil {
		return httpx.Errorf(http.StatusNotFound, "Call not found")
	}
	for _, s := range list {
		if s.N != id {
			continue
		}
		prompt, err := m.Inspect.Prompt(c.Request().Context(), r.ThreadID, s)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		out := struct {
			tracestore.Span
			Sent *tracestore.Prompt `json:"prompt"` // replaces the embedded field
		}{Span: s}
		if err == nil {
			out.Sent = &prompt
		}
		return httpx.JSON(c, http.StatusOK, out)
	}
	return httpx.Errorf(http.StatusNotFound, "Call not found")
}
