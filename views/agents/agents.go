package agents

import (
	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Gallery lists the agents one can talk to.
func Gallery(s views.Shell) templ.Component { return i18n.In(s.Lang, gallery(s)) }

// Skills lists what is installed.
func Skills(s views.Shell) templ.Component { return i18n.In(s.Lang, skills(s)) }
