package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
)

// compactBody is the body of compact.
type compactBody struct {
	Force *bool `json:"force"`
	Keep  *struct {
		Type  string  `json:"type"`
		Value float64 `json:"value"`
	} `json:"keep"`
	Model string `json:"model_name"`
	Agent string `json:"agent_name"`
}

// compact hides the older part of a conversation from the model now. The log stays whole.
// compactedJSON is what became of a conversation.
type compactedJSON struct {
	Checkpoint string `json:"checkpoint_id"`
	Compacted  bool   `json:"compacted"`
	Preserved  int    `json:"preserved_message_count"`
	Reason     string `json:"reason"`
	Removed    int    `json:"removed_message_count"`
	Summary    bool   `json:"summary_updated"`
	Thread     string `json:"thread_id"`
	Tokens     int    `json:"total_tokens"`
}

func (m mount) compact(c echo.Context, t store.Thread) error {
	var body compactBody
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	if err := lead.CheckAgent(m.Agents, m.Owner(c), agent.Options{AgentName: body.Agent}); err != nil {
		return httpx.Invalid("body", "agent_name", "%s", err.Error())
	}
	wish := lead.Wish{Owner: t.Owner, Thread: t.ID, Model: body.Model, Force: body.Force == nil || *body.Force}
	if k := body.Keep; k != nil {
		if !slices.Contains([]string{"fraction", "tokens", "messages"}, k.Type) {
			return httpx.Invalid("body", "keep.type", "want fraction, tokens or messages")
		}
		if k.Value <= 0 || k.Type == "fraction" && k.Value > 1 || k.Value > 1e9 {
			return httpx.Invalid("body", "keep.value", "want a number above 0, of a fraction at most 1")
		}
		wish.Keep = middleware.Amount{Type: k.Type, Value: k.Value}
	}
	if m.Compact == nil {
		return httpx.Errorf(http.StatusConflict, "Compaction is not available")
	}
	did, err := lead.Shorten(c.Request().Context(), m.Runs, m.Compact, wish)
	switch {
	case errors.Is(err, runs.ErrBusy):
		return httpx.Errorf(http.StatusConflict, "Thread has a run in flight; wait until it has ended")
	case errors.Is(err, lead.ErrNoCompaction):
		return httpx.Errorf(http.StatusConflict,
			"Summarization is disabled: set summarization.enabled in the configuration")
	case err != nil:
		return err
	}
	reason := "compacted"
	if !did.Done {
		reason = "nothing_to_compact"
	}
	return httpx.JSON(c, http.StatusOK,
		compactedJSON{Checkpoint: did.Head, Compacted: did.Done, Preserved: did.Shown, Reason: reason, Removed: did.Hidden,
			Summary: did.Summary, Thread: t.ID, Tokens: did.Tokens})
}
