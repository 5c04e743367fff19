package agents

import (
	"fawn/web/ui/page"
)

// Routes returns the pages of agents and skills, and their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/agents", page.User, h.agents),
		page.Get("/workspace/agents/new", page.User, h.newAgent),
		page.Get("/workspace/agents/:name", page.User, h.agent),
		page.Get("/workspace/agents/:name/chats/new", page.User, h.newAgentChat),
		page.Get("/workspace/agents/:name/chats/:id", page.User, h.OnThread(h.agentChat)),
		page.Get("/workspace/agents/:name/*", page.User, h.Missing(false)),
		page.Post("/ui/agents", page.User, h.addAgent),
		page.Post("/ui/agents/talk", page.User, h.talkAgent),
		page.Post("/ui/agents/import", page.User, h.importAgent),
		page.Post("/ui/agents/by-name/:name", page.User, h.saveAgent),
		page.Post("/ui/agents/by-name/:name/files", page.User, h.saveAgentFiles),
		page.Post("/ui/agents/by-name/:name/delete", page.User, h.deleteAgent),
		page.Get("/ui/agents/by-name/:name/export", page.User, h.exportAgent),
		page.Get("/workspace/skills", page.User, h.skills),
		page.Get("/workspace/skills/:name", page.User, h.skill),
		page.Post("/ui/skills/install", page.Operator, h.withSkills(h.uploadSkill)),
		page.Post("/ui/skills/fetch", page.Operator, h.withSkills(h.fetchSkill)),
		page.Post("/ui/skills/waiting/:sum", page.Operator, h.withSkills(h.installWaiting)),
		page.Post("/ui/skills/by-name/:name/switch", page.Operator, h.withSkills(h.switchSkill)),
		page.Post("/ui/skills/by-name/:name/text", page.Operator, h.withSkills(h.saveSkill)),
		page.Post("/ui/skills/by-name/:name/rollback", page.Operator, h.withSkills(h.rollbackSkill)),
		page.Post("/ui/skills/by-name/:name/delete", page.Operator, h.withSkills(h.deleteSkill)),
		page.Post("/ui/threads/:id/skill/*", page.Operator, h.OnThread(h.installFile)),
	}
}
