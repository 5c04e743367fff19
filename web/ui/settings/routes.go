package settings

import (
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// Routes returns the settings and their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Post("/ui/web/by-name/:name/save", page.Operator, h.onService(h.saveService)),
		page.Post("/ui/web/by-name/:name/move", page.Operator, h.onService(h.moveService)),
		page.Post("/ui/web/by-name/:name/try", page.Operator, h.onService(h.tryService)),
		page.Post("/ui/media/by-name/:name", page.Operator, h.saveMedia),
		page.Post("/ui/web/fallback", page.Operator, h.switchFallback),
		page.Post("/ui/tools/by-name/:name/switch", page.Operator, h.switchTool),
		page.Post("/ui/mcp/add", page.Operator, h.withMCP(h.addServers)),
		page.Post("/ui/mcp/by-name/:name/switch", page.Operator, h.onServer(h.switchServer)),
		page.Post("/ui/mcp/by-name/:name/reconnect", page.Operator, h.onServer(h.reconnectServer)),
		page.Post("/ui/mcp/by-name/:name/approve", page.Operator, h.onServer(h.approveServer)),
		page.Post("/ui/mcp/by-name/:name/remove", page.Operator, h.onServer(h.removeServer)),
		page.Post("/ui/mcp/by-name/:name/login", page.Operator, h.withMCP(h.beginLogin)),
		page.Post("/ui/mcp/by-name/:name/logout", page.Operator, h.onServer(h.logout)),
		page.Get(httpx.MCPCallback, page.Operator, h.withMCP(h.endLogin)),
		page.Post("/ui/channels/by-name/:name/save", page.Operator, h.onApp(h.saveChannel)),
		page.Post("/ui/channels/by-name/:name/test", page.Operator, h.onApp(h.testChannel)),
		page.Post("/ui/channels/by-name/:name/remove", page.Operator, h.onApp(h.removeChannel)),
		page.Post("/ui/channels/by-name/:name/restart", page.Operator, h.onApp(h.restartChannel)),
		page.Post("/ui/channels/by-name/:name/scan", page.Operator, h.onApp(h.startScan)),
		page.Post("/ui/channels/by-name/:name/scanned", page.Operator, h.onApp(h.lookScan)),
		page.Post("/ui/channels/by-name/:name/unscan", page.Operator, h.onApp(h.cancelScan)),
		page.Post("/ui/channels/by-name/:name/group", page.Operator, h.onApp(h.changeGroup)),
		page.Post("/ui/channels/by-name/:name/pair", page.User, h.onApp(h.pairChannel)),
		page.Get("/ui/channels/by-name/:name/paired", page.User, h.onApp(h.pairedChannel)),
		page.Post("/ui/channels/connections/:id", page.User, h.revokeChannel),
		page.Post("/ui/channels/deliveries/:run", page.Operator, h.retryDelivery),
		page.Get("/workspace/settings", page.User, h.settings),
		page.Post("/ui/personal", page.User, h.savePersonal),
		page.Post("/ui/memory", page.User, h.changeMemory),
		page.Post("/ui/memory/import", page.User, h.importMemory),
		page.Post("/ui/import", page.User, h.previewImport),
		page.Post("/ui/import/confirm", page.User, h.confirmImport),
		page.Post("/ui/import/undo", page.User, h.undoImport),
		page.Get("/workspace/settings/:section", page.User, h.settings),
		page.Post("/ui/prefs", page.User, h.SavePrefs),
		page.Post("/ui/models", page.Operator, h.addModel),
		page.Post("/ui/models/change", page.Operator, h.changeModel),
		page.Post("/ui/models/found", page.Operator, h.useFound),
		page.Post("/ui/models/probe", page.Operator, h.probeModel),
		page.Post("/ui/models/remove", page.Operator, h.removeModel),
		page.Post("/ui/models/default", page.Operator, h.makeDefault),
		page.Post("/ui/hosts", page.Operator, h.closeHost),
	}
}
