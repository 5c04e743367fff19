// Package projects has the pages of projects.
package projects

import (
	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// ListPage renders the page of all projects.
func ListPage(p views.ProjectsPage) templ.Component { return i18n.In(p.Shell.Lang, listPage(p)) }

// Page renders the page of a project.
func Page(p views.ProjectPage) templ.Component { return i18n.In(p.Shell.Lang, page(p)) }

// MovePage renders the choice of a chat's project, as a whole page or in a dialog.
func MovePage(p views.MovePage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, moveModal(p))
	}
	return i18n.In(p.Shell.Lang, movePage(p))
}
