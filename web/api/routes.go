package api

import (
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/mcp"
	"fawn/store"
	"fawn/web/principal"
)

// Who may ask for a route.
const (
	anyone   = principal.Anyone
	user     = principal.User
	reader   = principal.Reader
	operator = principal.Operator
)

// route is a line of the table of routes. Its operation describes it in the document.
type route struct {
	method, path string // as in OpenAPI
	who          principal.Policy
	op           string // id of its operation
	do           echo.HandlerFunc
}

// Routes adds every route to g. native is for the group at /api.
func (a *API) Routes(g *echo.Group, native bool) {
	m := mount{a, native}
	table := m.routes()
	if native {
		table = slices.Concat(table, m.gateway(), m.accounts(), m.unavailable())
	}
	for _, r := range table {
		g.Add(r.method, served(r.path), principal.Allow(r.who, r.do))
	}
}

// served is a path of the table as the router takes it.
func served(path string) string {
	return strings.NewReplacer("{thread_id}", ":tid", "{run_id}", ":rid", "{assistant_id}", ":aid", "{task_id}", ":task", "{span_id}", ":span",
		"{checkpoint_id}", ":cid", "{cron_id}", ":cid", "{feedback_id}", ":fid", "{question_id}", ":qid",
		"{namespace}", ":ns", "{agent_name}", ":agent", "{name}", ":name", "{fact_id}", ":fact",
		"{session_id}", ":sid", "{token_id}", ":tokid", "{user_id}", ":uid", "{path}", "*").Replace(path)
}

