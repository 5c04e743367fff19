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

// MostText is how many characters an announcement may have.
const MostText = 500

// NewAnnouncement returns an announcement with a level, Info unless it says otherwise, and an end, which may be nil.
// Where that isn't possible, why says so about a field.
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
