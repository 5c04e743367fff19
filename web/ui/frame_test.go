package ui_test

import (
	"testing"

	"fawn/views"
	"fawn/web/webtest"
)

func decodeFrame(t *testing.T, body string) views.Frame {
	t.Helper()
	f := webtest.Decode[views.Frame](t, body)
	return f
}
