package ui_test

import (
	"encoding/json"
	"testing"

	"fawn/views"
)

func decodeFrame(t *testing.T, body string) views.Frame {
	t.Helper()
	var f views.Frame
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("no frame: %v\n%s", err, body)
	}
	return f
}
