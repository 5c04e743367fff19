package ui

import (
	"errors"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/page"
	"net/http"

	"github.com/labstack/echo/v4"
)

// backToBox returns to the page of the form's message box, with the box's text.
func (u *UI) backToBox(c echo.Context, thread, text string) error {
	_, err := u.OwnThread(c.Request().Context(), thread)
	if !errors.Is(err, store.ErrNotFound) {
		if err != nil {
			return err
		}
		return u.keepDraft(c, thread, text)
	}
	if len(text) > page.MaxDraft {
		return u.welcomePage(c, thread, boxDraft{text: text})
	}
	return c.Redirect(http.StatusSeeOther, views.NewChatURL+"?thread="+queryEscape(thread)+"&q="+queryEscape(text))
}
