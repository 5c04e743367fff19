package page

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/views/agents"
)

// Missing returns the page of a missing agent or skill.
func (s *Site) Missing(skill bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		nav := views.NavAgents
		if skill {
			nav = views.NavSkills
		}
		shell, err := s.Shell(c, nav, "")
		if err != nil {
			return err
		}
		return HTML(c, http.StatusNotFound,
			agents.Missing(views.MissingPage{Shell: shell, Name: Head(OneLine(Param(c, "name")), MaxTitle),
				Skill: skill}))
	}
}
