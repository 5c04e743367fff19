package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/config/servers"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/ui/page"
)

// maxServerForm limits the form with the JSON of servers.
const maxServerForm = 256 << 10

// withMCP returns the handler of an action on MCP servers.
func (h *Handlers) withMCP(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if h.MCP == nil {
			return store.ErrNotFound
		}
		return next(c)
	}
}

// mcpServers returns the configured servers by name, with their state.
func (h *Handlers) mcpServers() []views.ServerInfo {
	status := map[string]mcp.Status{}
	if h.MCP != nil {
		for _, s := range h.MCP.Status() {
			status[s.Name] = s
		}
	}
	var out []views.ServerInfo
	for name, s := range h.Config.Current().Extensions.MCPServers {
		info := views.ServerInfo{Name: name, Text: mcpText(s), Off: !s.Enabled, Reason: s.Disabled}
		if st, ok := status[name]; ok && !info.Off {
			info.State, info.Reason, info.Login = st.State, cmp.Or(info.Reason, st.Error), st.Login
			info.Tools, info.Withheld, info.Skipped = ServerTools(st.Tools), ServerTools(st.Withheld), st.Skipped
			for _, l := range st.Log[max(0, len(st.Log)-40):] {
				info.Log = append(info.Log, l.At.Format("15:04:05")+" "+l.Text)
			}
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b views.ServerInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ServerTools returns a server's tools for lists on pages.
func ServerTools(list []mcp.ToolInfo) (out []views.ServerTool) {
	for _, t := range list {
		out = append(out, views.ServerTool{Name: t.Name, Text: page.Head(page.OneLine(t.Description), 200)})
	}
	return out
}

func mcpText(s config.MCPServer) string {
	if s.Description != "" {
		return page.Head(page.OneLine(s.Description), page.MaxTitle)
	}
	return s.Type
}

// addServers handles POST /ui/mcp/add: the JSON that other programs are given.
func (h *Handlers) addServers(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), maxServerForm)
	if err != nil {
		return err
	}
	text := page.PlainText(form.Get("json"))
	added := pickedServer(form.Get("known"))
	if added == nil {
		added, err = servers.Parse(text)
	}
	var bad *config.BadServers
	var problems []string
	if errors.As(err, &bad) {
		problems = append(problems, bad.Why)
	} else if err != nil {
		return err
	}
	var asks []views.ServerCommand
	ctx := c.Request().Context()
	left := config.Servers{} // a refused one doesn't block others
	for _, name := range slices.Sorted(maps.Keys(added)) {
		add := func(list config.Servers) (config.Servers, error) {
			if list[name] != nil {
				return nil, &config.BadServers{Why: fmt.Sprintf("there is a server called %q already", name)}
			}
			list[name] = added[name]
			return list, nil
		}
		err := lead.EditServers(h.Config, h.MCP, lead.Judged(ctx, h.Outward.Guard(ctx), add), form["agree"]...)
		switch {
		case err == nil:
			continue
		case errors.Is(err, config.ErrChanged):
			return h.showServers(c, http.StatusConflict, text, page.Say(c, "settings.changed"))
		case !errors.As(err, &bad):
			return err
		case bad.Asks != nil:
			asks = append(asks, views.ServerCommand{Name: name, Line: bad.Asks.Line, Sum: bad.Asks.Sum})
		default:
			problems = append(problems, wordsOf(c, bad))
		}
		left[name] = added[name]
	}
	if len(asks)+len(problems) > 0 {
		if len(left) > 0 && len(left) < len(added) { // other servers exist
			rest, err := json.MarshalIndent(map[string]any{"mcpServers": left}, "", "  ")
			if err != nil {
				return err
			}
			text = string(rest)
		}
		return h.showServers(c, http.StatusUnprocessableEntity, text, strings.Join(problems, "; "), asks...)
	}
	h.MCP.Await(c.Request().Context()) // most are available in a moment
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("mcp"))
}

// wordsOf explains to the reader why a change is refused.
func wordsOf(c echo.Context, bad *config.BadServers) string {
	if bad.NoKey {
		return page.Say(c, "models.wrong.no_secret_key")
	}
	return bad.Why
}

// showServers answers with the section, and the pasted text in its form.
func (h *Handlers) showServers(c echo.Context, status int, text, problem string, asks ...views.ServerCommand) error {
	p, err := h.Settings(c, "mcp")
	if err != nil {
		return err
	}
	p.Servers, p.MayAdd = h.mcpServers(), page.MayChange(c)
	p.Pasted, p.Problem, p.Known, p.Commands = text, problem, h.knownToAdd(), asks
	return page.HTML(c, status, settings.Page(p))
}

// onServer returns an action on one server, after which the section is shown again.
func (h *Handlers) onServer(do func(form func(string) string, name string) error) echo.HandlerFunc {
	return h.withMCP(func(c echo.Context) error {
		form, err := page.ReadForm(c.Request(), page.SmallForm)
		if err != nil {
			return err
		}
		err = do(form.Get, page.Param(c, "name"))
		var bad *config.BadServers
		switch {
		case errors.As(err, &bad):
			return h.showServers(c, http.StatusUnprocessableEntity, "", wordsOf(c, bad))
		case errors.Is(err, config.ErrChanged):
			return h.showServers(c, http.StatusConflict, "", page.Say(c, "settings.changed"))
		case err != nil && !errors.Is(err, config.ErrNoServer) && !errors.Is(err, mcp.ErrUnknown):
			// it has gone meanwhile
			return err
		}
		h.MCP.Await(c.Request().Context())
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("mcp"))
	})
}

func (h *Handlers) switchServer(form func(string) string, name string) error {
	return lead.EditServers(h.Config, h.MCP, lead.SwitchServer(name, form("on") == "true"))
}

func (h *Handlers) removeServer(_ func(string) string, name string) error {
	return lead.EditServers(h.Config, h.MCP, func(list config.Servers) (config.Servers, error) {
		delete(list, name)
		return list, nil
	})
}

func (h *Handlers) reconnectServer(_ func(string) string, name string) error {
	return h.MCP.Reconnect(name)
}

func (h *Handlers) approveServer(_ func(string) string, name string) error {
	return h.MCP.Approve(name)
}
