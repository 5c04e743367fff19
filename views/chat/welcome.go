package chat

import (
	"context"
	"net/url"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

type starter struct{ key, icon string }

// starters returns the ideas under the message box; unknown ids are left out.
func starters(ids []string) []starter {
	if ids == nil {
		ids = []string{"write", "research", "analyse", "learn", "page"}
	}
	icons := map[string]string{"write": "pencil", "research": "microscope", "analyse": "chart-line",
		"learn": "graduation-cap", "file": "chart-line", "run": "square-terminal",
		"page": "layout-template", "code": "square-terminal"}
	var out []starter
	for _, id := range ids {
		if icon, ok := icons[id]; ok {
			out = append(out, starter{id, icon})
		}
	}
	return out
}

// starterURL returns the address of a new chat with the idea in its message box.
func starterURL(ctx context.Context, s starter) templ.SafeURL {
	return templ.SafeURL(views.NewChatURL + "?q=" + url.QueryEscape(i18n.C(ctx, "starter."+s.key+".text")))
}

func abilities(ctx context.Context, f views.FirstRun) []string {
	if f.Abilities != nil {
		return f.Abilities
	}
	return []string{i18n.C(ctx, "first.can.table"), i18n.C(ctx, "first.can.document"), i18n.C(ctx, "first.can.text"),
		i18n.C(ctx, "first.can.run")}
}
