package chat

import (
	"context"
	"slices"

	"fawn/views"
	"fawn/views/i18n"
)

func composeAction(c views.Composer) string {
	if c.New {
		return views.CreateURL
	}
	return views.ActionURL(c.ThreadID, "messages")
}

// DocumentText returns the status of a document for its chip.
func DocumentText(ctx context.Context, a views.Attachment) string {
	if a.Document == "pending" && a.Pages > 0 {
		return i18n.C(ctx, "files.document.pages", a.Done, a.Pages)
	}
	if a.Document == "" {
		return i18n.C(ctx, "files.encoding", a.Encoding)
	}
	return i18n.C(ctx, "files.document."+a.Document)
}

func stopLabel(ctx context.Context, stopping bool) string {
	if stopping {
		return i18n.C(ctx, "compose.stopping")
	}
	return i18n.C(ctx, "compose.stop")
}

// modes are the entries of the mode menu.
var modes = [...]struct {
	mode views.Mode
	icon string
}{
	{views.ModeFlash, "zap"},
	{views.ModeThinking, "lightbulb"},
	{views.ModePro, "list-todo"},
	{views.ModeUltra, "waypoints"},
}

// modal reports whether there is a mode to choose: the offline model has none.
func modal(c views.Composer) bool { return len(c.Models) > 0 && c.Models[0].Name != views.OfflineModel }

// current returns the chosen model.
func current(c views.Composer) views.ModelChoice {
	for _, m := range c.Models {
		if m.Name == c.Model {
			return m
		}
	}
	if len(c.Models) > 0 {
		return c.Models[0]
	}
	return views.ModelChoice{}
}

// mode returns the chosen mode, limited to what the model supports.
func mode(c views.Composer) views.Mode {
	if c.Mode == "" || !current(c).Thinks {
		return views.ModeFlash
	}
	return c.Mode
}

// anyChosen reports whether one of some collections is chosen.
func anyChosen(all []views.ProjectChoice) bool {
	return slices.ContainsFunc(all, func(c views.ProjectChoice) bool { return c.On })
}
