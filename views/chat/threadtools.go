package chat

import (
	"context"
	"net/url"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// ThreadTools renders the tools of MCP servers that a chat has, with their switches: the menu of the message box, or a
// whole page.
func ThreadTools(p views.ThreadTools) templ.Component {
	if p.Menu {
		return i18n.In(p.Shell.Lang, toolsMenu(p))
	}
	return i18n.In(p.Shell.Lang, toolsPage(p))
}

// resourcesURL returns the address of the page of attachable resources, which keeps the message box's
// text.
func resourcesURL(p views.ThreadTools) string {
	return views.ActionURL(p.ThreadID, "resources") + "?text=" + url.QueryEscape(p.Text)
}

// toolsLabel returns the label of the menu's button.
func toolsLabel(ctx context.Context, off bool) string {
	if off {
		return i18n.C(ctx, "tools.button.off")
	}
	return i18n.C(ctx, "tools.button")
}

// serverState describes the problem of a server.
func serverState(ctx context.Context, s views.ToolServer) string {
	switch s.State {
	case "connecting":
		return i18n.C(ctx, "mcp.connecting")
	case "login":
		return i18n.C(ctx, "mcp.out")
	case "failed":
		return i18n.C(ctx, "mcp.failed")
	case "unavailable":
		return i18n.C(ctx, "mcp.unavailable")
	}
	return i18n.C(ctx, "tools.none")
}
