package chat

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/layout"
)

// nearlyFull is the used percentage of the window that triggers a warning.
const nearlyFull = 90

// UsagePage shows a chat's usage, as a page or in a dialog.
func UsagePage(p views.UsagePage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, usageModal(p))
	}
	return i18n.In(p.Shell.Lang, usagePage(p))
}

func gaugeText(g views.Gauge) string {
	s := strconv.Itoa(g.Percent()) + "%"
	if g.About {
		return "≈" + s
	}
	return s
}

func gaugeLabel(ctx context.Context, g views.Gauge) string {
	return i18n.C(ctx, "gauge", gaugeText(g))
}

func fullText(ctx context.Context, g views.Gauge) string {
	key := "usage.full"
	if g.About {
		key = "usage.full.about"
	}
	return i18n.C(ctx, key, gaugeText(g), views.Number(g.Tokens), views.Number(g.Window))
}

func cutKey(c views.Shortened) string {
	switch {
	case c.Outputs:
		return "compact.outputs"
	case c.Inside:
		return "compact.line.inside"
	}
	return "compact.line"
}

func moneyText(list []views.Money) string {
	var parts []string
	for _, m := range list {
		parts = append(parts, views.Price(m))
	}
	return strings.Join(parts, " + ")
}

func runMeta(ctx context.Context, now time.Time, r views.RunSpent) string {
	parts := []string{when(ctx, now, r.At), i18n.C(ctx, "turn.tokens", views.Number(r.Sum.Input+r.Sum.Output))}
	if len(r.Sum.Money) > 0 {
		parts = append(parts, moneyText(r.Sum.Money))
	}
	return strings.Join(parts, " · ")
}

func spentName(ctx context.Context, s views.Spent) string {
	if s.Purpose != "" {
		return i18n.C(ctx, purposeKey(s.Purpose))
	}
	if s.Helpers {
		return i18n.C(ctx, "usage.helpers", layout.Model(ctx, s.Name, ""))
	}
	return layout.Model(ctx, s.Name, "")
}

func purposeKey(purpose string) string {
	switch purpose {
	case "title", "summary", "goal", "suggestions", "memory":
		return "usage.for." + purpose
	}
	return "usage.for.other"
}

func spentText(ctx context.Context, s views.Spent) string {
	parts := []string{
		i18n.N(ctx, "usage.calls", s.Calls),
		i18n.C(ctx, "usage.inout", views.Number(s.Input), views.Number(s.Output)),
	}
	if s.Cached > 0 {
		parts = append(parts, i18n.C(ctx, "usage.ofcache", views.Number(s.Cached)))
	}
	if len(s.Money) > 0 {
		parts = append(parts, moneyText(s.Money))
	}
	return strings.Join(parts, " · ")
}
