package api

import (
	"errors"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/route"
)

func (m mount) copyThread(c echo.Context, t store.Thread) error {
	made, err := m.Copier.Copy(c.Request().Context(), t.ID)
	if errors.Is(err, runs.ErrNotFound) {
		return route.NoThread(t.ID)
	}
	if err != nil {
		return err
	}
	return m.answerThread(c, made.ID)
}
