package gateway

import (
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent/mcp"
	"fawn/store"
	"fawn/web/principal"
	"fawn/web/route"
)

// Roles that may request a route.
const (
	anyone   = principal.Anyone
	user     = principal.User
	operator = principal.Operator
)

// Routes adds every route to g, which is the group at /api.
func (g *Gateway) Routes(group *echo.Group) { route.Add(group, g.table()) }

// table returns all routes.
func (g *Gateway) table() []route.Route {
	return slices.Concat(g.routes(), g.accounts(), g.groupRoutes(), g.comparisonRoutes(), g.projectRoutes(), g.promptRoutes(), g.knowledgeRoutes(), g.channelRoutes(), g.unavailable())
}

// routes returns the routes other than those of accounts.
func (g *Gateway) routes() []route.Route {
	return []route.Route{
		route.On("POST", "/threads/{thread_id}/branches", user, "branchThread", g.OnThread(g.branchThread)),
		route.On("GET", "/models", user, "listModels", g.models),
		route.On("GET", "/models/{name}", user, "getModel", g.model),
		route.On("GET", "/models/discover", operator, "discoverModels", g.discoverModels),
		route.On("POST", "/models/probe", operator, "probeModel", g.probeModel),
		route.On("GET", "/settings/presets", operator, "listPresets", g.presets),
		route.On("GET", "/settings/models", operator, "listModelSettings", g.listSettings),
		route.On("POST", "/settings/models", operator, "addModel", g.addModel),
		route.On("PATCH", "/settings/models/{name}", operator, "changeModel", g.changeModel),
		route.On("DELETE", "/settings/models/{name}", operator, "removeModel", g.removeModel),
		route.On("PUT", "/settings/default-model", operator, "setDefaultModel", g.setDefaultModel),
		route.On("GET", "/features", user, "getFeatures", g.features),
		route.On("POST", "/threads/{thread_id}/browser/navigate", user, "navigateBrowser", g.OnThread(g.navigateBrowser)),
		route.On("POST", "/suggestions", user, "suggestFollowUps", g.Without(g.suggest)),
		route.On("GET", "/suggestions/config", user, "getSuggestionsConfig", g.suggestionsConfig),
		route.On("POST", "/threads/{thread_id}/suggestions", user, "suggestFollowUpsInThread", g.OnThread(g.suggestIn)),
		route.On("POST", "/input-polish", user, "polishInput", g.polish),
		route.On("GET", "/threads/{thread_id}/goal", user, "getGoal", g.OnThread(g.goal)),
		route.On("PUT", "/threads/{thread_id}/goal", user, "putGoal", g.OnThread(g.putGoal)),
		route.On("DELETE", "/threads/{thread_id}/goal", user, "deleteGoal", g.OnThread(g.deleteGoal)),
		route.On("GET", "/threads/{thread_id}/token-usage", user, "getTokenUsage", g.OnThread(g.threadTokens)),
		route.On("GET", "/threads/{thread_id}/messages", user, "listMessages", g.OnThread(g.messages)),
		route.On("GET", "/threads/{thread_id}/messages/page", user, "getMessagesPage", g.OnThread(g.messagesPage)),
		route.On("POST", "/threads/{thread_id}/runs/regenerate/prepare", user, "prepareRegenerate", g.OnThread(g.prepareRegenerate)),
		route.On("POST", "/threads/{thread_id}/runs/edit-regenerate/prepare", user, "prepareEdit", g.OnThread(g.prepareEdit)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/messages", user, "listRunMessages", g.OnRun(g.runMessages)),
		route.On("GET", "/runs/{run_id}/messages", user, "listStatelessRunMessages", g.OnRun(g.runMessages)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/events", user, "listRunEvents", g.OnRun(g.runEvents)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/workspace-changes", user,
			"getWorkspaceChanges", g.OnRun(g.workspaceChanges)),
		route.On("GET", "/threads/{thread_id}/file-versions/{path}", user, "listFileVersions", g.OnThread(g.fileVersions)),
		route.On("POST", "/threads/{thread_id}/file-versions/{path}", user, "restoreFileVersion", g.OnThread(g.restoreFile)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/feedback", user, "listFeedback", g.OnRun(g.listFeedback)),
		route.On("POST", "/threads/{thread_id}/runs/{run_id}/feedback", user, "addFeedback", g.OnRun(g.addFeedback)),
		route.On("PUT", "/threads/{thread_id}/runs/{run_id}/feedback", user, "putFeedback", g.OnRun(g.addFeedback)),
		route.On("DELETE", "/threads/{thread_id}/runs/{run_id}/feedback", user, "clearFeedback", g.OnRun(g.deleteFeedback)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/feedback/stats", user, "getFeedbackStats", g.OnRun(g.feedbackStats)),
		route.On("DELETE", "/threads/{thread_id}/runs/{run_id}/feedback/{feedback_id}", user,
			"deleteFeedback", g.OnRun(g.deleteFeedback)),
		route.On("GET", "/runs/{run_id}/feedback", user, "listStatelessRunFeedback", g.OnRun(g.listFeedback)),

		route.On("GET", "/console/stats", user, "getConsoleStats", g.consoleStats),
		route.On("GET", "/console/runs", user, "listConsoleRuns", g.consoleRuns),
		route.On("GET", "/console/usage", user, "getConsoleUsage", g.consoleUsage),

		route.On("GET", "/scheduled-tasks", user, "listTasks", g.listTasks),
		route.On("POST", "/scheduled-tasks", user, "createTask", g.createTask),
		route.On("GET", "/scheduled-tasks/{cron_id}", user, "getTask", g.task),
		route.On("PATCH", "/scheduled-tasks/{cron_id}", user, "patchTask", g.patchTask),
		route.On("DELETE", "/scheduled-tasks/{cron_id}", user, "deleteTask", g.deleteTask),
		route.On("POST", "/scheduled-tasks/{cron_id}/pause", user, "pauseTask", g.pauseTask),
		route.On("POST", "/scheduled-tasks/{cron_id}/resume", user, "resumeTask", g.resumeTask),
		route.On("POST", "/scheduled-tasks/{cron_id}/trigger", user, "triggerTask", g.triggerTask),
		route.On("GET", "/scheduled-tasks/{cron_id}/runs", user, "listTaskRuns", g.taskRuns),
		route.On("GET", "/threads/{thread_id}/scheduled-tasks", user, "listThreadTasks", g.OnThreadID(g.threadTasks)),
		route.On("GET", "/agents", user, "listAgents", g.onAgents(g.listAgents)),
		route.On("GET", "/agents/check", user, "checkAgentName", g.onAgents(g.checkAgent)),
		route.On("POST", "/agents", user, "createAgent", g.onAgents(g.createAgent)),
		route.On("GET", "/agents/{agent_name}", user, "getAgent", g.onAgents(g.agent)),
		route.On("PUT", "/agents/{agent_name}", user, "changeAgent", g.onAgents(g.changeAgent)),
		route.On("DELETE", "/agents/{agent_name}", user, "deleteAgent", g.onAgents(g.deleteAgent)),
		route.On("GET", "/mcp/config", operator, "getMCPConfig", g.onMCP(g.mcpConfig)),
		route.On("PUT", "/mcp/config", operator, "putMCPConfig", g.onMCP(g.putMCPConfig)),
		route.On("PATCH", "/mcp/config", operator, "switchMCPServer", g.onMCP(g.switchMCPServer)),
		route.On("POST", "/mcp/cache/reset", operator, "resetMCP", g.onMCP(g.resetMCP)),
		route.On("GET", "/mcp/status", operator, "getMCPStatus", g.onMCP(g.mcpStatus)),
		route.On("POST", "/mcp/servers/{name}/reconnect", operator, "reconnectMCPServer", g.onMCPServer((*mcp.Pool).Reconnect)),
		route.On("POST", "/mcp/servers/{name}/login", operator, "loginMCPServer", g.onMCP(g.loginMCPServer)),
		route.On("POST", "/mcp/servers/{name}/logout", operator, "logoutMCPServer", g.onMCPServer((*mcp.Pool).Logout)),
		route.On("POST", "/mcp/servers/{name}/approve", operator, "approveMCPServer", g.onMCPServer((*mcp.Pool).Approve)),
		route.On("GET", "/threads/{thread_id}/mcp-tasks", user, "listMCPTasks", g.OnThread(g.mcpTasks)),
		route.On("GET", "/threads/{thread_id}/mcp-tasks/{task_id}", user, "getMCPTask", g.OnThread(g.mcpTask)),
		route.On("POST", "/threads/{thread_id}/mcp-tasks/{task_id}/cancel", user, "cancelMCPTask", g.OnThread(g.cancelMCPTask)),
		route.On("GET", "/skills", user, "listSkills", g.onSkills(g.listSkills)),
		route.On("PUT", "/skills", operator, "switchSkills", g.onSkills(g.switchSkills)),
		route.On("POST", "/skills/install", operator, "installSkill", g.onSkills(g.installSkill)),
		route.On("POST", "/skills/reload", operator, "reloadSkills", g.onSkills(g.reloadSkills)),
		route.On("GET", "/skills/custom", user, "listCustomSkills", g.onSkills(g.listCustomSkills)),
		route.On("GET", "/skills/custom/{name}", user, "getCustomSkill", g.onSkills(g.customSkill)),
		route.On("PUT", "/skills/custom/{name}", operator, "putCustomSkill", g.onSkills(g.putCustomSkill)),
		route.On("DELETE", "/skills/custom/{name}", operator, "deleteCustomSkill", g.onSkills(g.deleteCustomSkill)),
		route.On("GET", "/skills/custom/{name}/history", user, "listSkillChanges", g.onSkills(g.customSkillHistory)),
		route.On("POST", "/skills/custom/{name}/rollback", operator, "rollbackSkill", g.onSkills(g.rollbackCustomSkill)),
		route.On("GET", "/skills/{name}", user, "getSkill", g.onSkills(g.skill)),
		route.On("PUT", "/skills/{name}", operator, "switchSkill", g.onSkills(g.switchSkill)),
		route.On("GET", "/user-profile", user, "getUserProfile", g.onAgents(g.userProfile)),
		route.On("PUT", "/user-profile", user, "putUserProfile", g.onAgents(g.putUserProfile)),
		route.On("GET", "/threads/{thread_id}/export", user, "exportThread", g.OnThread(g.exportThread)),
		route.On("GET", "/export", user, "exportAll", g.exportAll),
		route.On("GET", "/imports", user, "listImports", g.listImports),
		route.On("POST", "/imports", user, "previewImport", g.previewImport),
		route.On("POST", "/imports/{import_id}/confirm", user, "confirmImport", g.confirmImport),
		route.On("DELETE", "/imports/{import_id}", user, "undoImport", g.undoImport),
		route.On("GET", "/memory", user, "getMemory", g.onMemory(g.memory)),
		route.On("DELETE", "/memory", user, "clearMemory", g.onMemory(g.clearMemory)),
		route.On("POST", "/memory/reload", operator, "reloadMemory", g.onMemory(g.reloadMemory)),
		route.On("GET", "/memory/config", user, "getMemoryConfig", g.onMemory(g.memoryConfig)),
		route.On("GET", "/memory/status", user, "getMemoryStatus", g.onMemory(g.memoryStatus)),
		route.On("GET", "/memory/switch", user, "getMemorySwitch", g.onMemory(g.memorySwitch)),
		route.On("PUT", "/memory/switch", user, "putMemorySwitch", g.onMemory(g.putMemorySwitch)),
		route.On("GET", "/memory/export", user, "exportMemory", g.onMemory(g.memory)),
		route.On("POST", "/memory/import", user, "importMemory", g.onMemory(g.importMemory)),
		route.On("POST", "/memory/facts", user, "addFact", g.onMemory(g.addFact)),
		route.On("PATCH", "/memory/facts/{fact_id}", user, "changeFact", g.onMemory(g.changeFact)),
		route.On("DELETE", "/memory/facts/{fact_id}", user, "deleteFact", g.onMemory(g.deleteFact)),
		route.On("GET", "/threads/{thread_id}/memory", user, "getThreadMemory", g.OnThread(g.threadMemory)),
		route.On("PUT", "/threads/{thread_id}/memory", user, "putThreadMemory", g.OnThread(g.putThreadMemory)),
		route.On("DELETE", "/threads/{thread_id}/memory", user, "forgetThread", g.OnThread(g.forgetThread)),
		route.On("GET", "/audit", user, "getAudit", g.audit),
		route.On("GET", "/threads/{thread_id}/audit", user, "getThreadAudit", g.OnThread(g.threadAudit)),
		route.On("GET", "/threads/{thread_id}/network", user, "getThreadNetwork", g.OnThread(g.threadNetwork)),
		route.On("POST", "/threads/{thread_id}/network", user, "answerThreadNetwork", g.OnThread(g.decideNetwork)),
		route.On("GET", "/threads/{thread_id}/mcp/tools", user, "getThreadTools", g.OnThread(g.threadTools)),
		route.On("PUT", "/threads/{thread_id}/mcp/tools", user, "putThreadTools", g.OnThread(g.putThreadTools)),
		route.On("GET", "/threads/{thread_id}/mcp/questions", user, "listMCPQuestions", g.OnThread(g.mcpQuestions)),
		route.On("POST", "/threads/{thread_id}/mcp/questions/{question_id}", user, "answerMCPQuestion", g.OnThread(g.answerMCP)),
		route.On("POST", "/threads/{thread_id}/client-tools/{call_id}", user, "answerClientTool",
			g.OnThread(g.answerClientTool)),
		route.On("GET", "/network", operator, "listAllowedHosts", g.openHosts),
		route.On("DELETE", "/network", operator, "revokeHost", g.closeHost),
	}
}

// suggestIn handles POST /threads/:tid/suggestions.
func (g *Gateway) suggestIn(c echo.Context, t store.Thread) error { return g.suggest(c, t.ID) }
