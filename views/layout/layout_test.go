package layout_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/layout"
)

func TestTheListIsGroupedByDayThenByMonth(t *testing.T) {
	now := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	at := func(y int, m time.Month, d int) views.ThreadRow {
		return views.ThreadRow{ID: "x", Title: "x", UpdatedAt: time.Date(y, m, d, 8, 0, 0, 0, time.UTC)}
	}
	pinned := at(2025, 1, 1)
	pinned.Pinned = true
	shell := views.Shell{Now: now, Threads: []views.ThreadRow{pinned, at(2026, 3, 10), at(2026, 3, 9), at(2026, 3, 4),
		at(2026, 3, 2), at(2026, 3, 1), at(2026, 2, 28), at(2025, 12, 31), at(2025, 12, 1), at(2025, 3, 9)}}
	for lang, want := range map[string][]string{
		"en":    {"Pinned", "Today", "Yesterday", "Last 7 days", "March", "February", "December 2025", "March 2025"},
		"zh-CN": {"已置顶", "今天", "昨天", "最近 7 天", "3月", "2月", "2025年12月", "2025年3月"},
	} {
		var b strings.Builder
		must.Do(t, layout.ThreadList(shell).Render(i18n.With(t.Context(), lang), &b))
		var got []string
		for _, m := range regexp.MustCompile(`<p class="group" aria-hidden="true">([^<]*)</p>`).
			FindAllStringSubmatch(b.String(), -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", lang, got, want)
		}
		if n := strings.Count(b.String(), " data-pinned>"); n != 1 {
			t.Errorf("%s: %d groups are the pinned one", lang, n)
		}
	}
}
