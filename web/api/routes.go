package api

import (
	"github.com/labstack/echo/v4"

	"fawn/web/principal"
	"fawn/web/route"
)

// Routes adds every route to g. native chooses the manners of DeerFlow's gateway, for the group at /api.
func (a *API) Routes(g *echo.Group, native bool) { route.Add(g, mount{a, native}.routes()) }

// routes returns the routes of every mount.
func (m mount) routes() []route.Route {
	return []route.Route{
		route.On("GET", "/ok", anyone, "checkLiveness", m.ok),
		route.On("GET", "/info", anyone, "getInfo", m.info),

		route.On("POST", "/assistants/search", reader, "searchAssistants", m.searchAssistants),
		route.On("POST", "/assistants/count", reader, "countAssistants", m.countAssistants),
		route.On("POST", "/assistants", user, "createAssistant", m.createAssistant),
		route.On("GET", "/assistants/{assistant_id}", user, "getAssistant", m.assistant),
		route.On("PATCH", "/assistants/{assistant_id}", user, "patchAssistant", m.patchAssistant),
		route.On("DELETE", "/assistants/{assistant_id}", user, "deleteAssistant", m.deleteAssistant),
		route.On("POST", "/assistants/{assistant_id}/versions", reader, "searchAssistantVersions", m.assistantVersions),
		route.On("POST", "/assistants/{assistant_id}/latest", user, "useAssistantVersion", m.useVersion),
		route.On("GET", "/assistants/{assistant_id}/graph", user, "getAssistantGraph", m.assistantGraph),
		route.On("GET", "/assistants/{assistant_id}/schemas", user, "getAssistantSchemas", m.assistantSchemas),
		route.On("GET", "/assistants/{assistant_id}/subgraphs", user, "listSubgraphs", m.assistantSubgraphs),
		route.On("GET", "/assistants/{assistant_id}/subgraphs/{namespace}", user, "getSubgraph", m.assistantSubgraphs),

		route.On("POST", "/a2a/{assistant_id}", user, "callAgent", m.a2a),
		route.On("GET", "/a2a/{assistant_id}", user, "getAssistantCard", m.assistantCard),
		route.On("GET", "/a2a/{assistant_id}/.well-known/agent-card.json", user, "getAssistantAgentCard", m.assistantCard),
		route.On("GET", "/a2a/{assistant_id}/.well-known/agent.json", user, "getAssistantAgentCardOld", m.assistantCard),
		route.On("GET", "/.well-known/agent-card.json", user, "getAgentCard", m.agentCard),
		route.On("GET", "/.well-known/agent.json", user, "getAgentCardOld", m.agentCard),

		route.On("PUT", "/store/items", user, "putItem", m.putItem),
		route.On("GET", "/store/items", user, "getItem", m.item),
		route.On("DELETE", "/store/items", user, "deleteItem", m.deleteItem),
		route.On("POST", "/store/items/search", reader, "searchItems", m.searchItems),
		route.On("POST", "/store/namespaces", reader, "listNamespaces", m.namespaces),

		route.On("POST", "/threads", user, "createThread", m.createThread),
		route.On("GET", "/threads", user, "listThreads", m.listThreads),
		route.On("POST", "/threads/search", reader, "searchThreads", m.searchThreads),
		route.On("POST", "/threads/count", reader, "countThreads", m.countThreads),
		route.On("POST", "/threads/prune", user, "pruneThreads", m.pruneThreads),
		route.On("GET", "/threads/{thread_id}/stream", user, "streamThread", m.OnThread(m.threadStream)),
		route.On("GET", "/threads/{thread_id}/storage", user, "getThreadStorage", m.OnThread(m.threadStorage)),
		route.On("GET", "/threads/{thread_id}", user, "getThread", m.OnThread(m.thread)),
		route.On("PATCH", "/threads/{thread_id}", user, "patchThread", m.OnThread(m.patchThread)),
		route.On("DELETE", "/threads/{thread_id}", user, "deleteThread", m.OnThreadID(m.deleteThread)),
		route.On("POST", "/threads/{thread_id}/copy", user, "copyThread", m.OnThread(m.copyThread)),
		route.On("POST", "/threads/{thread_id}/compact", user, "compactThread", m.OnThread(m.compact)),

		route.On("GET", "/threads/{thread_id}/state", user, "getState", m.OnThread(m.state)),
		route.On("POST", "/threads/{thread_id}/state", user, "updateState", m.OnThread(m.updateState)),
		route.On("PATCH", "/threads/{thread_id}/state", user, "patchState", m.OnThread(m.patchState)),
		route.On("POST", "/threads/{thread_id}/state/checkpoint", reader, "getStateAtCheckpoint", m.OnThread(m.stateAtCheckpoint)),
		route.On("GET", "/threads/{thread_id}/state/{checkpoint_id}", user, "getStateAt", m.OnThread(m.state)),
		route.On("GET", "/threads/{thread_id}/history", user, "listHistory", m.OnThread(m.listHistory)),
		route.On("POST", "/threads/{thread_id}/history", reader, "searchHistory", m.OnThread(m.history)),

		route.On("POST", "/threads/{thread_id}/runs", user, "createRun", m.OnStart(m.createRun)),
		route.On("GET", "/threads/{thread_id}/runs", user, "listRuns", m.OnThread(m.listRuns)),
		route.On("POST", "/threads/{thread_id}/runs/stream", user, "streamRun", m.OnStart(m.streamRun)),
		route.On("POST", "/threads/{thread_id}/runs/wait", user, "waitRun", m.OnStart(m.waitRun)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}", user, "getRun", m.OnRun(m.run)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/trace", user, "getTrace", m.OnRun(m.trace)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/trace/{span_id}", user, "getTraceCall", m.OnRun(m.traceCall)),
		route.On("DELETE", "/threads/{thread_id}/runs/{run_id}", user, "deleteRun", m.OnRun(m.deleteRun)),
		route.On("POST", "/threads/{thread_id}/runs/{run_id}/cancel", user, "cancelRun", m.OnRun(m.cancelRun)),
		route.On("POST", "/threads/{thread_id}/tasks/{task_id}/cancel", user, "cancelTask", m.OnThread(m.cancelTask)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/join", user, "joinRun", m.OnRun(m.joinRun)),
		route.On("GET", "/threads/{thread_id}/runs/{run_id}/stream", user, "followRun", m.OnRun(m.joinStream)),
		route.On("POST", "/threads/{thread_id}/runs/{run_id}/stream", user, "cancelAndFollowRun", m.OnRun(m.joinStream)),

		route.On("POST", "/threads/{thread_id}/commands", user, "sendCommand", m.OnThreadID(m.commands)),
		route.On("POST", "/threads/{thread_id}/stream/events", reader, "followThread", m.OnThreadID(m.threadEvents)),
		route.On("GET", "/threads/{thread_id}/stream/events", user, "openThreadSocket", m.OnThreadID(m.threadSocket)),

		route.On("POST", "/runs", user, "createStatelessRun", m.Without(m.createRun)),
		route.On("POST", "/runs/stream", user, "streamStatelessRun", m.Without(m.streamRun)),
		route.On("POST", "/runs/wait", user, "waitStatelessRun", m.Without(m.waitRun)),
		route.On("POST", "/runs/batch", user, "createRuns", m.createBatch),
		route.On("POST", "/runs/cancel", user, "cancelRuns", m.cancelMany),
		route.On("POST", "/runs/crons", user, "createCron", m.Without(m.createCron)),
		route.On("POST", "/threads/{thread_id}/runs/crons", user, "createThreadCron", m.OnThreadID(m.createCron)),
		route.On("POST", "/runs/crons/search", reader, "searchCrons", m.searchCrons),
		route.On("POST", "/runs/crons/count", reader, "countCrons", m.countCrons),
		route.On("GET", "/runs/crons/{cron_id}", user, "getCron", m.cron),
		route.On("PATCH", "/runs/crons/{cron_id}", user, "patchCron", m.patchCron),
		route.On("DELETE", "/runs/crons/{cron_id}", user, "deleteCron", m.deleteCron),
		route.On("GET", "/runs/{run_id}/join", user, "joinStatelessRun", m.OnRun(m.joinRun)),
		route.On("GET", "/runs/{run_id}/stream", user, "followStatelessRun", m.OnRun(m.joinStream)),

		route.On("POST", "/threads/{thread_id}/uploads", user, "uploadFiles", m.OnThreadID(m.upload)),
		route.On("GET", "/threads/{thread_id}/uploads/list", user, "listUploads", m.OnThreadID(m.listUploads)),
		route.On("GET", "/threads/{thread_id}/uploads/limits", user, "getUploadLimits", m.OnThreadID(m.uploadLimits)),
		route.On("DELETE", "/threads/{thread_id}/uploads/{name}", user, "deleteUpload", m.OnThreadID(m.deleteUpload)),
		route.On("PUT", "/threads/{thread_id}/uploads/{name}/encoding", user, "setUploadEncoding", m.OnThreadID(m.readUploadAs)),
		route.On("GET", "/threads/{thread_id}/artifacts/{path}", user, "getArtifact", m.OnThreadID(m.artifact)),
		route.On("PUT", "/threads/{thread_id}/artifacts/{path}", user, "editArtifact", m.OnThread(m.editArtifact)),
		route.On("HEAD", "/threads/{thread_id}/artifacts/{path}", user, "headArtifact", m.OnThreadID(m.artifact)),
	}
}

// Permissions of routes.
const (
	anyone = principal.Anyone
	user   = principal.User
	reader = principal.Reader
)
