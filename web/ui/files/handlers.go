// Package files serves the files of a chat: the panel with its previews, uploads, and the changes of each run.
package files

import (
	"sync"

	"github.com/labstack/echo/v4"

	"fawn/agent/knowledge"
	"fawn/uploads"
	"fawn/web/ui/conversation"
	"fawn/web/ui/export"
)

// Handlers serve the files.
type Handlers struct {
	*conversation.Handlers
	Archives  *export.Handlers
	Uploads   func() uploads.Config // the limits of this moment
	Documents uploads.Documents
	Knowledge *knowledge.Service // nil has no collections
	Pictures  uploads.Pictures
	// BackToBox returns to the page of the form's message box, with its text.
	BackToBox func(c echo.Context, thread, text string) error
	Key       []byte // marks frames, equal on all servers of a database; nil uses a key of this process

	marking sync.Once
	key     []byte
}
