package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/store"
	"fawn/web/httpx"
)

// onMCP is the handler of a route of MCP servers.
func (m mount) onMCP(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if m.MCP == nil || m.Settings == nil {
			return httpx.Errorf(http.StatusNotFound, "There are no MCP servers here")
		}
		return h(c)
	}
}

// mcpError words why the servers are not changed.
func mcpError(err error) error {
	var bad *config.BadServers
	switch {
	case errors.As(err, &bad):
		return httpx.Errorf(http.StatusBadRequest, "%s", cut(bad.Why, 500))
	case errors.Is(err, config.ErrNoServer), errors.Is(err, mcp.ErrUnknown):
		return httpx.Errorf(http.StatusNotFound, "MCP server not found")
	}
	return err
}

// mcpConfig answers with the servers, without secrets.
func (m mount) mcpConfig(c echo.Context) error {
	list, err := m.Settings.Servers()
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"mcp_servers": list.Masked()})
}

// editServers changes the servers and starts those that are new.
func (m mount) editServers(c echo.Context, change func(config.Servers) (config.Servers, error)) error {
	if err := lead.EditServers(m.Settings, m.MCP, change); err != nil {
		return mcpError(err)
	}
	return m.mcpConfig(c)
}

// putMCPConfig replaces all servers.
func (m mount) putMCPConfig(c echo.Context) error {
	var b struct {
		Servers config.Servers `json:"mcp_servers"`
		Other   config.Servers `json:"mcpServers"` // as in the file
	}
	if err := m.strict(c, &b); err != nil {
		return err
	}
	sent := b.Servers
	if sent == nil {
		sent = b.Other
	}
	if sent == nil {
		return httpx.Invalid("body", "mcp_servers", "is required")
	}
	return m.editServers(c, sent.Restored)
}

// switchMCPServer switches one server on or off.
func (m mount) switchMCPServer(c echo.Context) error {
	var b struct {
		Name    string `json:"server_name"`
		Enabled *bool  `json:"enabled"`
	}
	if err := m.strict(c, &b); err != nil {
		return err
	}
	if b.Enabled == nil {
		return httpx.Invalid("body", "enabled", "is required")
	}
	return m.editServers(c, lead.SwitchServer(b.Name, *b.Enabled))
}

// resetMCP starts all servers anew.
func (m mount) resetMCP(c echo.Context) error {
	m.MCP.Reset()
	return httpx.JSON(c, http.StatusOK, map[string]any{"success": true, "message": "The MCP servers are started anew"})
}

// mcpStatus tells how the servers are.
func (m mount) mcpStatus(c echo.Context) error {
	list := m.MCP.Status()
	if list == nil {
		list = []mcp.Status{}
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"servers": list})
}

// loginMCPServer begins a login. It belongs to the browser that asks.
func (m mount) loginMCPServer(c echo.Context) error {
	to, err := m.MCP.Login(c.Request().Context(), pathParam(c, "name"), httpx.Origin(c.Request())+httpx.MCPCallback)
	switch {
	case errors.Is(err, mcp.ErrUnknown):
		return mcpError(err)
	case errors.Is(err, mcp.ErrNoLogin):
		return httpx.Errorf(http.StatusBadRequest, "%v", err)
	case err != nil:
		return httpx.Errorf(http.StatusBadGateway, "%s", cut(err.Error(), 500))
	}
	httpx.BindLogin(c, to.State)
	return httpx.JSON(c, http.StatusOK, map[string]any{"authorization_url": to.URL})
}

// mcpQuestions is GET /threads/:tid/mcp/questions.
func (m mount) mcpQuestions(c echo.Context, t store.Thread) error {
	list := []*mcp.Question{}
	if m.MCP != nil {
		list = m.MCP.Questions(t.ID)
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"questions": list})
}

// answerMCP is POST /threads/:tid/mcp/questions/:qid.
func (m mount) answerMCP(c echo.Context, t store.Thread) error {
	var b struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if err := m.strict(c, &b); err != nil {
		return err
	}
	if !slices.Contains([]string{mcp.Accept, mcp.Decline, mcp.Cancel}, b.Action) {
		return httpx.Invalid("body", "action", "must be accept, decline or cancel")
	}
	err := mcp.ErrNoQuestion
	if m.MCP != nil {
		err = m.MCP.Answer(t.ID, pathParam(c, "qid"), mcp.Reply{Action: b.Action, Content: b.Content})
	}
	switch {
	case errors.Is(err, mcp.ErrNoQuestion):
		return httpx.Errorf(http.StatusNotFound, "Question not found")
	case errors.Is(err, mcp.ErrContent):
		return httpx.Invalid("body", "content", "%s", cut(err.Error(), 400))
	case err != nil:
		return err
	}
	return m.mcpQuestions(c, t)
}

// onMCPServer does something with one server.
func (m mount) onMCPServer(do func(p *mcp.Pool, name string) error) echo.HandlerFunc {
	return m.onMCP(func(c echo.Context) error {
		if err := do(m.MCP, pathParam(c, "name")); err != nil {
			return mcpError(err)
		}
		return m.mcpStatus(c)
	})
}
