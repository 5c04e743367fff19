// Package insight renders the pages about runs and usage.
package insight

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Inspect renders the page of a run's calls.
func Inspect(p views.InspectPage) templ.Component { return i18n.In(p.Shell.Lang, inspect(p)) }

// Usage renders the page of total usage.
func Usage(p views.UsageHome) templ.Component { return i18n.In(p.Shell.Lang, usage(p)) }

func kindKey(kind string) string { return "inspect.kind." + kind }

// callName returns the name of a call; side calls are named by purpose.
func callName(ctx context.Context, c views.Call) string {
	if c.Kind == "side" {
		key := "usage.for." + c.Name
		if s := i18n.C(ctx, key); s != key {
			return s
		}
	}
	return views.Safe(c.Name)
}

func statusText(ctx context.Context, c views.Call) string {
	key := "inspect.status." + c.Status
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return views.Safe(c.Status)
}

func tokens(s views.Spent) string {
	if s.Input+s.Output == 0 {
		return ""
	}
	return views.Number(s.Input) + " → " + views.Number(s.Output)
}

func money(s views.Spent) string {
	var parts []string
	for _, m := range s.Money {
		parts = append(parts, views.Price(m))
	}
	return strings.Join(parts, " + ")
}

// took returns a duration, in milliseconds when it is short.
func took(lang string, d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + " ms"
	}
	return views.Duration(lang, d)
}

func number(n int) string { return strconv.Itoa(n) }

// width returns the width of a bar's part, with a visible minimum.
func width(from, to int) string { return strconv.Itoa(max(to-from, 4)) }

// callURL returns the address of the page with one call open.
func callURL(p views.InspectPage, c views.Call) templ.SafeURL {
	return templ.SafeURL(views.InspectURL(p.ThreadID, p.RunID) + "?call=" + c.ID + "#call")
}

func isOpen(p views.InspectPage, c views.Call) bool { return p.Open != nil && p.Open.ID == c.ID }

// Sizes of the chart, in its own units.
const (
	chartHigh = 120
	chartBar  = 10
	chartStep = 14
)

// column is a day in the chart.
type column struct{ X, Y, High, Out string }

// columns draws the days: input below, output on top.
func columns(days []views.DaySpent) []column {
	most := 1
	for _, d := range days {
		most = max(most, d.Spent.Input+d.Spent.Output)
	}
	out := make([]column, len(days))
	for i, d := range days {
		all := (d.Spent.Input + d.Spent.Output) * chartHigh / most
		if all == 0 && d.Spent.Input+d.Spent.Output > 0 {
			all = 1
		}
		out[i] = column{X: strconv.Itoa(i * chartStep), Y: strconv.Itoa(chartHigh - all), High: strconv.Itoa(all),
			Out: strconv.Itoa(d.Spent.Output * chartHigh / most)}
	}
	return out
}

func chartBox(days []views.DaySpent) string {
	return "0 0 " + strconv.Itoa(max(len(days), 1)*chartStep) + " " + strconv.Itoa(chartHigh)
}

func daysURL(n int, user string) templ.SafeURL {
	where := views.UsageHomeURL + "?days=" + strconv.Itoa(n)
	if user != "" {
		where += "&user=" + url.QueryEscape(user)
	}
	return templ.SafeURL(where)
}

func spans() []int { return []int{7, 30, 90} }

func spentName(ctx context.Context, s views.Spent) string {
	if s.Name == "" {
		return i18n.C(ctx, "usage.for.other")
	}
	return views.Safe(s.Name)
}

// tableRow is a row of a spending table.
type tableRow struct {
	Name  string
	Runs  int
	Spent views.Spent
	URL   templ.SafeURL // link of its name, "" for none
}

// dayRows returns the days with something in them, newest first.
func dayRows(days []views.DaySpent) (out []tableRow) {
	for i := len(days) - 1; i >= 0; i-- {
		if d := days[i]; d.Runs+d.Spent.Input+d.Spent.Output > 0 {
			out = append(out, tableRow{Name: d.Date, Runs: d.Runs, Spent: d.Spent})
		}
	}
	return out
}

func modelRows(ctx context.Context, list []views.Spent) (out []tableRow) {
	for _, s := range list {
		out = append(out, tableRow{Name: spentName(ctx, s), Runs: s.Calls, Spent: s})
	}
	return out
}

// userRows link each person to their usage.
func userRows(ctx context.Context, p views.UsageHome) []tableRow {
	out := modelRows(ctx, p.ByUser)
	for i, s := range p.ByUser {
		if s.User != "" {
			out[i].URL = daysURL(p.Days, s.User)
		}
	}
	return out
}

// limit formats a budget's limits in tokens and money.
func limit(ctx context.Context, b views.BudgetLine) string {
	var parts []string
	if b.Limit > 0 {
		parts = append(parts, i18n.C(ctx, "usage.limit", views.Number(b.Limit)))
	}
	if b.Money.Amount > 0 {
		parts = append(parts, views.Price(b.Money))
	}
	return strings.Join(parts, ", ")
}

// left formats the remaining budget, possibly none.
func left(ctx context.Context, b views.BudgetLine) string {
	if text := limit(ctx, b); text != "" {
		return text
	}
	return i18n.C(ctx, "usage.budget.none")
}

func used(ctx context.Context, b views.ChatBudget) string {
	text := i18n.C(ctx, "usage.limit", views.Number(b.Used))
	if m := money(views.Spent{Money: b.Spent}); m != "" {
		text += ", " + m
	}
	return text
}

func chatName(ctx context.Context, b views.ChatBudget) string {
	if b.Title == "" {
		return i18n.C(ctx, "thread.untitled")
	}
	return views.Safe(b.Title)
}
