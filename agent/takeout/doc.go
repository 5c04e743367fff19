// Package takeout reads the exports of other chat apps: ChatGPT's and Claude's archives, and the
// chats of Open WebUI. It holds one conversation at a time.
package takeout

import (
	"errors"
	"io"
	"time"
)

// Supported apps.
const (
	ChatGPT   = "chatgpt"
	Claude    = "claude"
	OpenWebUI = "open-webui"
)

// Limits in bytes.
const (
	maxConversation = 32 << 20  // JSON of one conversation
	maxSkipped      = 1 << 30   // bytes of an oversized conversation that is skipped
	maxChats        = 4 << 30   // total JSON size, unpacked
	maxNames        = 8 << 20   // bytes of the list of file names
	maxDirectory    = 100 << 20 // names in the directory of an archive
)

// Sentinels of this package.
var (
	// ErrFormat means that a file isn't an export of a supported app.
	ErrFormat = errors.New("not an export of ChatGPT, Claude or Open WebUI")
	// ErrDamaged matches an export that can't be read to its end.
	ErrDamaged = errors.New("the export is damaged or incomplete")
	// ErrTooLarge means that an export exceeds the limits of this package.
	ErrTooLarge = errors.New("the export is too large")
)

// Conversation is one chat of an export, with the branch that was shown last.
type Conversation struct {
	App, ID, Title   string
	Created, Updated time.Time // zero if not known
	Messages         []Message
	Branches         int // other branches, left out
}

// Message is a message of a person or a model. Adjacent answers of a model are one message.
type Message struct {
	Human bool
	Text  string
	Model string // "" if not known
	At    time.Time
	Files []File
}

// File is an attachment. Open is nil when the export does not have its content.
type File struct {
	Name string
	Size int64 // at most, in bytes
	Open func() (io.ReadCloser, error)
}

// Unreadable counts conversations that are left out.
type Unreadable struct {
	Count int    // entries not written by an app
	Title string // title of the first of these that has one
	Large int    // over 32 MB
}
