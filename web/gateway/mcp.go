package gateway

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/agent/mcp/ask"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// onMCP returns the handler of a route of MCP servers.
func (g *Gateway) onMCP(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if g.MCP == nil || g.Settings == nil {
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
		return httpx.Errorf(http.StatusBadRequest, "%s", route.Cut(bad.Why, 500))
	case errors.Is(err, config.ErrChanged):
		return httpx.Errorf(http.StatusConflict, "%s", err.Error())
	case errors.Is(err, config.ErrNoServer), errors.Is(err, mcp.ErrUnknown):
		return httpx.Errorf(http.StatusNotFound, "MCP server not found")
	}
	return err
}

// serversJSON are the servers, without secrets.
type serversJSON struct {
	Servers config.Servers `json:"mcp_servers"`
}

// mcpConfig answers with the servers, without secrets.
func (g *Gateway) mcpConfig(c echo.Context) error {
	list, err := g.Settings.Servers()
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, serversJSON{list.Masked()})
}

// editServers changes the servers and starts new ones.
func (g *Gateway) editServers(c echo.Context, change func(config.Servers) (config.Servers, error)) error {
	ctx := c.Request().Context()
	if err := lead.EditServers(g.Settings, g.MCP, lead.Judged(ctx, g.Outward.Guard(ctx), change)); err != nil {
		return mcpError(err)
	}
	return g.mcpConfig(c)
}

// serversBody is the body of putMCPConfig.
type serversBody struct {
	Servers config.Servers `json:"mcp_servers"`
	Other   config.Servers `json:"mcpServers"` // as in the file
}

// putMCPConfig replaces all servers.
func (g *Gateway) putMCPConfig(c echo.Context) error {
	var b serversBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	sent := b.Servers
	if sent == nil {
		sent = b.Other
	}
	if sent == nil {
		return httpx.Invalid("body", "mcp_servers", "is required")
	}
	return g.editServers(c, sent.Restored)
}

// serverSwitch is the body of switchMCPServer.
type serverSwitch struct {
	Name    string `json:"server_name"`
	Enabled *bool  `json:"enabled"`
}

// switchMCPServer switches one server on or off.
func (g *Gateway) switchMCPServer(c echo.Context) error {
	var b serverSwitch
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Enabled == nil {
		return httpx.Invalid("body", "enabled", "is required")
	}
	return g.editServers(c, lead.SwitchServer(b.Name, *b.Enabled))
}

// resetMCP starts all servers anew.
func (g *Gateway) resetMCP(c echo.Context) error {
	g.MCP.Reset()
	return httpx.JSON(c, http.StatusOK, route.DoneMessage{Message: "The MCP servers are started anew", Success: true})
}

type mcpStatusList struct {
	Servers []mcp.Status `json:"servers"`
}

// mcpStatus responds with the state of the servers.
func (g *Gateway) mcpStatus(c echo.Context) error {
	list := g.MCP.Status()
	if list == nil {
		list = []mcp.Status{}
	}
	return httpx.JSON(c, http.StatusOK, mcpStatusList{list})
}

// begunLogin is the address where a person signs in.
type begunLogin struct {
	URL string `json:"authorization_url"`
}

// loginMCPServer begins a login. It belongs to the browser that asks.
func (g *Gateway) loginMCPServer(c echo.Context) error {
	to, err := g.MCP.Login(c.Request().Context(), route.Param(c, "name"), httpx.Origin(c.Request())+httpx.MCPCallback)
	switch {
	case errors.Is(err, mcp.ErrUnknown):
		return mcpError(err)
	case errors.Is(err, mcp.ErrNoLogin):
		return httpx.Errorf(http.StatusBadRequest, "%v", err)
	case err != nil:
		return httpx.Errorf(http.StatusBadGateway, "%s", route.Cut(err.Error(), 500))
	}
	httpx.BindLogin(c, to.State)
	return httpx.JSON(c, http.StatusOK, begunLogin{to.URL})
}

type mcpQuestionList struct {
	Questions []*ask.Question `json:"questions"`
}

// mcpQuestions handles GET /threads/:tid/mcp/questions.
func (g *Gateway) mcpQuestions(c echo.Context, t store.Thread) error {
	list := []*ask.Question{}
	if g.MCP != nil {
		var err error
		if list, err = g.MCP.Questions(c.Request().Context(), t.ID); err != nil {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, mcpQuestionList{list})
}

// askedAnswer is the body of answerMCP.
type askedAnswer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}

// answerMCP handles POST /threads/:tid/mcp/questions/:qid.
func (g *Gateway) answerMCP(c echo.Context, t store.Thread) error {
	var b askedAnswer
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if !slices.Contains([]string{ask.Accept, ask.Decline, ask.Cancel}, b.Action) {
		return httpx.Invalid("body", "action", "must be accept, decline or cancel")
	}
	err := ask.ErrNoQuestion
	if g.MCP != nil {
		reply := ask.Reply{Action: b.Action, Content: b.Content}
		err = g.MCP.Answer(c.Request().Context(), t.ID, route.Param(c, "qid"), reply)
	}
	switch {
	case errors.Is(err, ask.ErrNoQuestion):
		return httpx.Errorf(http.StatusNotFound, "Question not found")
	case errors.Is(err, ask.ErrAnswered):
		return httpx.Errorf(http.StatusConflict, "The question has been answered already")
	case errors.Is(err, ask.ErrContent):
		return httpx.Invalid("body", "content", "%s", route.Cut(err.Error(), 400))
	case err != nil:
		return err
	}
	return g.mcpQuestions(c, t)
}

// onMCPServer returns a handler that calls do with one server.
func (g *Gateway) onMCPServer(do func(p *mcp.Pool, name string) error) echo.HandlerFunc {
	return g.onMCP(func(c echo.Context) error {
		if err := do(g.MCP, route.Param(c, "name")); err != nil {
			return mcpError(err)
		}
		return g.mcpStatus(c)
	})
}
