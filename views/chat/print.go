package chat

import (
	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// PrintPage renders a whole chat as a page to print.
func PrintPage(p views.PrintPage) templ.Component { return i18n.In(p.Shell.Lang, printPage(p)) }

// Paper renders the body of such a page, without the site's frame.
func Paper(p views.PrintPage) templ.Component { return i18n.In(p.Shell.Lang, paper(p)) }
