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
	"fawn/agent/mcp/switches"
	"fawn/store"
	"fawn/web/httpx"
	o "fawn/web/openapi"
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

// resetMCP restarts all servers.
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

// describeMCP returns the routes of MCP servers.
func describeMCP() []o.Op {
	const tag = "MCP servers"
	servers := o.Of[serversJSON](o.Is("mcp_servers", o.Map(o.Map(nil))))
	all := route.Answered("The servers, with secrets masked", servers)
	status := route.Answered("How the servers are", o.Of[mcpStatusList](o.Is("servers", o.List(o.Ref("MCPStatus")))))
	questions := route.Answered("The questions that are open",
		o.Of[mcpQuestionList](o.Is("questions", o.List(o.Ref("MCPQuestion")))))
	tools := route.Answered("The servers with their tools", o.Of[threadServers](o.Is("servers", o.List(o.Ref("ThreadServer")))))
	return []o.Op{
		{ID: "getMCPConfig", Tag: tag, Text: "Get the configuration of MCP servers",
			More: "Values of env and headers, and what else sounds like a secret, are ***; secrets of oauth are null.",
			Out:  all, Fail: []int{404}},
		{ID: "putMCPConfig", Tag: tag, Text: "Replace the configuration of MCP servers",
			More: "A value *** keeps what is stored there, as does a null secret of oauth; an empty one clears it. routing and " +
				"tools stay when they are left out. mcpServers, as in the file, is another name of mcp_servers. New stdio servers must be started with npx or uvx; see docs/mcp.md.",
			Need: true, Body: o.Reads[serversBody](append(o.Without("mcpServers"), o.Is("mcp_servers", o.Map(o.Map(nil))))...), Out: all, Fail: []int{400, 404}},
		{ID: "switchMCPServer", Tag: tag, Text: "Switch an MCP server on or off", Need: true,
			Body: o.Reads[serverSwitch](o.Req("server_name", o.String()), o.Req("enabled", o.Bool())), Out: all,
			Fail: []int{400, 404}},
		{ID: "resetMCP", Tag: tag, Text: "Start all MCP servers anew",
			Out:  route.Answered("Done", o.Of[route.DoneMessage]()),
			Fail: []int{404}},
		{ID: "getMCPStatus", Tag: tag, Text: "Get the state, tools and log of MCP servers", Out: status, Fail: []int{404}},
		{ID: "reconnectMCPServer", Tag: tag, Text: "Start an MCP server anew", Out: status},
		{ID: "loginMCPServer", Tag: tag, Text: "Begin a login at an MCP server",
			More: "Open authorization_url in the browser that asks: a cookie lets only that one end the login, within ten " +
				"minutes.", Out: route.Answered("Where to go", o.Of[begunLogin]()),
			Fail: []int{400, 404, 502}},
		{ID: "logoutMCPServer", Tag: tag, Text: "Forget the tokens of an MCP server", Out: status},
		{ID: "getThreadTools", Tag: tag, Text: "Get the tools of MCP servers that a thread has", Out: tools},
		{ID: "putThreadTools", Tag: tag, Text: "Switch tools of MCP servers off in a thread",
			More: "It replaces what was off, and counts from the next run on. servers are off with all their tools, also those " +
				"that come later; tools are names by server, as the server calls them.",
			Body: o.Reads[switches.Off](), Out: tools},
		{ID: "listMCPQuestions", Tag: tag, Text: "Get what MCP servers ask the person in a thread", Out: questions},
		{ID: "answerMCPQuestion", Tag: tag, Text: "Answer an MCP server's question",
			More: "The call that waits for it goes on. content has what schema wants, with action accept. " +
				"A question that has already been answered, here or at another server, gets 409.",
			Body: o.Reads[askedAnswer](o.Req("action", o.Enum("accept", "decline", "cancel"))),
			Out:  questions, Fail: []int{404, 409, 422}},
		{ID: "listMCPTasks", Tag: tag, Text: "List the long calls of MCP servers in a thread, the newest first",
			More:  "A server may make a task of a call, which takes as long as it takes; the run waits for it, also after a restart.",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, taskPageMax)}},
			Out:   route.Answered("The tasks", o.List(o.Ref("MCPTask")))},
		{ID: "getMCPTask", Tag: tag, Text: "Get a long call of an MCP server", Out: route.Answered("The task", o.Ref("MCPTaskDetail"))},
		{ID: "cancelMCPTask", Tag: tag, Text: "Cancel a long call of an MCP server",
			More: "Its run goes on without a result. What is over stays as it is.", Out: route.Answered("The task", o.Ref("MCPTaskDetail"))},
		{ID: "answerClientTool", Tag: tag, Text: "Give the result of a tool that the client carries out",
			More: "The tools of context.client_tools of a run are its client's: the custom event client_tool_call names a " +
				"call, and the run waits up to ten minutes for its result. A second result gets 409.",
			Body: o.Reads[toolResult](o.Req("content", o.String())),
			Out:  route.Answered("Taken", o.Of[route.Done]()), Fail: []int{404, 409, 413, 422}},
		{ID: "approveMCPServer", Tag: tag, Text: "Accept the tools of an MCP server as they are now",
			More: "Tools whose description or parameters have changed since they were accepted are withheld.", Out: status},
	}
}

// mcpSchemas returns the schemas of describeMCP.
func mcpSchemas() map[string]o.Schema {
	status := o.Is("status", o.Enum("working", "input_required", "completed", "failed", "cancelled"))
	return map[string]o.Schema{
		"MCPTask": o.Of[mcpTaskJSON](status),
		"MCPTaskDetail": o.Of[mcpTaskDetailJSON](status, o.Is("result_artifact", o.Nullable(o.Map(o.String()))),
			o.Is("input_required", o.Nullable(o.Map(o.String())))),
		"ThreadServer": o.Of[threadServer](),
		"MCPQuestion":  o.Of[ask.Question](o.Is("schema", o.Map(nil))),
		"MCPStatus": o.Of[mcp.Status](o.Is("state", o.Enum("off", "unavailable", "connecting", "ready", "login", "failed")),
			o.Is("login", o.Enum(mcp.LoginNone, mcp.LoginOut, mcp.LoginIn))),
	}
}
