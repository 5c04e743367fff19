package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/web/httpx"
)

// compact hides the older part of a conversation from the model now. The log stays whole.
func (m mount) compact(c echo.Context) error {
	id, err := m.threadParam(c)
	if err != nil {
		return err
	}
	var body struct {
		Force *bool `json:"force"`
		Keep  *struct {
			Type  string  `json:"type"`
			Value float64 `json:"value"`
		} `json:"keep"`
		Model string `json:"model_name"`
		Agent string `json:"agent_name"`
	}
	if err := m.bind(c, &body); err != nil {
		return err
	}
	wish := lead.Wish{Thread: id, Model: body.Model, Force: body.Force == nil || *body.Force}
	if k := body.Keep; k != nil {
		if !slices.Contains([]string{"fraction", "tokens", "messages"}, k.Type) {
			return httpx.Invalid("body", "keep.type", "want fraction, tokens or messages")
		}
		if k.Value <= 0 || k.Type == "fraction" && k.Value > 1 || k.Value > 1e9 {
			return httpx.Invalid("body", "keep.value", "want a number above 0, of a fraction at most 1")
		}
		wish.Keep = middleware.Amount{Type: k.Type, Value: k.Value}
	}
	if _, err := m.threadByID(c, id); err != nil {
		return err
	}
	if m.Compact == nil {
		return httpx.Errorf(http.StatusConflict, "Compaction is not available")
	}
	var after agent.State
	var done bool
	head, err := m.Runs.Amend(c.Request().Context(), id, func(ctx context.Context, s *agent.State) (agent.State, error) {
		patch, err := m.Compact(ctx, s, wish)
		after, done = s.Clone(), patch.View != nil
		if done {
			after.View = patch.View
		}
		return patch, err
	})
	switch {
	case errors.Is(err, runs.ErrBusy):
		return httpx.Errorf(http.StatusConflict, "Thread has a run in flight; wait until it has ended")
	case errors.Is(err, lead.ErrNoCompaction):
		return httpx.Errorf(http.StatusConflict, "Summarization is disabled: set summarization.enabled in the configuration")
	case err != nil:
		return err
	}
	hidden, shown := middleware.Hidden(&after)
	reason := "compacted"
	if !done {
		reason = "nothing_to_compact"
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"thread_id": id, "compacted": done, "reason": reason, "removed_message_count": hidden,
		"preserved_message_count": shown, "summary_updated": done && after.View.From != "", "checkpoint_id": head, "total_tokens": middleware.Tokens(&after)})
}
