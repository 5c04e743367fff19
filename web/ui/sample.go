package ui

import (
	"bytes"
	_ "embed" // the sample file
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/web/ui/page"
)

// sampleName is the sample file's name in the chat.
const sampleName = "sample-orders.csv"

// sampleOrders are invented orders with typical errors: mixed formats, an outlier, a negative amount, two spellings of
// regions and a repeated id.
//
//go:embed sample-orders.csv
var sampleOrders []byte

// sample handles POST /ui/sample: a new chat in which the sample file is analysed. It needs no script.
func (u *UI) sample(c echo.Context) error {
	thread := uuid.Must(uuid.NewV7()).String()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("files", sampleName)
	if err == nil {
		_, err = part.Write(sampleOrders)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	if _, err = u.files.Store(c.Request().Context(), thread, multipart.NewReader(&body, w.Boundary())); err == nil {
		_, err = u.start(c, thread, page.Say(c, "starter.sample.text", sampleName), url.Values{})
	}
	if err != nil {
		problem, status := u.refusal(c, err)
		if problem == "" {
			return err
		}
		return u.welcomePage(c, thread, boxDraft{problem: problem, status: status})
	}
	return c.Redirect(http.StatusSeeOther, views.ThreadURL(thread))
}
