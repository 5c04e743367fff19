// Package tasks serves the page of scheduled tasks. It parses forms and words responses; schedule.Tasks has the rules.
// Begin with tasks.go.
package tasks

import (
	"fawn/agent/profile"
	"fawn/agent/schedule"
	"fawn/web/bots"
	"fawn/web/ui/page"
)

// Handlers serve the scheduled-tasks page.
type Handlers struct {
	*page.Site
	Tasks  *schedule.Tasks  // nil means no such page
	Agents *profile.Library // nil means none
	Bots   *bots.Service    // bots of chat apps; nil means none
}
