package redact_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"fawn/web/redact"
)

// TestKnownValuesNeverShow, in whichever form a text quotes them.
func TestKnownValuesNeverShow(t *testing.T) {
	const key = `zQ7 "never"/shown+here`
	var r redact.Redactor
	r.Know([]string{key, "short", "first line of it\nsecond line of it"})
	var out strings.Builder
	log := slog.New(slog.NewJSONHandler(r.Writer(&out), nil))
	text := slog.New(slog.NewTextHandler(r.Writer(&out), nil))
	for _, said := range []string{key, "https://x.example/?q=" + url.QueryEscape(key), fmt.Sprintf("%q", key),
		"head second line of it"} {
		log.Info(said, "err", fmt.Errorf("call: %s", said))
		text.Warn(said, slog.Group("g", "v", said))
	}
	log.Info("short words stay")
	for _, part := range []string{"never", "second line"} {
		if strings.Contains(out.String(), part) {
			t.Errorf("%q shows:\n%s", part, out.String())
		}
	}
	if !strings.Contains(out.String(), "short words stay") {
		t.Error("a short value was masked")
	}
}

// TestWhatLooksLikeAKeyIsMasked, although nobody configured it.
func TestWhatLooksLikeAKeyIsMasked(t *testing.T) {
	var r redact.Redactor
	for in, want := range map[string]string{
		"Get https://me:pass123@host/x failed":                     "Get https://***@host/x failed",
		"Post https://host/v1?api_key=abcdef&x=1":                  "Post https://host/v1?api_key=***&x=1",
		`Get "https://host/?access_token=abcdef": timeout`:         `Get "https://host/?access_token=***": timeout`,
		"Authorization: Bearer eyJhbGciOi.J9_abc-x":                "Authorization: Bearer ***",
		"Incorrect API key provided: sk-proj-abcdefghijklmnop1234": "Incorrect API key provided: ***",
		"ghp_abcdefghijklmnopqrstuvwxyz0123 is refused":            "*** is refused",
		"max_tokens=4096, see https://host/a?page=2":               "max_tokens=4096, see https://host/a?page=2",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestTailKeepsTheEndInWholeLines.
func TestTailKeepsTheEndInWholeLines(t *testing.T) {
	tail := redact.Tail{Max: 100}
	for i := range 1000 {
		fmt.Fprintf(&tail, "line %d\n", i)
	}
	got := string(tail.Bytes())
	if len(got) > 100 || !strings.HasSuffix(got, "line 999\n") || !strings.HasPrefix(got, "line 9") {
		t.Errorf("%q", got)
	}
}
