package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
	"fawn/web/ui/settings"
)

// hasServers reports whether there are MCP servers available to chats.
func (u *UI) hasServers() bool {
	if u.MCP == nil || u.Switches == nil {
		return false
	}
	for _, s := range u.Config.Current().Extensions.MCPServers {
		if s.Enabled {
			return true
		}
	}
	return false
}

// threadTools handles GET /ui/threads/:id/tools: the tools of MCP servers that a chat has. The chat need not have
// begun.
func (u *UI) threadTools(c echo.Context, id string) error {
	if u.MCP == nil || u.Switches == nil {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	p := views.ThreadTools{Menu: page.WantsFragment(c.Request()), ThreadID: id,
		Text: page.PlainText(c.QueryParam("text")), Manage: page.MayChange(c)}
	var err error
	if p.Shell, err = u.Shell(c, views.NavNone, id); err != nil {
		return err
	}
	if _, err := u.OwnThread(ctx, id); errors.Is(err, store.ErrNotFound) {
		p.New = true
	} else if err != nil {
		return err
	}
	if p.Servers, err = u.toolServers(ctx, id); err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, chat.ThreadTools(p))
}

// toolServers returns the MCP servers and their tools, as they are in a chat.
func (u *UI) toolServers(ctx context.Context, thread string) ([]views.ToolServer, error) {
	off, err := u.Switches.Off(ctx, thread)
	if err != nil {
		return nil, err
	}
	may := u.Rights(ctx)
	var out []views.ToolServer
	for _, st := range u.MCP.Status() {
		if st.State == mcp.StateOff || !may.May(access.Server, st.Name) {
			continue
		}
		s := views.ToolServer{Name: st.Name, State: st.State, Off: off.HasServer(st.Name)}
		for _, t := range settings.ServerTools(st.Tools) {
			s.Tools = append(s.Tools, views.ToolSwitch{Name: t.Name, Text: t.Text, Off: off.HasTool(st.Name, t.Name)})
		}
		out = append(out, s)
	}
	return out, nil
}

// switchTools handles POST /ui/threads/:id/tools. Tools missing from the form are unchanged.
func (u *UI) switchTools(c echo.Context, id string) error {
	if u.MCP == nil || u.Switches == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), maxExtraForm)
	if err != nil {
		return err
	}
	off, err := u.Switches.Change(c.Request().Context(), id, func(o *switches.Off) { turn(o, form) })
	if err != nil {
		return err
	}
	if !page.Scripted(c.Request()) {
		return u.backToBox(c, id, page.PlainText(form.Get("text")))
	}
	button, err := views.Render(page.Localized(c), chat.ToolsButton(id, !off.Empty()))
	if err != nil {
		return err
	}
	var f views.Frame
	f.Do(views.SwapOuter, "tools-btn", string(button))
	return page.SendFrame(c, http.StatusOK, f)
}

// turn carries out a form of switches.
func turn(o *switches.Off, form url.Values) {
	for _, name := range form["had"] {
		at := strings.LastIndexByte(name, '/') // no tool has one in its name
		if at > 0 {
			o.Turn(name[:at], name[at+1:], slices.Contains(form["on"], name))
		}
	}
}
