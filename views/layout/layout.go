package layout

import (
	"context"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Title returns the title of a chat fit for one line; a chat without one has a name too.
func Title(ctx context.Context, title string) string {
	if s := views.Unmarked(views.Safe(title)); s != "" {
		return s
	}
	return i18n.C(ctx, "thread.untitled")
}

// Model returns the display name of a model: its label, else its name.
func Model(ctx context.Context, name, label string) string {
	switch {
	case name == views.OfflineModel:
		return i18n.C(ctx, "model.offline")
	case label != "":
		return views.Safe(label)
	}
	return views.Safe(name)
}

func docTitle(ctx context.Context, title string) string {
	app := i18n.C(ctx, "app")
	if title == "" || title == app {
		return app
	}
	return views.Safe(title) + " · " + app
}

func lang(s views.Shell) string {
	if i18n.Known(s.Lang) {
		return s.Lang
	}
	return i18n.English
}

func theme(s views.Shell) string {
	switch s.Theme {
	case views.ThemeLight, views.ThemeDark:
		return string(s.Theme)
	}
	return string(views.ThemeSystem)
}

// stay makes the page's script report that its temporary chat is still open.
func stay(s views.Shell) templ.Attributes {
	if s.Stay == "" {
		return nil
	}
	return templ.Attributes{"data-here": s.Stay, "data-gone": views.GoneURL}
}

// reading returns the reader's text size and widths if they aren't the defaults. The style sheet has a class for each,
// so no page needs inline styles.
func reading(s views.Shell) templ.Attributes {
	a := templ.Attributes{}
	chosen := map[string]int{"data-size": s.Size, "data-sidew": s.Columns.Side, "data-panelw": s.Columns.Panel}
	for name, n := range chosen {
		if n != 0 {
			a[name] = strconv.Itoa(n)
		}
	}
	return a
}

// grip is one line between two columns.
type grip struct{ name, controls, unit string }

// The lines that can be moved.
var (
	sideGrip  = grip{"side", "side", "px"}
	panelGrip = grip{"panel", "panel", "%"}
)

func (g grip) widths() []int {
	if g == panelGrip {
		return views.PanelWidths()
	}
	return views.SideWidths()
}

// at returns the width of the column of g, chosen or usual.
func (g grip) at(c views.Columns) int {
	switch {
	case g == panelGrip && c.Panel != 0:
		return c.Panel
	case g == panelGrip:
		return 44
	case c.Side != 0:
		return c.Side
	}
	return 272
}

func skipTo(f Frame) string {
	if f.Skip == "" {
		return "main"
	}
	return f.Skip
}

func current(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

type group struct {
	name string
	rows []views.ThreadRow
}

// groups keeps the order of the rows and starts a group where the day, or before
// the last week the month, changes.
func groups(ctx context.Context, s views.Shell) []group {
	var out []group
	for _, r := range s.Threads {
		name := groupName(ctx, s.Now, r)
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, group{name: name})
		}
		g := &out[len(out)-1]
		g.rows = append(g.rows, r)
	}
	return out
}

func groupName(ctx context.Context, now time.Time, r views.ThreadRow) string {
	if r.Pinned {
		return i18n.C(ctx, "threads.pinned")
	}
	if key := views.Day(now, r.UpdatedAt); key != "" {
		return i18n.C(ctx, key)
	}
	at := r.UpdatedAt.In(now.Location())
	month := i18n.C(ctx, "month."+strconv.Itoa(int(at.Month())))
	if at.Year() == now.Year() {
		return month
	}
	return i18n.C(ctx, "threads.year", month, at.Year())
}

// words passes the script the sentences it needs.
func words(ctx context.Context) templ.Attributes {
	a := templ.Attributes{}
	for _, k := range []string{"live.offline", "live.disk", "live.gone", "live.back", "live.placeholder", "live.empty", "live.uploading",
		"live.senderror", "live.loaderror", "live.copied", "live.copyfailed", "live.toobig", "live.toomany",
		"live.total", "live.uploaderror", "live.paste", "live.pasteshow", "live.pasteback", "live.running", "live.newlines", "live.loaded",
		"ask.about", "compose.stopping", "compose.remove", "compose.cancel", "compose.drop", "toast.close"} {
		name := "data-" + k
		for i := range name {
			if name[i] == '.' {
				name = name[:i] + "-" + name[i+1:]
			}
		}
		a[name] = i18n.C(ctx, k)
	}
	return a
}
