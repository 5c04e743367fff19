// Package share creates links to chats and serves the read-only pages behind them.
package share

import (
	"fawn/web/ui/conversation"
	"fawn/web/ui/files"
)

// Handlers serve the share links.
type Handlers struct {
	*conversation.Handlers
	Files *files.Handlers
}
