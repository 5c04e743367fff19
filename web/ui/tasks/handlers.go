// Package tasks answers on the page of scheduled tasks.
package tasks

import (
	"fawn/agent/profile"
	"fawn/agent/schedule"
	"fawn/web/bots"
	"fawn/web/ui/page"
)

// Handlers are those of the page.
type Handlers struct {
	*page.Site
	Schedule *schedule.Scheduler // nil means no such page
	Agents   *profile.Library    // nil has none
	Bots     *bots.Service       // of chat apps; nil has none
}
