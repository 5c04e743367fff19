package route

import (
	"encoding/json"
	"time"

	"fawn/web/api/wire"
	"fawn/web/httpx"
)

// TextOrNull returns nil for an empty text.
func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// StampOrNull returns a time on the wire, nil for none.
func StampOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := wire.Stamp(t)
	return &s
}

// ParseTime reads an ISO time; one without a zone is in loc.
func ParseTime(field, text string, loc *time.Location) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, loc); err == nil && t.Year() >= 1971 && t.Year() < 9999 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, httpx.Invalid("body", field, "want a time such as 2026-12-31T23:59:00Z, got %q", Cut(text, 60))
}

// Object returns a JSON object that may be absent or null, which is an empty one.
func Object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}
