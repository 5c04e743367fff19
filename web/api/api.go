package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/sandbox"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/httpx"
	"fawn/web/network"
)

// Deps are the parts the API works on. Readers, Snapshot, Uploads and Draining may be nil.
type Deps struct {
	DB       *store.DB
	Runs     *runs.Manager
	Network  *network.Book // nil makes one that announces nothing
	Dirs     sandbox.Dirs
	Uploads  func() uploads.Config
	Snapshot func() *config.Snapshot
	Settings *config.Store                     // what the settings routes edit; nil refuses them
	Discover func(context.Context) []llm.Found // model servers on this machine; nil asks their usual ports
	Log      *slog.Logger
	Version  string
	Post     Post            // calls webhooks; nil refuses them
	Draining <-chan struct{} // closed when event streams should end
	Readers  *httpx.Limiter  // shared by everybody who holds a stream open

	// Compact shortens a conversation for the model; nil cannot.
	Compact func(ctx context.Context, s *agent.State, w lead.Wish) (agent.State, error)

	// Aside answers suggestions and polished drafts; nil cannot.
	Aside Aside

	// Schedule starts crons; nil keeps them and starts none.
	Schedule *schedule.Scheduler
}

// API serves the routes of all mounts.
type API struct {
	Deps
	started time.Time
	beat    time.Duration   // of streams and of answers that wait
	waits   []time.Duration // between attempts to call a webhook
	hooks   sync.Mutex      // guards stored webhooks against being told and kept at once
	work    sync.WaitGroup

	stateless readers       // of runs whose threads may go with them
	probes    chan struct{} // one for each model that is being called to see whether it answers
}

// New makes the API.
func New(d Deps) *API {
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Readers == nil {
		d.Readers = &httpx.Limiter{}
	}
	if d.Network == nil {
		d.Network = network.New(d.DB, func(string, json.RawMessage) {}, d.Log)
	}
	if d.Discover == nil {
		d.Discover = llm.Discover
	}
	if d.Uploads == nil {
		d.Uploads = uploads.Default
	}
	return &API{Deps: d, started: time.Now().UTC(), beat: httpx.Heartbeat, waits: webhookWaits(), probes: make(chan struct{}, maxProbes)}
}

// mount is the API under one prefix. native chooses the manners of DeerFlow's gateway where
// they differ from those of LangGraph.
type mount struct {
	*API
	native bool
}

