package apidocs

import (
	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Page renders GET /docs.
func Page(p views.ReferencePage) templ.Component { return i18n.In(p.Shell.Lang, page(p)) }
