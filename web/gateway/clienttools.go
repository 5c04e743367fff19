package gateway

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/clienttool"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// toolResult is the body of answerClientTool.
type toolResult struct {
	Content *string `json:"content"`
	IsError bool    `json:"is_error"`
}

// answerClientTool handles POST /threads/:tid/client-tools/:call.
func (g *Gateway) answerClientTool(c echo.Context, t store.Thread) error {
	var b toolResult
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Content == nil {
		return httpx.Invalid("body", "content", "is required")
	}
	err := clienttool.ErrNoCall
	if g.ClientTools != nil {
		err = g.ClientTools.Answer(c.Request().Context(), t.ID, route.Param(c, "call"),
			clienttool.Result{Text: *b.Content, IsError: b.IsError})
	}
	switch {
	case errors.Is(err, clienttool.ErrNoCall):
		return httpx.Errorf(http.StatusNotFound, "Call not found")
	case errors.Is(err, clienttool.ErrOver):
		return httpx.Errorf(http.StatusConflict, "The call has a result already")
	case errors.Is(err, clienttool.ErrLarge):
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "The result is too long: want %d bytes at most", clienttool.MaxResult)
	case err != nil:
		return err
	}
	return httpx.JSON(c, http.StatusOK, route.Done{Success: true})
}
