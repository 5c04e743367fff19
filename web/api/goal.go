package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
)

// goalOf reads the goal out of a state; nil when there is none.
func goalOf(snap store.Snapshot) (*agent.Goal, error) {
	raw := given(snap.Fields["goal"])
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

func (m mount) answerGoal(c echo.Context, id string) error {
	t, err := m.threadByID(c, id)
	if err != nil {
		return err
	}
	snap, err := m.snapshot(c.Request().Context(), t, "")
	if err != nil {
		return err
	}
	g, err := goalOf(snap)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"goal": g})
}

func (m mount) goal(c echo.Context, t store.Thread) error {
	return m.answerGoal(c, t.ID)
}

func (m mount) putGoal(c echo.Context, t store.Thread) error {
	var b struct {
		Objective string `json:"objective"`
		Most      *int   `json:"max_continuations"`
	}
	if err := m.strict(c, &b); err != nil {
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
	return m.setGoal(c, t, middleware.NewGoal(b.Objective, most, time.Now()))
}

func (m mount) deleteGoal(c echo.Context, t store.Thread) error {
	return m.setGoal(c, t, &agent.Goal{})
}

// setGoal writes the goal into the state, as a step of its own.
func (m mount) setGoal(c echo.Context, t store.Thread, g *agent.Goal) error {
	values, err := agent.Encode(map[string]any{"goal": g})
	if err != nil {
		return err
	}
	_, err = m.Runs.UpdateState(c.Request().Context(), t.ID, runs.Update{Values: values})
	if errors.Is(err, runs.ErrBusy) {
		return httpx.Errorf(http.StatusConflict, "Thread has a run in flight; wait until it has ended")
	}
	if err != nil {
		return err
	}
	return m.answerGoal(c, t.ID)
}
