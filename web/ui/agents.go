package ui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/profile"
	"fawn/store"
	"fawn/views"
	"fawn/views/agents"
	"fawn/web/principal"
)

// maxAssistants is how many assistants the page of agents lists.
const maxAssistants = 50

// agents is GET /workspace/agents.
func (u *UI) agents(c echo.Context) error {
	ctx := c.Request().Context()
	shell, err := u.shell(c, views.NavAgents, "")
	if err != nil {
		return err
	}
	p := views.AgentsPage{Shell: shell}
	if u.Agents != nil {
		list, err := u.Agents.List(principal.Owner(ctx))
		if err != nil {
			return err
		}
		for _, e := range list {
			one := views.AgentInfo{Name: e.Name, Text: oneLine(e.Description), Model: u.modelName(e.Model)}
			if e.Err != nil {
				one = views.AgentInfo{Name: e.Name, Problem: reasonOf(e.Err)}
			}
			p.Agents = append(p.Agents, one)
		}
	}
	err = u.DB.EachAssistant(ctx, principal.Owner(ctx), func(a store.Assistant) bool {
		if p.More = len(p.Assistants) == maxAssistants; p.More {
			return false
		}
		info := views.AssistantInfo{ID: a.ID, Name: cmp.Or(head(oneLine(a.Name), maxTitle), a.ID)}
		if a.Description != nil {
			info.Text = head(oneLine(*a.Description), maxTitle)
		}
		p.Assistants = append(p.Assistants, info)
		return true
	})
	if err != nil {
		return err
	}
	return html(c, http.StatusOK, agents.Gallery(p))
}

// modelName is what people call a model of the configuration.
func (u *UI) modelName(name string) string {
	if m, ok := u.Config.Current().Model(name); ok {
		return cmp.Or(m.DisplayName, m.Name)
	}
	return name
}

// reasonOf says why the files of an agent cannot be read.
func reasonOf(err error) string {
	var bad *profile.Invalid
	if errors.As(err, &bad) {
		return bad.Why
	}
	return "the files can't be read"
}

// newAgent is GET /workspace/agents/new.
func (u *UI) newAgent(c echo.Context) error {
	return u.newAgentPage(c, http.StatusOK, views.NewAgentPage{Form: u.blankAgent()})
}

func (u *UI) newAgentPage(c echo.Context, status int, p views.NewAgentPage) (err error) {
	if u.Agents == nil {
		return store.ErrNotFound
	}
	if p.Shell, err = u.shell(c, views.NavAgents, ""); err != nil {
		return err
	}
	p.Offline = len(u.Config.Current().UsableModels()) == 0
	return html(c, status, agents.New(p))
}

// agent is GET /workspace/agents/:name.
func (u *UI) agent(c echo.Context) error {
	name := param(c, "name")
	if u.Agents == nil || !u.Agents.Has(principal.Owner(c.Request().Context()), name) {
		return u.missing(false)(c)
	}
	return u.agentPage(c, http.StatusOK, name, nil, nil)
}

// agentFiles is what somebody wrote into the files of an agent by hand, and what is wrong with it.
type agentFiles struct{ config, soul, problem string }

// agentPage shows an agent with what its forms hold; nil takes what is stored.
func (u *UI) agentPage(c echo.Context, status int, name string, form *views.AgentForm, files *agentFiles) error {
	owner := principal.Owner(c.Request().Context())
	shell, err := u.shell(c, views.NavAgents, "")
	if err != nil {
		return err
	}
	a, err := u.Agents.Get(owner, name)
	p := views.AgentPage{Shell: shell, Form: u.agentForm(a), Soul: a.Soul}
	var bad *profile.Invalid
	if errors.As(err, &bad) {
		p.Broken = bad.Why
	} else if err != nil {
		return err
	}
	if p.Config, err = u.Agents.Config(owner, name); err != nil && !errors.As(err, &bad) {
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
		p.Shell.Toast = &views.Toast{Kind: views.NoticeGood, Text: say(c, "agents.saved")}
	}
	return html(c, status, agents.Edit(p))
}

// newAgentChat is GET /workspace/agents/:name/chats/new, where DeerFlow begins chats with agents.
func (u *UI) newAgentChat(c echo.Context) error {
	if u.Agents == nil || !u.Agents.Has(principal.Owner(c.Request().Context()), param(c, "name")) {
		return u.missing(false)(c)
	}
	return c.Redirect(http.StatusFound, views.AgentChatURL(param(c, "name")))
}

// agentChat is GET /workspace/agents/:name/chats/:id, where DeerFlow has them. A chat outlives
// its agent.
func (u *UI) agentChat(c echo.Context, t store.Thread) error {
	return c.Redirect(http.StatusFound, views.ThreadURL(t.ID))
}

// missing is the page of an agent, or a skill, that is not there.
func (u *UI) missing(skill bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		nav := views.NavAgents
		if skill {
			nav = views.NavSkills
		}
		shell, err := u.shell(c, nav, "")
		if err != nil {
			return err
		}
		return html(c, http.StatusNotFound,
			agents.Missing(views.MissingPage{Shell: shell, Name: head(oneLine(param(c, "name")), maxTitle), Skill: skill}))
	}
}

// ownAgents are the reader's agents, those whose files cannot be read too.
func (u *UI) ownAgents(ctx context.Context) []profile.Entry {
	if u.Agents == nil {
		return nil
	}
	list, err := u.Agents.List(principal.Owner(ctx))
	if err != nil {
		u.Log.Warn("custom agents can't be listed", "err", err)
	}
	return list
}
