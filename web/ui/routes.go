package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
	"fawn/web/principal"
)

// Who may ask for a page or an action.
const (
	anyone   = principal.Anyone
	user     = principal.User
	operator = principal.Operator
	person   = principal.Person
)

// route is a line of the table of routes.
type route struct {
	method, path string
	who          principal.Policy
	do           echo.HandlerFunc
}

// Routes adds the pages and their actions to g, which is mounted at the root.
func (u *UI) Routes(g *echo.Group) {
	for _, r := range u.routes() {
		g.Add(r.method, r.path, principal.Allow(r.who, r.do))
	}
}

func (u *UI) routes() []route {
	table := []route{
		{"GET", "/", user, u.root},
		{"GET", "/workspace", user, u.root},
		{"GET", "/workspace/chats", user, u.chats},
		{"GET", "/workspace/chats/new", user, u.welcome},
		{"GET", "/workspace/chats/:id", user, u.onThread(u.thread)},
		{"GET", "/workspace/chats/:id/files", user, u.onThread(u.filePage)},
		{"GET", "/workspace/chats/:id/files/*", user, u.onThread(u.filePage)},
		{"GET", "/workspace/chats/:id/runs/:run", user, u.onThread(u.inspectPage)},
		{"GET", "/workspace/usage", user, u.usageHome},
		{"GET", "/workspace/chats/:id/changes/:run", user, u.onThread(u.changesPage)},
		{"GET", "/share/:token", anyone, u.shared},
		{"GET", "/share/:token/files/*", anyone, u.sharedFile},
		{"GET", "/share/:token/view/*", anyone, u.sharedView},
		{"GET", "/workspace/agents", user, u.agents},
		{"GET", "/workspace/agents/new", user, u.newAgent},
		{"GET", "/workspace/agents/:name", user, u.agent},
		{"GET", "/workspace/agents/:name/chats/new", user, u.newAgentChat},
		{"GET", "/workspace/agents/:name/chats/:id", user, u.onThread(u.agentChat)},
		{"GET", "/workspace/agents/:name/*", user, u.missing(false)},
		{"POST", "/ui/agents", user, u.addAgent},
		{"POST", "/ui/agents/talk", user, u.talkAgent},
		{"POST", "/ui/agents/import", user, u.importAgent},
		{"POST", "/ui/agents/by-name/:name", user, u.saveAgent},
		{"POST", "/ui/agents/by-name/:name/files", user, u.saveAgentFiles},
		{"POST", "/ui/agents/by-name/:name/delete", user, u.deleteAgent},
		{"GET", "/ui/agents/by-name/:name/export", user, u.exportAgent},
		{"GET", "/workspace/skills", user, u.skills},
		{"GET", "/workspace/skills/:name", user, u.skill},
		{"POST", "/ui/mcp/add", operator, u.withMCP(u.addServers)},
		{"POST", "/ui/mcp/by-name/:name/switch", operator, u.onServer(u.switchServer)},
		{"POST", "/ui/mcp/by-name/:name/reconnect", operator, u.onServer(u.reconnectServer)},
		{"POST", "/ui/mcp/by-name/:name/approve", operator, u.onServer(u.approveServer)},
		{"POST", "/ui/mcp/by-name/:name/remove", operator, u.onServer(u.removeServer)},
		{"POST", "/ui/mcp/by-name/:name/login", operator, u.withMCP(u.beginLogin)},
		{"POST", "/ui/mcp/by-name/:name/logout", operator, u.onServer(u.logout)},
		{"GET", httpx.MCPCallback, operator, u.withMCP(u.endLogin)},
		{"POST", "/ui/skills/install", operator, u.withSkills(u.uploadSkill)},
		{"POST", "/ui/skills/fetch", operator, u.withSkills(u.fetchSkill)},
		{"POST", "/ui/skills/waiting/:sum", operator, u.withSkills(u.installWaiting)},
		{"POST", "/ui/skills/by-name/:name/switch", operator, u.withSkills(u.switchSkill)},
		{"POST", "/ui/skills/by-name/:name/text", operator, u.withSkills(u.saveSkill)},
		{"POST", "/ui/skills/by-name/:name/rollback", operator, u.withSkills(u.rollbackSkill)},
		{"POST", "/ui/skills/by-name/:name/delete", operator, u.withSkills(u.deleteSkill)},
		{"GET", "/workspace/scheduled-tasks", user, u.tasks},
		{"POST", "/ui/tasks", user, u.addTask},
		{"POST", "/ui/tasks/:id/:action", user, u.changeTask},
		{"GET", "/workspace/settings", user, u.settings},
		{"POST", "/ui/personal", user, u.savePersonal},
		{"POST", "/ui/memory", user, u.changeMemory},
		{"POST", "/ui/memory/import", user, u.importMemory},
		{"GET", "/workspace/settings/:section", user, u.settings},

		{"GET", "/login", anyone, u.withAccounts(u.loginPage)},
		{"POST", "/login", anyone, u.withAccounts(u.login)},
		{"POST", "/logout", anyone, u.withAccounts(u.signOut)},
		{"GET", "/ui/login/code", anyone, u.withAccounts(u.codePage)},
		{"POST", "/ui/login/code", anyone, u.withAccounts(u.code)},
		{"POST", "/ui/login/passkey", anyone, u.withAccounts(u.keySignIn)},
		{"POST", "/ui/login/passkey/options", anyone, u.withAccounts(u.keyOptions)},
		{"GET", "/setup", anyone, u.openLink(false)},
		{"POST", "/setup", anyone, u.useLink(false)},
		{"GET", "/reset", anyone, u.openLink(true)},
		{"POST", "/reset", anyone, u.useLink(true)},
		{"GET", "/api/v1/auth/oauth/:provider", anyone, u.withAccounts(u.oauth)},
		{"GET", "/api/v1/auth/callback/:provider", anyone, u.withAccounts(u.oauthCallback)},
		{"POST", "/ui/account", person, u.withAccounts(u.changeAccount)},
		{"POST", "/ui/account/passkey", person, u.withAccounts(u.newKey)},
		{"POST", "/ui/account/passkey/options", person, u.withAccounts(u.newKeyOptions)},
		{"POST", "/ui/account/sessions", person, u.withAccounts(u.changeSessions)},
		{"POST", "/ui/account/tokens", person, u.withAccounts(u.changeTokens)},
		{"POST", "/ui/users", operator, u.withAccounts(u.invite)},
		{"POST", "/ui/users/:id/:action", operator, u.withAccounts(u.changeUser)},

		{"GET", "/ui/diagram", anyone, u.diagram},
		{"GET", "/ui/palette", user, u.palette},
		{"GET", "/ui/commands", user, u.commands},
		{"POST", "/ui/prefs", user, u.savePrefs},
		{"GET", "/ui/notifications", user, u.notifyOffer},
		{"POST", "/ui/models", operator, u.addModel},
		{"POST", "/ui/models/change", operator, u.changeModel},
		{"POST", "/ui/models/found", operator, u.useFound},
		{"POST", "/ui/models/probe", operator, u.probeModel},
		{"POST", "/ui/models/remove", operator, u.removeModel},
		{"POST", "/ui/models/default", operator, u.makeDefault},

		{"GET", "/ui/threads", user, u.threadList},
		{"POST", "/ui/threads", user, u.create},
		{"POST", "/ui/sample", user, u.sample},
		{"POST", "/ui/threads/delete", user, u.removeMany},
		{"POST", "/ui/threads/restore", user, u.undo},
		{"POST", "/ui/threads/:id/messages", user, u.onThread(u.send)},
		{"GET", "/ui/threads/:id/messages/:message/raw", user, u.onThread(u.source)},
		{"GET", "/ui/threads/:id/turns", user, u.onThread(u.earlier)},
		{"GET", "/ui/threads/:id/messages/:message", user, u.own(false)},
		{"GET", "/ui/threads/:id/messages/:message/edit", user, u.own(true)},
		{"POST", "/ui/threads/:id/regenerate", user, u.onThread(u.regenerate)},
		{"POST", "/ui/threads/:id/edit", user, u.onThread(u.edit)},
		{"POST", "/ui/threads/:id/version", user, u.onThread(u.version)},
		{"POST", "/ui/threads/:id/choice", user, u.onThreadID(u.choose)},
		{"POST", "/ui/threads/:id/branch", user, u.onThread(u.branch)},
		{"GET", "/ui/threads/:id/export.md", user, u.onThread(u.exportMarkdown)},
		{"GET", "/ui/threads/:id/export.json", user, u.onThread(u.exportJSON)},
		{"POST", "/ui/threads/:id/queue/:run/remove", user, u.unqueue(false)},
		{"POST", "/ui/threads/:id/queue/:run/edit", user, u.unqueue(true)},
		{"POST", "/ui/threads/:id/queue/:run/send", user, u.onThread(u.sendNow)},
		{"POST", "/ui/threads/:id/plan", user, u.onThread(u.editPlan)},
		{"POST", "/ui/threads/:id/stop", user, u.onThread(u.stop)},
		{"GET", "/ui/threads/:id/steps/:step/trail", user, u.onThread(u.helperTrail)},
		{"POST", "/ui/threads/:id/steps/:step/stop", user, u.onThread(u.stopHelper)},
		{"POST", "/ui/threads/:id/followups", user, u.onThread(u.followUp)},
		{"POST", "/ui/threads/:id/feedback", user, u.onThread(u.rate)},
		{"POST", "/ui/threads/:id/network", user, u.onThread(u.answerHost)},
		{"POST", "/ui/threads/:id/mcp", user, u.onThread(u.answerForm)},
		{"POST", "/ui/hosts", operator, u.closeHost},
		{"GET", "/ui/threads/:id/menu", user, u.onThread(u.menu)},
		{"POST", "/ui/threads/:id/rename", user, u.onThread(u.rename)},
		{"POST", "/ui/threads/:id/pin", user, u.onThread(u.pin)},
		{"GET", "/ui/threads/:id/usage", user, u.onThread(u.usage)},
		{"POST", "/ui/threads/:id/compact", user, u.onThread(u.compact)},
		{"POST", "/ui/threads/:id/sandbox", user, u.onThread(u.restart)},
		{"GET", "/ui/threads/:id/tools", user, u.onThreadID(u.threadTools)},
		{"POST", "/ui/threads/:id/tools", user, u.onThreadID(u.switchTools)},
		{"GET", "/ui/threads/:id/prompt", user, u.onThreadID(u.prompt)},
		{"POST", "/ui/threads/:id/prompt", user, u.onThreadID(u.usePrompt)},
		{"GET", "/ui/threads/:id/resources", user, u.onThreadID(u.resources)},
		{"POST", "/ui/threads/:id/resources", user, u.onThreadID(u.attachResource)},
		{"GET", "/ui/threads/:id/memory", user, u.onThread(u.threadMemory)},
		{"POST", "/ui/threads/:id/memory", user, u.onThread(u.changeThreadMemory)},
		{"GET", "/ui/threads/:id/share", user, u.onThread(u.sharing)},
		{"POST", "/ui/threads/:id/share", user, u.onThread(u.share)},
		{"POST", "/ui/threads/:id/share/remove", user, u.onThread(u.unshare)},
		{"GET", "/ui/threads/:id/delete", user, u.onThread(u.confirm)},
		{"POST", "/ui/threads/:id/delete", user, u.onThread(u.remove)},
		{"GET", "/ui/threads/:id/status", user, u.onThread(u.status)},
		{"GET", "/ui/threads/:id/stream", user, u.onThread(u.stream)},
		{"GET", "/ui/threads/:id/steps/:step", user, u.onThread(u.step)},
		{"GET", "/ui/threads/:id/uploads", user, u.onThreadID(u.documents)},
		{"POST", "/ui/threads/:id/uploads", user, u.onThreadID(u.upload)},
		{"POST", "/ui/threads/:id/uploads/:name/delete", user, u.onThreadID(u.removeUpload)},
		{"GET", "/ui/threads/:id/panel", user, u.onThread(u.panel)},
		{"GET", "/ui/threads/:id/panel/*", user, u.onThread(u.panel)},
		{"POST", "/ui/threads/:id/save/*", user, u.onThread(u.saveFile)},
		{"GET", "/ui/threads/:id/changes/:run", user, u.onThread(u.changes)},
		{"POST", "/ui/threads/:id/skill/*", operator, u.onThread(u.installFile)},
		{"GET", "/ui/threads/:id/view/*", user, u.onThreadID(u.view)},
		{"GET", "/ui/threads/:id/files.zip", user, u.onThread(u.filesZip)},
	}
	if u.Spec != nil {
		table = append(table, route{"GET", "/docs", user, u.reference},
			route{"GET", "/redoc", user, func(c echo.Context) error {
				return c.Redirect(http.StatusFound, "/docs")
			}})
	}
	return table
}
