package ui

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
)

// maxServerForm bounds the form with the JSON of servers.
const maxServerForm = 256 << 10

// withMCP is the handler of an action on MCP servers.
func (u *UI) withMCP(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if u.MCP == nil {
			return store.ErrNotFound
		}
		return h(c)
	}
}

// mcpServers are those of the configuration, in the order of their names, and how they are.
func (u *UI) mcpServers() []views.ServerInfo {
	status := map[string]mcp.Status{}
	if u.MCP != nil {
		for _, s := range u.MCP.Status() {
			status[s.Name] = s
		}
	}
	var out []views.ServerInfo
	for name, s := range u.Config.Current().Extensions.MCPServers {
		info := views.ServerInfo{Name: name, Text: mcpText(s), Off: !s.Enabled, Reason: s.Disabled}
		if st, ok := status[name]; ok && !info.Off {
			info.State, info.Reason, info.Login = st.State, cmp.Or(info.Reason, st.Error), st.Login
			info.Tools, info.Withheld, info.Skipped = mcpTools(st.Tools), mcpTools(st.Withheld), st.Skipped
			for _, l := range st.Log[max(0, len(st.Log)-40):] {
				info.Log = append(info.Log, l.At.Format("15:04:05")+" "+l.Text)
			}
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b views.ServerInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func mcpTools(list []mcp.ToolInfo) (out []views.ServerTool) {
	for _, t := range list {
		out = append(out, views.ServerTool{Name: t.Name, Text: head(oneLine(t.Description), 200)})
	}
	return out
}

func mcpText(s config.MCPServer) string {
	if s.Description != "" {
		return head(oneLine(s.Description), maxTitle)
	}
	return s.Type
}

// addServers is POST /ui/mcp/add: the JSON that other programs are given.
func (u *UI) addServers(c echo.Context) error {
	form, err := readForm(c.Request(), maxServerForm)
	if err != nil {
		return err
	}
	text := plainText(form.Get("json"))
	added := pickedServer(form.Get("known"))
	if added == nil {
		added, err = config.ParseServers(text)
	}
	if err == nil {
		err = lead.EditServers(u.Config, u.MCP, func(list config.Servers) (config.Servers, error) {
			for _, name := range slices.Sorted(maps.Keys(added)) {
				if list[name] != nil {
					return nil, &config.BadServers{Why: fmt.Sprintf("there is a server called %q already", name)}
				}
				list[name] = added[name]
			}
			return list, nil
		})
	}
	var bad *config.BadServers
	if errors.As(err, &bad) {
		return u.showServers(c, http.StatusUnprocessableEntity, text, bad.Why)
	}
	if err != nil {
		return err
	}
	u.MCP.Await(c.Request().Context()) // most are there in a moment
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("tools"))
}

// showServers answers with the section, and what was pasted into its form.
func (u *UI) showServers(c echo.Context, status int, text, problem string) error {
	p, err := u.settingsPage(c, "tools")
	if err != nil {
		return err
	}
	p.Tools, p.Servers, p.MayAdd = u.toolList(c), u.mcpServers(), mayChange(c)
	p.Pasted, p.Problem, p.Known = text, problem, u.knownToAdd()
	return html(c, status, settings.Page(p))
}

// onServer is an action on one server, after which the section is shown again.
func (u *UI) onServer(do func(form func(string) string, name string) error) echo.HandlerFunc {
	return u.withMCP(func(c echo.Context) error {
		form, err := readForm(c.Request(), maxSmallForm)
		if err != nil {
			return err
		}
		err = do(form.Get, param(c, "name"))
		var bad *config.BadServers
		switch {
		case errors.As(err, &bad):
			return u.showServers(c, http.StatusUnprocessableEntity, "", bad.Why)
		case err != nil && !errors.Is(err, config.ErrNoServer) && !errors.Is(err, mcp.ErrUnknown): // it has gone meanwhile
			return err
		}
		u.MCP.Await(c.Request().Context())
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("tools"))
	})
}

func (u *UI) switchServer(form func(string) string, name string) error {
	return lead.EditServers(u.Config, u.MCP, lead.SwitchServer(name, form("on") == "true"))
}

func (u *UI) removeServer(_ func(string) string, name string) error {
	return lead.EditServers(u.Config, u.MCP, func(list config.Servers) (config.Servers, error) {
		delete(list, name)
		return list, nil
	})
}

func (u *UI) reconnectServer(_ func(string) string, name string) error { return u.MCP.Reconnect(name) }

func (u *UI) approveServer(_ func(string) string, name string) error { return u.MCP.Approve(name) }
