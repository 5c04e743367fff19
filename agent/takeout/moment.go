package takeout

import (
	"encoding/json"
	"math"
	"time"
)

// moment is a time in the formats of apps: seconds, milliseconds or nanoseconds, or RFC 3339. Other formats become the
// zero time.
type moment struct{ time.Time }

// UnmarshalJSON never fails.
func (m *moment) UnmarshalJSON(b []byte) error {
	m.Time = time.Time{}
	var text string
	if json.Unmarshal(b, &text) == nil {
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.Year() > 1970 && t.Year() < 3000 {
			m.Time = t.UTC()
		}
		return nil
	}
	var n float64
	if json.Unmarshal(b, &n) != nil || n <= 0 || math.IsNaN(n) {
		return nil
	}
	for n > 1e11 { // after the year 5138 in seconds: it is a smaller unit
		n /= 1000
	}
	m.Time = time.UnixMilli(int64(n * 1000)).UTC()
	return nil
}
