package ui

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/agents"
	"fawn/web/principal"
)

// maxAssistants is how many assistants the page of agents lists.
const maxAssistants = 50

// agents is GET /workspace/agents.
func (u *UI) agents(c echo.Context) error {
	shell, err := u.shell(c, views.NavAgents, "")
	if err != nil {
		return err
	}
	p := views.AgentsPage{Shell: shell}
	err = u.DB.EachAssistant(c.Request().Context(), principal.Owner(c.Request().Context()), func(a store.Assistant) bool {
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

// newAgent is GET /workspace/agents/new.
func (u *UI) newAgent(c echo.Context) error {
	shell, err := u.shell(c, views.NavAgents, "")
	if err != nil {
		return err
	}
	return html(c, http.StatusOK, agents.New(shell))
}

// skills is GET /workspace/skills.
func (u *UI) skills(c echo.Context) error {
	shell, err := u.shell(c, views.NavSkills, "")
	if err != nil {
		return err
	}
	return html(c, http.StatusOK, agents.Skills(shell))
}

// missing is GET /workspace/agents/:name and what is below it, and the same of skills: there
// are none of one's own yet, and a link to one says so.
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
		return html(c, http.StatusNotFound, agents.Missing(views.MissingPage{Shell: shell, Name: head(oneLine(param(c, "name")), maxTitle), Skill: skill}))
	}
}
