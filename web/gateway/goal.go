package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// goalOf reads the goal from a state; nil if there is none.
func goalOf(snap store.Snapshot) (*agent.Goal, error) {
	raw := route.Given(snap.Fields["goal"])
	if raw == nil {
		return nil, nil
	}
	var g agent.Goal
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, err
	}
	if g.Objective == "" {
		return nil, nil
	}
	return &g, nil
}

// goalJSON is the goal of a thread, or null.
type goalJSON struct {
	Goal *agent.Goal `json:"goal"`
}

func (g *Gateway) answerGoal(c echo.Context, id string) error {
	t, err := g.ThreadByID(c, id)
	if err != nil {
		return err
	}
	snap, err := g.Checkpoint(c.Request().Context(), t, "")
	if err != nil {
		return err
	}
	goal, err := goalOf(snap)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, goalJSON{goal})
}

func (g *Gateway) goal(c echo.Context, t store.Thread) error {
	return g.answerGoal(c, t.ID)
}

// goalBody is the body of putGoal.
type goalBody struct {
	Objective string `json:"objective"`
	Most      *int   `json:"max_continuations"`
}

func (g *Gateway) putGoal(c echo.Context, t store.Thread) error {
	var b goalBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	b.Objective = strings.TrimSpace(b.Objective)
	if n := utf8.RuneCountInString(b.Objective); n < 1 || n > middleware.LongestGoal {
		return httpx.Invalid("body", "objective", "want 1 to %d characters, got %d", middleware.LongestGoal, n)
	}
	most := middleware.MaxContinuations
	if b.Most != nil {
		if most = *b.Most; most < 0 || most > middleware.MaxContinuations {
			return httpx.Invalid("body", "max_continuations", "want 0 to %d, got %d", middleware.MaxContinuations, most)
		}
	}
	return g.setGoal(c, t, middleware.NewGoal(b.Objective, most, g.DB.Now()))
}

func (g *Gateway) deleteGoal(c echo.Context, t store.Thread) error {
	return g.setGoal(c, t, &agent.Goal{})
}

// setGoal writes the goal into the state, as a separate step.
func (g *Gateway) setGoal(c echo.Context, t store.Thread, goal *agent.Goal) error {
	values, err := agent.Encode(map[string]any{"goal": goal})
	if err != nil {
		return err
	}
	_, err = g.Runs.UpdateState(c.Request().Context(), t.ID, runs.Update{Values: values})
	if errors.Is(err, runs.ErrBusy) {
		return httpx.Errorf(http.StatusConflict, "Thread has a run in flight; wait until it has ended")
	}
	if err != nil {
		return err
	}
	return g.answerGoal(c, t.ID)
}
