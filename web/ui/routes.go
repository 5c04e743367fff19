package ui

import (
	"github.com/labstack/echo/v4"

	"fawn/web/ui/page"
)

// Routes adds the pages and their actions to g, which is mounted at the root.
func (u *UI) Routes(g *echo.Group) {
	for _, table := range [][]page.Route{u.routes(), u.Handlers.Routes(), u.account.Routes(),
		u.agents.Routes(), u.chats.Routes(), u.export.Routes(), u.files.Routes(), u.insight.Routes(), u.projects.Routes(), u.prompts.Routes(), u.knowledge.Routes(),
		u.settings.Routes(), u.share.Routes(), u.tasks.Routes()} {
		page.Add(g, table)
	}
}

func (u *UI) routes() []page.Route {
	return []page.Route{
		page.Get("/", page.User, u.root),
		page.Get("/workspace", page.User, u.root),
		page.Get("/workspace/chats/new", page.User, u.welcome),
		page.Get("/workspace/chats/:id", page.User, u.OnThread(u.thread)),

		page.Get("/ui/diagram", page.Anyone, u.diagram),
		page.Get("/ui/commands", page.User, u.commands),
		page.Get("/ui/notifications", page.User, u.notifyOffer),

		page.Post("/ui/threads", page.User, u.create),
		page.Post("/ui/sample", page.User, u.sample),
		page.Post("/ui/threads/:id/messages", page.User, u.OnThread(u.send)),
		page.Get("/ui/threads/:id/messages/:message/raw", page.User, u.OnThread(u.source)),
		page.Get("/ui/threads/:id/messages/:message/speech", page.User, u.OnThread(u.speech)),
		page.Post("/ui/transcribe", page.User, u.transcribe),
		page.Get("/ui/threads/:id/messages/:message", page.User, u.own(false)),
		page.Get("/ui/threads/:id/messages/:message/edit", page.User, u.own(true)),
		page.Post("/ui/threads/:id/regenerate", page.User, u.OnThread(u.regenerate)),
		page.Post("/ui/threads/:id/edit", page.User, u.OnThread(u.edit)),
		page.Post("/ui/threads/:id/version", page.User, u.OnThread(u.version)),
		page.Post("/ui/threads/:id/choice", page.User, u.OnThreadID(u.choose)),
		page.Post("/ui/threads/:id/branch", page.User, u.OnThread(u.branch)),
		page.Post("/ui/threads/:id/compare", page.User, u.OnThreadID(u.compare)),
		page.Get("/ui/threads/:id/column", page.User, u.OnThread(u.column)),
		page.Get("/workspace/compare/:id", page.User, u.comparison),
		page.Post("/ui/compare/:id", page.User, u.chooseSide),
		page.Post("/ui/threads/:id/queue/:run/remove", page.User, u.unqueue(false)),
		page.Post("/ui/threads/:id/queue/:run/edit", page.User, u.unqueue(true)),
		page.Post("/ui/threads/:id/queue/:run/send", page.User, u.OnThread(u.sendNow)),
		page.Post("/ui/threads/:id/plan", page.User, u.OnThread(u.editPlan)),
		page.Post("/ui/threads/:id/stop", page.User, u.OnThread(u.stop)),
		page.Get("/ui/threads/:id/steps/:step/trail", page.User, u.OnThread(u.helperTrail)),
		page.Post("/ui/threads/:id/steps/:step/stop", page.User, u.OnThread(u.stopHelper)),
		page.Get("/ui/threads/:id/apps/:step", page.User, u.OnThread(u.onApp(u.app))),
		page.Get("/ui/threads/:id/apps/:step/data", page.User, u.OnThread(u.onApp(u.appData))),
		page.Post("/ui/threads/:id/apps/:step/call", page.User, u.OnThread(u.onApp(u.appCall))),
		page.Post("/ui/threads/:id/followups", page.User, u.OnThread(u.followUp)),
		page.Post("/ui/threads/:id/feedback", page.User, u.OnThread(u.rate)),
		page.Post("/ui/threads/:id/network", page.User, u.OnThread(u.answerHost)),
		page.Post("/ui/threads/:id/mcp", page.User, u.OnThread(u.answerForm)),
		page.Get("/ui/threads/:id/menu", page.User, u.OnThread(u.menu)),
		page.Post("/ui/threads/:id/rename", page.User, u.OnThread(u.rename)),
		page.Post("/ui/threads/:id/pin", page.User, u.OnThread(u.pin)),
		page.Post("/ui/threads/:id/here", page.User, u.OnThreadID(u.here)),
		page.Post("/ui/threads/:id/keep", page.User, u.OnThread(u.keep)),
		page.Post("/ui/threads/:id/archive", page.User, u.OnThread(u.archive)),
		page.Get("/ui/threads/:id/tags", page.User, u.OnThread(u.tags)),
		page.Post("/ui/threads/:id/tags", page.User, u.OnThread(u.changeTags)),
		page.Get("/ui/threads/:id/usage", page.User, u.OnThread(u.usage)),
		page.Post("/ui/threads/:id/compact", page.User, u.OnThread(u.compact)),
		page.Post("/ui/threads/:id/sandbox", page.User, u.OnThread(u.restart)),
		page.Get("/ui/threads/:id/browser", page.User, u.OnThread(u.browserPanel)),
		page.Get("/ui/threads/:id/browser/live", page.User, u.OnThread(u.watchBrowser)),
		page.Post("/ui/threads/:id/browser/take", page.User, u.OnThread(u.handBrowser(true))),
		page.Post("/ui/threads/:id/browser/give", page.User, u.OnThread(u.handBrowser(false))),
		page.Post("/ui/threads/:id/browser/do", page.User, u.OnThread(u.gesture)),
		page.Get("/ui/threads/:id/tools", page.User, u.OnThreadID(u.threadTools)),
		page.Post("/ui/threads/:id/tools", page.User, u.OnThreadID(u.switchTools)),
		page.Get("/ui/threads/:id/prompt", page.User, u.OnThreadID(u.prompt)),
		page.Post("/ui/threads/:id/prompt", page.User, u.OnThreadID(u.usePrompt)),
		page.Get("/ui/threads/:id/saved-prompt", page.User, u.OnThreadID(u.savedPrompt)),
		page.Post("/ui/threads/:id/saved-prompt", page.User, u.OnThreadID(u.useSavedPrompt)),
		page.Get("/ui/threads/:id/resources", page.User, u.OnThreadID(u.resources)),
		page.Post("/ui/threads/:id/resources", page.User, u.OnThreadID(u.attachResource)),
		page.Get("/ui/threads/:id/memory", page.User, u.OnThread(u.threadMemory)),
		page.Post("/ui/threads/:id/memory", page.User, u.OnThread(u.changeThreadMemory)),
		page.Get("/ui/threads/:id/delete", page.User, u.OnThread(u.confirm)),
		page.Post("/ui/threads/:id/delete", page.User, u.OnThread(u.remove)),
		page.Get("/ui/threads/:id/status", page.User, u.OnThread(u.status)),
		page.Post("/ui/threads/:id/seen", page.User, u.OnThread(u.seen)),
		page.Get("/ui/threads/:id/steps/:step", page.User, u.OnThread(u.step)),
	}
}
