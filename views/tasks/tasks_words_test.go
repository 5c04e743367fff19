package tasks

import (
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/views/i18n"
)

func TestTimesAreToldAsPeopleDo(t *testing.T) {
	berlin := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	now := time.Date(2026, 3, 27, 23, 30, 0, 0, time.UTC) // Saturday, 00:30 in Berlin, the night clocks change
	for in, want := range map[time.Duration][2]string{
		0:                      {"Today at 00:30", "今天 00:30"},
		-time.Hour:             {"Yesterday at 23:30", "昨天 23:30"},
		30 * time.Hour:         {"Tomorrow at 07:30", "明天 07:30"},
		4 * 24 * time.Hour:     {"Wednesday at 01:30", "周三 01:30"},
		20 * 24 * time.Hour:    {"2026-04-17 at 01:30", "2026-04-17 01:30"},
		-3 * 24 * time.Hour:    {"2026-03-25 at 00:30", "2026-03-25 00:30"},
		6*24*time.Hour - 1e9*2: {"Friday at 01:29", "周五 01:29"},
	} {
		for i, lang := range []string{"en", "zh-CN"} {
			if got := moment(i18n.With(t.Context(), lang), now, now.Add(in), berlin); got != want[i] {
				t.Errorf("%s, %s: %q, want %q", in, lang, got, want[i])
			}
		}
	}
}

func TestSchedulesOfTheFormAreSaidInWords(t *testing.T) {
	for cron, want := range map[string][2]string{
		"0 8 * * *": {"Every day at 08:00", "每天 08:00"}, "30 8 * * 1-5": {"Monday to Friday at 08:30", "周一至周五 08:30"},
		"5 17 * * 0": {"Every Sunday at 17:05", "每周日 17:05"}, "0 * * * *": {"Every hour, on the hour", "每小时整点"},
		"*/5 * * * *": {}, "0 8 1 * *": {}, "0 8 * * 1,3": {}, "": {},
	} {
		for i, lang := range []string{"en", "zh-CN"} {
			if got := scheduleText(i18n.With(t.Context(), lang), cron); got != want[i] {
				t.Errorf("%q, %s: %q, want %q", cron, lang, got, want[i])
			}
		}
	}
}

func TestEveryOfferedZoneExists(t *testing.T) {
	for _, z := range zones("Asia/Kathmandu") {
		must.Try(time.LoadLocation(z))(t)
	}
}
