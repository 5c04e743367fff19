package api

import (
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
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
	return feedbackJSON{ID: f.ID, Run: f.Run, Thread: f.Thread, User: f.Owner, Message: textOrNull(f.Message),
		Rating: f.Rating, Comment: f.Comment, CreatedAt: wire.Stamp(f.CreatedAt)}
}

// addFeedback stores one more opinion on a run; PUT replaces the last one.
func (m mount) addFeedback(c echo.Context, r store.Run) error {
	var b struct {
		Rating  *int    `json:"rating"`
		Comment *string `json:"comment"`
		Message string  `json:"message_id"`
	}
	if err := m.strict(c, &b); err != nil {
		return err
	}
	switch {
	case b.Rating == nil || *b.Rating != 1 && *b.Rating != -1:
		return httpx.Errorf(http.StatusBadRequest, "rating must be +1 or -1")
	case b.Comment != nil && len(*b.Comment) > longestText:
		return httpx.Invalid("body", "comment", "want at most %d bytes, got %d", longestText, len(*b.Comment))
	case len(b.Message) > longestName:
		return httpx.Invalid("body", "message_id", "want at most %d bytes, got %d", longestName, len(b.Message))
	}
	f, err := m.DB.AddFeedback(c.Request().Context(),
		store.Feedback{ID: uuid.Must(uuid.NewV7()).String(), Owner: m.owner(c), Thread: r.ThreadID, Run: r.ID,
			Message: b.Message, Rating: *b.Rating, Comment: b.Comment}, c.Request().Method == http.MethodPut)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, feedbackOf(f))
}

func (m mount) listFeedback(c echo.Context, r store.Run) error {
	list, err := m.DB.Feedback(c.Request().Context(), m.owner(c), r.ThreadID, r.ID)
	if err != nil {
		return err
	}
	out := make([]feedbackJSON, len(list))
	for i, f := range list {
		out[i] = feedbackOf(f)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func (m mount) feedbackStats(c echo.Context, r store.Run) error {
	list, err := m.DB.Feedback(c.Request().Context(), m.owner(c), r.ThreadID, r.ID)
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
		map[string]any{"run_id": r.ID, "total": len(list), "positive": good, "negative": len(list) - good})
}

// deleteFeedback removes one opinion, or without an id all on the run.
func (m mount) deleteFeedback(c echo.Context, r store.Run) error {
	err := m.DB.DeleteFeedback(c.Request().Context(), m.owner(c), r.ThreadID, r.ID, pathParam(c, "fid"))
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "Feedback not found")
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"success": true})
}