// routes are those of every mount.
func (m mount) routes() []route {
	return []route{
		{"GET", "/ok", anyone, "getOK", m.ok},
		{"GET", "/info", anyone, "getInfo", m.info},

		{"POST", "/assistants/search", reader, "searchAssistants", m.searchAssistants},
		{"POST", "/assistants/count", reader, "countAssistants", m.countAssistants},
		{"POST", "/assistants", user, "createAssistant", m.createAssistant},
		{"GET", "/assistants/{assistant_id}", user, "getAssistant", m.assistant},
		{"PATCH", "/assistants/{assistant_id}", user, "patchAssistant", m.patchAssistant},
		{"DELETE", "/assistants/{assistant_id}", user, "deleteAssistant", m.deleteAssistant},
		{"POST", "/assistants/{assistant_id}/versions", reader, "searchAssistantVersions", m.assistantVersions},
		{"POST", "/assistants/{assistant_id}/latest", user, "useAssistantVersion", m.useVersion},
		{"GET", "/assistants/{assistant_id}/graph", user, "getAssistantGraph", m.assistantGraph},
		{"GET", "/assistants/{assistant_id}/schemas", user, "getAssistantSchemas", m.assistantSchemas},
		{"GET", "/assistants/{assistant_id}/subgraphs", user, "listSubgraphs", m.assistantSubgraphs},
		{"GET", "/assistants/{assistant_id}/subgraphs/{namespace}", user, "getSubgraph", m.assistantSubgraphs},

		{"POST", "/a2a/{assistant_id}", user, "callAgent", m.a2a},
		{"GET", "/a2a/{assistant_id}", user, "agentCardA", m.assistantCard},
		{"GET", "/a2a/{assistant_id}/.well-known/agent-card.json", user, "agentCardB", m.assistantCard},
		{"GET", "/a2a/{assistant_id}/.well-known/agent.json", user, "agentCardC", m.assistantCard},
		{"GET", "/.well-known/agent-card.json", user, "agentCardD", m.agentCard},
		{"GET", "/.well-known/agent.json", user, "agentCardE", m.agentCard},

		{"PUT", "/store/items", user, "putItem", m.putItem},
		{"GET", "/store/items", user, "getItem", m.item},
		{"DELETE", "/store/items", user, "deleteItem", m.deleteItem},
		{"POST", "/store/items/search", reader, "searchItems", m.searchItems},
		{"POST", "/store/namespaces", reader, "listNamespaces", m.namespaces},

		{"POST", "/threads", user, "createThread", m.createThread},
		{"GET", "/threads", user, "listThreads", m.listThreads},
		{"POST", "/threads/search", reader, "searchThreads", m.searchThreads},
		{"POST", "/threads/count", reader, "countThreads", m.countThreads},
		{"POST", "/threads/prune", user, "pruneThreads", m.pruneThreads},
		{"GET", "/threads/{thread_id}/stream", user, "streamThread", m.onThread(m.threadStream)},
		{"GET", "/threads/{thread_id}/storage", user, "threadStorage", m.onThread(m.threadStorage)},
		{"GET", "/threads/{thread_id}", user, "getThread", m.onThread(m.thread)},
		{"PATCH", "/threads/{thread_id}", user, "patchThread", m.onThread(m.patchThread)},
		{"DELETE", "/threads/{thread_id}", user, "deleteThread", m.onThreadID(m.deleteThread)},
		{"POST", "/threads/{thread_id}/copy", user, "copyThread", m.onThread(m.copyThread)},
		{"POST", "/threads/{thread_id}/compact", user, "compactThread", m.onThread(m.compact)},

		{"GET", "/threads/{thread_id}/state", user, "getState", m.onThread(m.state)},
		{"POST", "/threads/{thread_id}/state", user, "updateState", m.onThread(m.updateState)},
		{"PATCH", "/threads/{thread_id}/state", user, "patchState", m.onThread(m.patchState)},
		{"POST", "/threads/{thread_id}/state/checkpoint", reader, "getStateAtCheckpoint", m.onThread(m.stateAtCheckpoint)},
		{"GET", "/threads/{thread_id}/state/{checkpoint_id}", user, "getStateAt", m.onThread(m.state)},
		{"GET", "/threads/{thread_id}/history", user, "listHistory", m.onThread(m.listHistory)},
		{"POST", "/threads/{thread_id}/history", reader, "searchHistory", m.onThread(m.history)},

		{"POST", "/threads/{thread_id}/runs", user, "createRun", m.onThreadID(m.createRun)},
		{"GET", "/threads/{thread_id}/runs", user, "listRuns", m.onThread(m.listRuns)},
		{"POST", "/threads/{thread_id}/runs/stream", user, "streamRun", m.onThreadID(m.streamRun)},
		{"POST", "/threads/{thread_id}/runs/wait", user, "waitRun", m.onThreadID(m.waitRun)},
		{"GET", "/threads/{thread_id}/runs/{run_id}", user, "getRun", m.onRun(m.run)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/trace", user, "getTrace", m.onRun(m.trace)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/trace/{span_id}", user, "getTraceCall", m.onRun(m.traceCall)},
		{"DELETE", "/threads/{thread_id}/runs/{run_id}", user, "deleteRun", m.onRun(m.deleteRun)},
		{"POST", "/threads/{thread_id}/runs/{run_id}/cancel", user, "cancelRun", m.onRun(m.cancelRun)},
		{"POST", "/threads/{thread_id}/tasks/{task_id}/cancel", user, "cancelTask", m.onThread(m.cancelTask)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/join", user, "joinRun", m.onRun(m.joinRun)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/stream", user, "followRun", m.onRun(m.joinStream)},
		{"POST", "/threads/{thread_id}/runs/{run_id}/stream", user, "cancelAndFollowRun", m.onRun(m.joinStream)},

		{"POST", "/threads/{thread_id}/commands", user, "sendCommand", m.onThreadID(m.commands)},
		{"POST", "/threads/{thread_id}/stream/events", reader, "followThread", m.onThreadID(m.threadEvents)},

		{"POST", "/runs", user, "createStatelessRun", m.without(m.createRun)},
		{"POST", "/runs/stream", user, "streamStatelessRun", m.without(m.streamRun)},
		{"POST", "/runs/wait", user, "waitStatelessRun", m.without(m.waitRun)},
		{"POST", "/runs/batch", user, "createRuns", m.createBatch},
		{"POST", "/runs/cancel", user, "cancelRuns", m.cancelMany},
		{"POST", "/runs/crons", user, "createCron", m.without(m.createCron)},
		{"POST", "/threads/{thread_id}/runs/crons", user, "createThreadCron", m.onThreadID(m.createCron)},
		{"POST", "/runs/crons/search", reader, "searchCrons", m.searchCrons},
		{"POST", "/runs/crons/count", reader, "countCrons", m.countCrons},
		{"GET", "/runs/crons/{cron_id}", user, "getCron", m.cron},
		{"PATCH", "/runs/crons/{cron_id}", user, "patchCron", m.patchCron},
		{"DELETE", "/runs/crons/{cron_id}", user, "deleteCron", m.deleteCron},
		{"GET", "/runs/{run_id}/join", user, "joinStatelessRun", m.onRun(m.joinRun)},
		{"GET", "/runs/{run_id}/stream", user, "followStatelessRun", m.onRun(m.joinStream)},

		{"POST", "/threads/{thread_id}/uploads", user, "uploadFiles", m.onThreadID(m.upload)},
		{"GET", "/threads/{thread_id}/uploads/list", user, "listUploads", m.onThreadID(m.listUploads)},
		{"GET", "/threads/{thread_id}/uploads/limits", user, "getUploadLimits", m.onThreadID(m.uploadLimits)},
		{"DELETE", "/threads/{thread_id}/uploads/{name}", user, "deleteUpload", m.onThreadID(m.deleteUpload)},
		{"GET", "/threads/{thread_id}/artifacts/{path}", user, "getArtifact", m.onThreadID(m.artifact)},
		{"PUT", "/threads/{thread_id}/artifacts/{path}", user, "editArtifact", m.onThread(m.editArtifact)},
		{"HEAD", "/threads/{thread_id}/artifacts/{path}", user, "headArtifact", m.onThreadID(m.artifact)},
	}
}

