package access

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"fawn/store"
)

// Levels of announcements.
const (
	Info    = "info"
	Warning = "warning"
)

// MostText limits the characters of an announcement.
const MostText = 500

// NewAnnouncement returns an announcement; level defaults to Info, and the end may be nil. If it is invalid, why
// explains the invalid field.
func NewAnnouncement(text, level string, ends *time.Time, now time.Time) (a store.Announcement, field, why string) {
	text = strings.TrimSpace(text)
	if level == "" {
		level = Info
	}
	switch {
	case text == "" || utf8.RuneCountInString(text) > MostText:
		return a, "text", "a text has 1 to 500 characters"
	case level != Info && level != Warning:
		return a, "level", "a level is info or warning"
	case ends != nil && !ends.After(now):
		return a, "ends_at", "the end is in the past"
	}
	a = store.Announcement{ID: uuid.Must(uuid.NewV7()).String(), Text: text, Level: level}
	if ends != nil {
		a.EndsAt = *ends
	}
	return a, "", ""
}
