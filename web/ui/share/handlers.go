// Package share makes links to chats, and answers to those who have one.
package share

import (
	"fawn/web/ui/conversation"
	"fawn/web/ui/files"
)

// Handlers are those of the links.
type Handlers struct {
	*conversation.Handlers
	Files *files.Handlers
}
