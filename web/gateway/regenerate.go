package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// replay is the data with which a client runs the last turn again.
type replay struct {
	Input      map[string]any   `json:"input"`
	Checkpoint replayCheckpoint `json:"checkpoint"`
	Metadata   map[string]any   `json:"metadata"`
	TargetRun  string           `json:"target_run_id"`

	ReplacementID string   `json:"replacement_human_message_id,omitempty"`
	Sources       []string `json:"source_message_ids,omitempty"`
}

type replayCheckpoint struct {
	ID  string         `json:"checkpoint_id"`
	NS  string         `json:"checkpoint_ns"`
	Map map[string]any `json:"checkpoint_map"`
}

// turn is the last turn of a thread: the question and the answer.
type lastTurn struct {
	human, ai     map[string]json.RawMessage
	humanID, aiID string
	sources       []string
	base          string // newest checkpoint without the question
	run           string
	goal          *agent.Goal
}

// lastTurn finds the last turn of a thread.
func (g *Gateway) lastTurn(ctx context.Context, t store.Thread) (turn lastTurn, err error) {
	if g.Runs.Active(t.ID) != "" {
		return turn, httpx.Errorf(http.StatusConflict, "Thread has a run in flight; wait until it has ended")
	}
	snap, err := g.Checkpoint(ctx, t, "")
	if err != nil {
		return turn, err
	}
	if turn.goal, err = goalOf(snap); err != nil {
		return turn, err
	}
	for _, row := range slices.Backward(snap.Messages) {
		var msg map[string]json.RawMessage
		var typ string
		if err := json.Unmarshal(row.Body, &msg); err != nil {
			return turn, err
		}
		if err := json.Unmarshal(msg["type"], &typ); err != nil {
			return turn, err
		}
		turn.sources = append(turn.sources, row.ID)
		if typ == agent.TypeAI && turn.ai == nil {
			turn.ai, turn.aiID = msg, row.ID
		}
		if typ == agent.TypeHuman {
			turn.human, turn.humanID = msg, row.ID
			break
		}
	}
	if turn.human == nil || turn.ai == nil {
		return turn, httpx.Errorf(http.StatusConflict, "The thread has no turn that could be run again")
	}
	slices.Reverse(turn.sources)
	from, err := g.origins(ctx, t.ID)
	if err != nil {
		return turn, err
	}
	turn.run = from(snap.Messages[len(snap.Messages)-1].N).run
	if turn.base, _, err = threads.Before(ctx, g.DB, t.ID, turn.humanID); errors.Is(err, threads.ErrGone) {
		return turn, httpx.Errorf(http.StatusConflict, "The messages before this turn are no longer stored")
	}
	return turn, err
}

func (t lastTurn) replay(message map[string]json.RawMessage) replay {
	return replay{Input: map[string]any{"messages": []any{message}}, Checkpoint: replayCheckpoint{ID: t.base},
		Metadata: map[string]any{"regenerate_from_message_id": t.aiID, "regenerate_from_run_id": t.run,
			"regenerate_checkpoint_id": t.base}, TargetRun: t.run}
}

// regenerateBody is the body of prepareRegenerate.
type regenerateBody struct {
	Message string `json:"message_id"`
}

// prepareRegenerate returns the request for repeating the last answer's turn.
func (g *Gateway) prepareRegenerate(c echo.Context, t store.Thread) error {
	var b regenerateBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Message == "" {
		return httpx.Invalid("body", "message_id", "is required")
	}
	turn, err := g.lastTurn(c.Request().Context(), t)
	if err != nil {
		return err
	}
	if b.Message != turn.aiID {
		return g.notLast(c, t, b.Message, "Only the latest assistant message can be regenerated")
	}
	return httpx.JSON(c, http.StatusOK, turn.replay(turn.human))
}

// editBody is the body of prepareEdit.
type editBody struct {
	Message string `json:"human_message_id"`
	Text    string `json:"replacement_text"`
}

// prepareEdit returns the request for repeating the last turn with another question.
func (g *Gateway) prepareEdit(c echo.Context, t store.Thread) error {
	var b editBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	switch max := g.Limits().MaxMessageBytes; {
	case b.Message == "":
		return httpx.Invalid("body", "human_message_id", "is required")
	case b.Text == "":
		return httpx.Invalid("body", "replacement_text", "is required")
	case int64(len(b.Text)) > max:
		return httpx.TooLarge("replacement_text", max, "server.max_message_bytes")
	}
	turn, err := g.lastTurn(c.Request().Context(), t)
	if err != nil {
		return err
	}
	var content agent.Content
	if err := json.Unmarshal(turn.human["content"], &content); err != nil {
		return err
	}
	switch {
	case b.Message != turn.humanID:
		return g.notLast(c, t, b.Message, "Only the latest user message can be edited")
	case content.String() == b.Text:
		return httpx.Errorf(http.StatusConflict, "The text is the same as before")
	case turn.goal != nil && turn.goal.Status == "active":
		return httpx.Errorf(http.StatusConflict, "The thread has an active goal; clear it first")
	}
	out := turn.human
	id := uuid.NewString()
	if out["id"], err = agent.Encode(id); err != nil {
		return err
	}
	if out["content"], err = agent.Encode(b.Text); err != nil {
		return err
	}
	r := turn.replay(out)
	r.ReplacementID, r.Sources = id, turn.sources
	r.Metadata["replay_kind"], r.Metadata["edit_from_message_id"], r.Metadata["edit_message_id"] = "edit",
		turn.humanID, id
	return httpx.JSON(c, http.StatusOK, r)
}

// notLast refuses a message: unknown, or not the last of its kind.
func (g *Gateway) notLast(c echo.Context, t store.Thread, id, why string) error {
	list, err := g.threadTurns(c, t)
	if err != nil {
		return err
	}
	for _, t := range list {
		var msg struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(t.Content, &msg) == nil && msg.ID == id {
			return httpx.Errorf(http.StatusConflict, "%s", why)
		}
	}
	return httpx.Errorf(http.StatusNotFound, "Message %s not found", route.Cut(id, 80))
}
