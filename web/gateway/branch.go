package gateway

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// maxTitle limits the title of a branch, in bytes.
const maxTitle = 256

// branchBody is the body of branchThread.
type branchBody struct {
	Message  string   `json:"message_id"`
	Messages []string `json:"message_ids"`
	Title    string   `json:"title"`
}

// branchJSON is a branch and where it comes from.
type branchJSON struct {
	Message    string `json:"branched_from_message_id"`
	Seed       string `json:"history_seed_mode"`
	Checkpoint string `json:"parent_checkpoint_id"`
	Parent     string `json:"parent_thread_id"`
	Thread     string `json:"thread_id"`
	Files      string `json:"workspace_clone_mode"`
}

// branchThread creates a thread from an answer of another one, as DeerFlow's gateway does.
func (g *Gateway) branchThread(c echo.Context, t store.Thread) error {
	var body branchBody
	if err := g.Bind(c, &body); err != nil {
		return err
	}
	switch {
	case body.Message == "":
		return httpx.Invalid("body", "message_id", "want the id of a message")
	case len(body.Title) > maxTitle:
		return httpx.Invalid("body", "title", "want at most %d bytes", maxTitle)
	}
	b, err := g.Copier.Branch(c.Request().Context(), t.ID, append(body.Messages, body.Message), body.Title)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return httpx.Errorf(http.StatusNotFound, "Message %s not found in thread %s", route.Cut(body.Message, 80), t.ID)
	case errors.Is(err, threads.ErrGone):
		return httpx.Errorf(http.StatusConflict, "Message %s can no longer be branched", route.Cut(body.Message, 80))
	case err != nil:
		return err
	}
	files := "skipped_historical_turn"
	if b.Files {
		files = "current_thread_best_effort"
	}
	return httpx.JSON(c, http.StatusOK,
		branchJSON{Message: body.Message, Seed: "seeded", Checkpoint: b.Checkpoint, Parent: b.Parent, Thread: b.Thread.ID, Files: files})
}
