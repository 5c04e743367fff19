// Package insight serves the pages about runs, calls and usage, and the page of the API.
package insight

import (
	"fawn/agent/tracestore"
	"fawn/web/openapi"
	"fawn/web/ui/page"
)

// Handlers serve the pages.
type Handlers struct {
	*page.Site
	Inspect *tracestore.Service // records of runs' calls; nil keeps none
	Spec    func() openapi.Spec // content of the API page; nil disables the page
	Version string
}