// gateway are DeerFlow's own, which are only there under /api.
func (m mount) gateway() []route {
	return []route{
		{"POST", "/threads/{thread_id}/branches", user, "branchThread", m.onThread(m.branchThread)},
		{"GET", "/models", user, "listModels", m.models},
		{"GET", "/models/{name}", user, "getModel", m.model},
		{"GET", "/models/discover", operator, "discoverModels", m.discoverModels},
		{"POST", "/models/probe", operator, "probeModel", m.probeModel},
		{"GET", "/settings/presets", operator, "listPresets", m.presets},
		{"GET", "/settings/models", operator, "listModelSettings", m.listSettings},
		{"POST", "/settings/models", operator, "addModel", m.addModel},
		{"PATCH", "/settings/models/{name}", operator, "changeModel", m.changeModel},
		{"DELETE", "/settings/models/{name}", operator, "removeModel", m.removeModel},
		{"PUT", "/settings/default-model", operator, "setDefaultModel", m.setDefaultModel},
		{"GET", "/features", user, "getFeatures", m.features},
		{"POST", "/suggestions", user, "suggest", m.without(m.suggest)},
		{"GET", "/suggestions/config", user, "getSuggestionsConfig", m.suggestionsConfig},
		{"POST", "/threads/{thread_id}/suggestions", user, "suggestInThread", m.onThread(m.suggestIn)},
		{"POST", "/input-polish", user, "polishInput", m.polish},
		{"GET", "/threads/{thread_id}/goal", user, "getGoal", m.onThread(m.goal)},
		{"PUT", "/threads/{thread_id}/goal", user, "putGoal", m.onThread(m.putGoal)},
		{"DELETE", "/threads/{thread_id}/goal", user, "deleteGoal", m.onThread(m.deleteGoal)},
		{"GET", "/threads/{thread_id}/token-usage", user, "getTokenUsage", m.onThread(m.threadTokens)},
		{"GET", "/threads/{thread_id}/messages", user, "listMessages", m.onThread(m.messages)},
		{"GET", "/threads/{thread_id}/messages/page", user, "getMessagesPage", m.onThread(m.messagesPage)},
		{"POST", "/threads/{thread_id}/runs/regenerate/prepare", user, "prepareRegenerate", m.onThread(m.prepareRegenerate)},
		{"POST", "/threads/{thread_id}/runs/edit-regenerate/prepare", user, "prepareEdit", m.onThread(m.prepareEdit)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/messages", user, "listRunMessages", m.onRun(m.runMessages)},
		{"GET", "/runs/{run_id}/messages", user, "listStatelessRunMessages", m.onRun(m.runMessages)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/events", user, "listRunEvents", m.onRun(m.runEvents)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/workspace-changes", user,
			"getWorkspaceChanges", m.onRun(m.workspaceChanges)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/feedback", user, "listFeedback", m.onRun(m.listFeedback)},
		{"POST", "/threads/{thread_id}/runs/{run_id}/feedback", user, "addFeedback", m.onRun(m.addFeedback)},
		{"PUT", "/threads/{thread_id}/runs/{run_id}/feedback", user, "putFeedback", m.onRun(m.addFeedback)},
		{"DELETE", "/threads/{thread_id}/runs/{run_id}/feedback", user, "clearFeedback", m.onRun(m.deleteFeedback)},
		{"GET", "/threads/{thread_id}/runs/{run_id}/feedback/stats", user, "getFeedbackStats", m.onRun(m.feedbackStats)},
		{"DELETE", "/threads/{thread_id}/runs/{run_id}/feedback/{feedback_id}", user,
			"deleteFeedback", m.onRun(m.deleteFeedback)},
		{"GET", "/runs/{run_id}/feedback", user, "listStatelessRunFeedback", m.onRun(m.listFeedback)},

		{"GET", "/console/stats", user, "getConsoleStats", m.consoleStats},
		{"GET", "/console/runs", user, "listConsoleRuns", m.consoleRuns},
		{"GET", "/console/usage", user, "getConsoleUsage", m.consoleUsage},

		{"GET", "/scheduled-tasks", user, "listTasks", m.listTasks},
		{"POST", "/scheduled-tasks", user, "createTask", m.createTask},
		{"GET", "/scheduled-tasks/{cron_id}", user, "getTask", m.task},
		{"PATCH", "/scheduled-tasks/{cron_id}", user, "patchTask", m.patchTask},
		{"DELETE", "/scheduled-tasks/{cron_id}", user, "deleteTask", m.deleteTask},
		{"POST", "/scheduled-tasks/{cron_id}/pause", user, "pauseTask", m.pauseTask},
		{"POST", "/scheduled-tasks/{cron_id}/resume", user, "resumeTask", m.resumeTask},
		{"POST", "/scheduled-tasks/{cron_id}/trigger", user, "triggerTask", m.triggerTask},
		{"GET", "/scheduled-tasks/{cron_id}/runs", user, "listTaskRuns", m.taskRuns},
		{"GET", "/threads/{thread_id}/scheduled-tasks", user, "listThreadTasks", m.onThreadID(m.threadTasks)},
		{"GET", "/agents", user, "listAgents", m.onAgents(m.listAgents)},
		{"GET", "/agents/check", user, "checkAgentName", m.onAgents(m.checkAgent)},
		{"POST", "/agents", user, "createAgent", m.onAgents(m.createAgent)},
		{"GET", "/agents/{agent_name}", user, "getAgent", m.onAgents(m.agent)},
		{"PUT", "/agents/{agent_name}", user, "changeAgent", m.onAgents(m.changeAgent)},
		{"DELETE", "/agents/{agent_name}", user, "deleteAgent", m.onAgents(m.deleteAgent)},
		{"GET", "/mcp/config", operator, "getMCPConfig", m.onMCP(m.mcpConfig)},
		{"PUT", "/mcp/config", operator, "putMCPConfig", m.onMCP(m.putMCPConfig)},
		{"PATCH", "/mcp/config", operator, "switchMCPServer", m.onMCP(m.switchMCPServer)},
		{"POST", "/mcp/cache/reset", operator, "resetMCP", m.onMCP(m.resetMCP)},
		{"GET", "/mcp/status", operator, "getMCPStatus", m.onMCP(m.mcpStatus)},
		{"POST", "/mcp/servers/{name}/reconnect", operator, "reconnectMCPServer", m.onMCPServer((*mcp.Pool).Reconnect)},
		{"POST", "/mcp/servers/{name}/login", operator, "loginMCPServer", m.onMCP(m.loginMCPServer)},
		{"POST", "/mcp/servers/{name}/logout", operator, "logoutMCPServer", m.onMCPServer((*mcp.Pool).Logout)},
		{"POST", "/mcp/servers/{name}/approve", operator, "approveMCPServer", m.onMCPServer((*mcp.Pool).Approve)},
		{"GET", "/skills", user, "listSkills", m.onSkills(m.listSkills)},
		{"PUT", "/skills", operator, "switchSkills", m.onSkills(m.switchSkills)},
		{"POST", "/skills/install", operator, "installSkill", m.onSkills(m.installSkill)},
		{"POST", "/skills/reload", operator, "reloadSkills", m.onSkills(m.reloadSkills)},
		{"GET", "/skills/custom", user, "listCustomSkills", m.onSkills(m.listCustomSkills)},
		{"GET", "/skills/custom/{name}", user, "getCustomSkill", m.onSkills(m.customSkill)},
		{"PUT", "/skills/custom/{name}", operator, "putCustomSkill", m.onSkills(m.putCustomSkill)},
		{"DELETE", "/skills/custom/{name}", operator, "deleteCustomSkill", m.onSkills(m.deleteCustomSkill)},
		{"GET", "/skills/custom/{name}/history", user, "listSkillChanges", m.onSkills(m.customSkillHistory)},
		{"POST", "/skills/custom/{name}/rollback", operator, "rollbackSkill", m.onSkills(m.rollbackCustomSkill)},
		{"GET", "/skills/{name}", user, "getSkill", m.onSkills(m.skill)},
		{"PUT", "/skills/{name}", operator, "switchSkill", m.onSkills(m.switchSkill)},
		{"GET", "/user-profile", user, "getUserProfile", m.onAgents(m.userProfile)},
		{"PUT", "/user-profile", user, "putUserProfile", m.onAgents(m.putUserProfile)},
		{"GET", "/threads/{thread_id}/export", user, "exportThread", m.onThread(m.exportThread)},
		{"GET", "/export", user, "exportAll", m.exportAll},
		{"GET", "/memory", user, "getMemory", m.onMemory(m.memory)},
		{"DELETE", "/memory", user, "clearMemory", m.onMemory(m.clearMemory)},
		{"POST", "/memory/reload", operator, "reloadMemory", m.onMemory(m.reloadMemory)},
		{"GET", "/memory/config", user, "getMemoryConfig", m.onMemory(m.memoryConfig)},
		{"GET", "/memory/status", user, "getMemoryStatus", m.onMemory(m.memoryStatus)},
		{"GET", "/memory/export", user, "exportMemory", m.onMemory(m.memory)},
		{"POST", "/memory/import", user, "importMemory", m.onMemory(m.importMemory)},
		{"POST", "/memory/facts", user, "addFact", m.onMemory(m.addFact)},
		{"PATCH", "/memory/facts/{fact_id}", user, "changeFact", m.onMemory(m.changeFact)},
		{"DELETE", "/memory/facts/{fact_id}", user, "deleteFact", m.onMemory(m.deleteFact)},
		{"GET", "/threads/{thread_id}/memory", user, "getThreadMemory", m.onThread(m.threadMemory)},
		{"PUT", "/threads/{thread_id}/memory", user, "putThreadMemory", m.onThread(m.putThreadMemory)},
		{"DELETE", "/threads/{thread_id}/memory", user, "forgetThread", m.onThread(m.forgetThread)},
		{"GET", "/audit", user, "getAudit", m.audit},
		{"GET", "/threads/{thread_id}/audit", user, "getThreadAudit", m.onThread(m.threadAudit)},
		{"GET", "/threads/{thread_id}/network", user, "getThreadNetwork", m.onThread(m.threadNetwork)},
		{"POST", "/threads/{thread_id}/network", user, "answerThreadNetwork", m.onThread(m.decideNetwork)},
		{"GET", "/threads/{thread_id}/mcp/tools", user, "getThreadTools", m.onThread(m.threadTools)},
		{"PUT", "/threads/{thread_id}/mcp/tools", user, "putThreadTools", m.onThread(m.putThreadTools)},
		{"GET", "/threads/{thread_id}/mcp/questions", user, "listMCPQuestions", m.onThread(m.mcpQuestions)},
		{"POST", "/threads/{thread_id}/mcp/questions/{question_id}", user, "answerMCPQuestion", m.onThread(m.answerMCP)},
		{"GET", "/network", operator, "listOpenHosts", m.openHosts},
		{"DELETE", "/network", operator, "closeHost", m.closeHost},
	}
}

// suggestIn is POST /threads/:tid/suggestions.
func (m mount) suggestIn(c echo.Context, t store.Thread) error { return m.suggest(c, t.ID) }
