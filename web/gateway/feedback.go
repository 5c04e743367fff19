package gateway

import (
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

type feedbackJSON struct {
	ID        string  `json:"feedback_id"`
	Run       string  `json:"run_id"`
	Thread    string  `json:"thread_id"`
	User      string  `json:"user_id"`
	Message   *string `json:"message_id"`
	Rating    int     `json:"rating"`
	Comment   *string `json:"comment"`
	CreatedAt string  `json:"created_at"`
}

func feedbackOf(f store.Feedback) feedbackJSON {
	return feedbackJSON{ID: f.ID, Run: f.Run, Thread: f.Thread, User: f.Owner, Message: route.TextOrNull(f.Message),
		Rating: f.Rating, Comment: f.Comment, CreatedAt: wire.Stamp(f.CreatedAt)}
}

// feedbackBody is the body of addFeedback.
type feedbackBody struct {
	Rating  *int    `json:"rating"`
	Comment *string `json:"comment"`
	Message string  `json:"message_id"`
}

// addFeedback stores one more opinion on a run; PUT replaces the last one.
func (g *Gateway) addFeedback(c echo.Context, r store.Run) error {
	var b feedbackBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	switch {
	case b.Rating == nil || *b.Rating != 1 && *b.Rating != -1:
		return httpx.Errorf(http.StatusBadRequest, "rating must be +1 or -1")
	case b.Comment != nil && len(*b.Comment) > route.MaxText:
		return httpx.Invalid("body", "comment", "want at most %d bytes, got %d", route.MaxText, len(*b.Comment))
	case len(b.Message) > route.MaxName:
		return httpx.Invalid("body", "message_id", "want at most %d bytes, got %d", route.MaxName, len(b.Message))
	}
	f, err := g.DB.AddFeedback(c.Request().Context(),
		store.Feedback{ID: uuid.Must(uuid.NewV7()).String(), Owner: g.Owner(c), Thread: r.ThreadID, Run: r.ID,
			Message: b.Message, Rating: *b.Rating, Comment: b.Comment}, c.Request().Method == http.MethodPut)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, feedbackOf(f))
}

func (g *Gateway) listFeedback(c echo.Context, r store.Run) error {
	list, err := g.DB.Feedback(c.Request().Context(), g.Owner(c), r.ThreadID, r.ID)
	if err != nil {
		return err
	}
	out := make([]feedbackJSON, len(list))
	for i, f := range list {
		out[i] = feedbackOf(f)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// feedbackSums counts the opinions on a run.
type feedbackSums struct {
	Negative int    `json:"negative"`
	Positive int    `json:"positive"`
	Run      string `json:"run_id"`
	Total    int    `json:"total"`
}

func (g *Gateway) feedbackStats(c echo.Context, r store.Run) error {
	list, err := g.DB.Feedback(c.Request().Context(), g.Owner(c), r.ThreadID, r.ID)
	if err != nil {
		return err
	}
	good := 0
	for _, f := range list {
		if f.Rating > 0 {
			good++
		}
	}
	return httpx.JSON(c, http.StatusOK,
		feedbackSums{len(list) - good, good, r.ID, len(list)})
}

// deleteFeedback removes one opinion, or without an id all on the run.
func (g *Gateway) deleteFeedback(c echo.Context, r store.Run) error {
	err := g.DB.DeleteFeedback(c.Request().Context(), g.Owner(c), r.ThreadID, r.ID, route.Param(c, "fid"))
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "Feedback not found")
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, route.Done{Success: true})
}