// Routes adds every route to g. native is for the group at /api.
func (a *API) Routes(g *echo.Group, native bool) {
	m := mount{a, native}
	g.GET("/ok", m.ok)
	g.GET("/info", m.info)

	g.POST("/assistants/search", m.searchAssistants)
	g.POST("/assistants/count", m.countAssistants)
	g.POST("/assistants", m.createAssistant)
	g.GET("/assistants/:aid", m.assistant)
	g.PATCH("/assistants/:aid", m.patchAssistant)
	g.DELETE("/assistants/:aid", m.deleteAssistant)
	g.POST("/assistants/:aid/versions", m.assistantVersions)
	g.POST("/assistants/:aid/latest", m.useVersion)
	g.GET("/assistants/:aid/graph", m.assistantGraph)
	g.GET("/assistants/:aid/schemas", m.assistantSchemas)
	g.GET("/assistants/:aid/subgraphs", m.assistantSubgraphs)
	g.GET("/assistants/:aid/subgraphs/:ns", m.assistantSubgraphs)

	g.POST("/a2a/:aid", m.a2a)
	g.GET("/a2a/:aid", m.assistantCard)
	for _, end := range agentCards {
		g.GET(end, m.agentCard)
		g.GET("/a2a/:aid"+end, m.assistantCard)
	}

	g.PUT("/store/items", m.putItem)
	g.GET("/store/items", m.item)
	g.DELETE("/store/items", m.deleteItem)
	g.POST("/store/items/search", m.searchItems)
	g.POST("/store/namespaces", m.namespaces)

	g.POST("/threads", m.createThread)
	g.GET("/threads", m.listThreads)
	g.POST("/threads/search", m.searchThreads)
	g.POST("/threads/count", m.countThreads)
	g.POST("/threads/prune", m.pruneThreads)
	g.GET("/threads/:tid/stream", m.onThread(m.threadStream))
	g.GET("/threads/:tid/storage", m.onThread(m.threadStorage))
	g.GET("/threads/:tid", m.onThread(m.thread))
	g.PATCH("/threads/:tid", m.onThread(m.patchThread))
	g.DELETE("/threads/:tid", m.onThreadID(m.deleteThread))
	g.POST("/threads/:tid/copy", m.onThread(m.copyThread))
	g.POST("/threads/:tid/compact", m.onThread(m.compact))

	g.GET("/threads/:tid/state", m.onThread(m.state))
	g.POST("/threads/:tid/state", m.onThread(m.updateState))
	g.PATCH("/threads/:tid/state", m.onThread(m.patchState))
	g.POST("/threads/:tid/state/checkpoint", m.onThread(m.stateAtCheckpoint))
	g.GET("/threads/:tid/state/:cid", m.onThread(m.state))
	g.GET("/threads/:tid/history", m.onThread(m.listHistory))
	g.POST("/threads/:tid/history", m.onThread(m.history))

	g.POST("/threads/:tid/runs", m.onThreadID(m.createRun))
	g.GET("/threads/:tid/runs", m.onThread(m.listRuns))
	g.POST("/threads/:tid/runs/stream", m.onThreadID(m.streamRun))
	g.POST("/threads/:tid/runs/wait", m.onThreadID(m.waitRun))
	g.GET("/threads/:tid/runs/:rid", m.onRun(m.run))
	g.DELETE("/threads/:tid/runs/:rid", m.onRun(m.deleteRun))
	g.POST("/threads/:tid/runs/:rid/cancel", m.onRun(m.cancelRun))
	g.GET("/threads/:tid/runs/:rid/join", m.onRun(m.joinRun))
	g.GET("/threads/:tid/runs/:rid/stream", m.onRun(m.joinStream))
	g.POST("/threads/:tid/runs/:rid/stream", m.onRun(m.joinStream))

	g.POST("/threads/:tid/commands", m.onThreadID(m.commands))
	g.POST("/threads/:tid/stream/events", m.onThreadID(m.threadEvents))

	g.POST("/runs", m.without(m.createRun))
	g.POST("/runs/stream", m.without(m.streamRun))
	g.POST("/runs/wait", m.without(m.waitRun))
	g.POST("/runs/batch", m.createBatch)
	g.POST("/runs/cancel", m.cancelMany)
	g.POST("/runs/crons", m.without(m.createCron))
	g.POST("/threads/:tid/runs/crons", m.onThreadID(m.createCron))
	g.POST("/runs/crons/search", m.searchCrons)
	g.POST("/runs/crons/count", m.countCrons)
	g.GET("/runs/crons/:cid", m.cron)
	g.PATCH("/runs/crons/:cid", m.patchCron)
	g.DELETE("/runs/crons/:cid", m.deleteCron)
	g.GET("/runs/:rid/join", m.onRun(m.joinRun))
	g.GET("/runs/:rid/stream", m.onRun(m.joinStream))

	g.POST("/threads/:tid/uploads", m.onThreadID(m.upload))
	g.GET("/threads/:tid/uploads/list", m.onThreadID(m.listUploads))
	g.GET("/threads/:tid/uploads/limits", m.onThreadID(m.uploadLimits))
	g.DELETE("/threads/:tid/uploads/:name", m.onThreadID(m.deleteUpload))
	g.GET("/threads/:tid/artifacts/*", m.onThreadID(m.artifact))
	g.HEAD("/threads/:tid/artifacts/*", m.onThreadID(m.artifact))

	if native {
		g.POST("/threads/:tid/branches", m.onThread(m.branchThread))
		g.GET("/models", m.models)
		g.GET("/models/:name", m.model)
		g.GET("/models/discover", m.discoverModels)
		g.POST("/models/probe", m.probeModel)
		g.GET("/settings/presets", m.presets)
		g.GET("/settings/models", m.listSettings)
		g.POST("/settings/models", m.addModel)
		g.PATCH("/settings/models/:name", m.changeModel)
		g.DELETE("/settings/models/:name", m.removeModel)
		g.PUT("/settings/default-model", m.setDefaultModel)
		g.GET("/features", m.features)
		g.POST("/suggestions", m.without(m.suggest))
		g.GET("/suggestions/config", m.suggestionsConfig)
		g.POST("/threads/:tid/suggestions", m.onThread(func(c echo.Context, t store.Thread) error { return m.suggest(c, t.ID) }))
		g.POST("/input-polish", m.polish)
		g.GET("/threads/:tid/goal", m.onThread(m.goal))
		g.PUT("/threads/:tid/goal", m.onThread(m.putGoal))
		g.DELETE("/threads/:tid/goal", m.onThread(m.deleteGoal))
		g.GET("/threads/:tid/token-usage", m.onThread(m.threadTokens))
		g.GET("/threads/:tid/messages", m.onThread(m.messages))
		g.GET("/threads/:tid/messages/page", m.onThread(m.messagesPage))
		g.POST("/threads/:tid/runs/regenerate/prepare", m.onThread(m.prepareRegenerate))
		g.POST("/threads/:tid/runs/edit-regenerate/prepare", m.onThread(m.prepareEdit))
		g.GET("/threads/:tid/runs/:rid/messages", m.onRun(m.runMessages))
		g.GET("/runs/:rid/messages", m.onRun(m.runMessages))
		g.GET("/threads/:tid/runs/:rid/events", m.onRun(m.runEvents))
		g.GET("/threads/:tid/runs/:rid/feedback", m.onRun(m.listFeedback))
		g.POST("/threads/:tid/runs/:rid/feedback", m.onRun(m.addFeedback))
		g.PUT("/threads/:tid/runs/:rid/feedback", m.onRun(m.addFeedback))
		g.DELETE("/threads/:tid/runs/:rid/feedback", m.onRun(m.deleteFeedback))
		g.GET("/threads/:tid/runs/:rid/feedback/stats", m.onRun(m.feedbackStats))
		g.DELETE("/threads/:tid/runs/:rid/feedback/:fid", m.onRun(m.deleteFeedback))
		g.GET("/runs/:rid/feedback", m.onRun(m.listFeedback))

		g.GET("/console/stats", m.consoleStats)
		g.GET("/console/runs", m.consoleRuns)
		g.GET("/console/usage", m.consoleUsage)

		g.GET("/scheduled-tasks", m.listTasks)
		g.POST("/scheduled-tasks", m.createTask)
		g.GET("/scheduled-tasks/:cid", m.task)
		g.PATCH("/scheduled-tasks/:cid", m.patchTask)
		g.DELETE("/scheduled-tasks/:cid", m.deleteTask)
		g.POST("/scheduled-tasks/:cid/pause", m.pauseTask)
		g.POST("/scheduled-tasks/:cid/resume", m.resumeTask)
		g.POST("/scheduled-tasks/:cid/trigger", m.triggerTask)
		g.GET("/scheduled-tasks/:cid/runs", m.taskRuns)
		g.GET("/threads/:tid/scheduled-tasks", m.onThreadID(m.threadTasks))
		g.GET("/audit", m.audit)
		g.GET("/threads/:tid/audit", m.onThread(m.threadAudit))
		g.GET("/threads/:tid/network", m.onThread(m.threadNetwork))
		g.POST("/threads/:tid/network", m.onThread(m.decideNetwork))
		g.GET("/network", m.openHosts)
		g.DELETE("/network", m.closeHost)
	}
}

func (m mount) ok(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK, map[string]bool{"ok": true})
}

func (m mount) info(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK, map[string]any{"version": m.Version,
		"flags": map[string]bool{"assistants": true, "crons": true, "langsmith": false}})
}

// draining is ctx which also ends when the server stops serving streams.
func (a *API) draining(ctx context.Context) (context.Context, func()) {
	return httpx.Until(ctx, a.Draining, runs.ErrClosed)
}
