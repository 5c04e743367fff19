package gateway

import (
	"fawn/agent/mcp"
	"fawn/agent/mcp/ask"
	"fawn/agent/mcp/switches"
	"fawn/web/route"

	o "fawn/web/openapi"
)

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
