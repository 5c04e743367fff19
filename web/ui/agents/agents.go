// Package agents serves the pages of custom agents and of skills.
package agents

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/store"
	"fawn/views"
	"fawn/views/agents"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Deps are the parts that these pages show and change.
type Deps struct {
	Agents *profile.Library // nil means none
	Skills *skills.Library  // nil means none
	Fetch  *http.Client     // for skills at an address
	// Talk begins a chat that creates an agent. problem is worded for the requester and has a status.
	Talk func(c echo.Context, thread, agent, text string) (problem string, status int, err error)
}

// Handlers serve the pages.
type Handlers struct {
	*page.Site
	Deps
}

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

// maxAssistants limits the assistants listed on the page of agents.
const maxAssistants = 50

// agents handles GET /workspace/agents.
func (h *Handlers) agents(c echo.Context) error {
	ctx := c.Request().Context()
	shell, err := h.Shell(c, views.NavAgents, "")
	if err != nil {
		return err
	}
	p := views.AgentsPage{Shell: shell}
	if h.Agents != nil {
		list, err := h.Agents.List(principal.Owner(ctx))
		if err != nil {
			return err
		}
		may := h.Rights(ctx)
		for _, e := range list {
			if !may.May(access.Agent, e.Name) {
				continue
			}
			one := views.AgentInfo{Name: e.Name, Text: page.OneLine(e.Description), Model: h.modelName(e.Model)}
			if e.Err != nil {
				one = views.AgentInfo{Name: e.Name, Problem: reasonOf(e.Err)}
			}
			p.Agents = append(p.Agents, one)
		}
	}
	err = h.DB.EachAssistant(ctx, principal.Owner(ctx), func(a store.Assistant) bool {
		if p.More = len(p.Assistants) == maxAssistants; p.More {
			return false
		}
		info := views.AssistantInfo{ID: a.ID, Name: cmp.Or(page.Head(page.OneLine(a.Name), page.MaxTitle), a.ID)}
		if a.Description != nil {
			info.Text = page.Head(page.OneLine(*a.Description), page.MaxTitle)
		}
		p.Assistants = append(p.Assistants, info)
		return true
	})
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, agents.Gallery(p))
}

// modelName returns the display name of a configured model.
func (h *Handlers) modelName(name string) string {
	if m, ok := h.Config.Current().Model(name); ok {
		return cmp.Or(m.DisplayName, m.Name)
	}
	return name
}

// reasonOf explains why the files of an agent cannot be read.
func reasonOf(err error) string {
	var bad *profile.Invalid
	if errors.As(err, &bad) {
		return bad.Why
	}
	return "the files can't be read"
}

// newAgent handles GET /workspace/agents/new.
func (h *Handlers) newAgent(c echo.Context) error {
	return h.newAgentPage(c, http.StatusOK, views.NewAgentPage{Form: h.blankAgent(c.Request().Context())})
}

func (h *Handlers) newAgentPage(c echo.Context, status int, p views.NewAgentPage) (err error) {
	if h.Agents == nil {
		return store.ErrNotFound
	}
	if p.Shell, err = h.Shell(c, views.NavAgents, ""); err != nil {
		return err
	}
	p.Offline = len(h.Config.Current().UsableModels()) == 0
	return page.HTML(c, status, agents.New(p))
}

// agent handles GET /workspace/agents/:name.
func (h *Handlers) agent(c echo.Context) error {
	name := page.Param(c, "name")
	if h.Agents == nil || !h.Agents.Has(principal.Owner(c.Request().Context()), name) {
		return h.Missing(false)(c)
	}
	return h.agentPage(c, http.StatusOK, name, nil, nil)
}

// agentFiles holds an agent's manually edited files, with their errors.
type agentFiles struct{ config, soul, problem string }

// agentPage shows an agent with its forms' values; nil uses the stored ones.
func (h *Handlers) agentPage(c echo.Context, status int, name string, form *views.AgentForm, files *agentFiles) error {
	owner := principal.Owner(c.Request().Context())
	shell, err := h.Shell(c, views.NavAgents, "")
	if err != nil {
		return err
	}
	a, err := h.Agents.Get(owner, name)
	p := views.AgentPage{Shell: shell, Form: h.agentForm(c.Request().Context(), a), Soul: a.Soul}
	var bad *profile.Invalid
	if errors.As(err, &bad) {
		p.Broken = bad.Why
	} else if err != nil {
		return err
	}
	if p.Config, err = h.Agents.Config(owner, name); err != nil && !errors.As(err, &bad) {
		return err
	}
	if form != nil {
		p.Form = *form
	}
	if files != nil {
		p.Config, p.Soul, p.Problem, p.Files = files.config, files.soul, files.problem, true
	}
	p.Config = strings.ToValidUTF8(strings.ReplaceAll(p.Config, "\x00", ""), "\uFFFD")
	if c.QueryParam("saved") != "" && form == nil && files == nil {
		p.Shell.Toast = &views.Toast{Kind: views.NoticeGood, Text: page.Say(c, "agents.saved")}
	}
	return page.HTML(c, status, agents.Edit(p))
}

// newAgentChat handles GET /workspace/agents/:name/chats/new, where DeerFlow begins chats with agents.
func (h *Handlers) newAgentChat(c echo.Context) error {
	if h.Agents == nil || !h.Agents.Has(principal.Owner(c.Request().Context()), page.Param(c, "name")) {
		return h.Missing(false)(c)
	}
	return c.Redirect(http.StatusFound, views.AgentChatURL(page.Param(c, "name")))
}

// agentChat handles GET /workspace/agents/:name/chats/:id, where DeerFlow has them. A chat outlives its agent.
func (h *Handlers) agentChat(c echo.Context, t store.Thread) error {
	return c.Redirect(http.StatusFound, views.ThreadURL(t.ID))
}
