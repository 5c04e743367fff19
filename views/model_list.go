package views

import "time"

// ChatsPage is GET /workspace/chats: all chats, or those with the words of a search.
type ChatsPage struct {
	Shell Shell
	List  ChatList
	Total int
	// Tags are those that the reader's chats have.
	Tags []string
	// Apps are the chat apps that the list can be narrowed down to; none offers nothing.
	Apps []Source
}

// ChatList is a page of the list of all chats.
type ChatList struct {
	Now      time.Time
	Query    string // the words searched for; empty lists everything
	From     Source // only what began there; FromApps is any chat app, one without a name is everywhere
	Show     string // "", ShowArchived, or ShowTag and a tag
	Rows     []ChatRow
	Later    bool   // it is not the first page
	More     string // address of the next page; empty on the last
	MoreRows string // the same as a fragment
	Restart  bool   // sandboxes can be restarted
}

// FromApps is the Name of a Source that stands for all chat apps.
const FromApps = "channels"

// What the list of all chats can show instead of those that are not archived.
const (
	ShowArchived = "archived"
	ShowTag      = "tag:"
)

// TagsPage is GET /ui/threads/{id}/tags.
type TagsPage struct {
	Shell    Shell
	Modal    bool
	ThreadID string
	Tags     []string
	Known    []string // those of other chats, to choose from
	Problem  string
}

// ChatRow is one chat of that list.
type ChatRow struct {
	ThreadRow
	Message string // id of the message a search found, empty when it found the title
	Excerpt string // of that message
}

// Undo is a deletion that can be taken back.
type Undo struct {
	Token string
	Count int // how many chats; 0 is too late
}
