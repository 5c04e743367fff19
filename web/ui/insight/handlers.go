// Package insight serves the pages about runs, calls and usage, and the page of the API.
package insight

import (
	"fawn/agent/tracestore"
	"fawn/web/openapi"
	"fawn/web/ui/page"
)

// Handlers are those of the pages.
type Handlers struct {
	*page.Site
	Inspect *tracestore.Service // what calls of runs took; nil keeps nothing
	Spec    func() openapi.Spec // what the page of the API shows; nil means no such page
	Version string
}
