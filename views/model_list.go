package views

import "time"

// ChatsPage is GET /workspace/chats: all chats, or search results.
type ChatsPage struct {
	Shell Shell
	List  ChatList
	Total int
	// Tags are the tags of the reader's chats.
	Tags []string
	// Apps are the chat apps that the list can be narrowed down to; none offers nothing.
	Apps []Source
}

// ChatList is a page of the list of all chats.
type ChatList struct {
	Now      time.Time
	Query    string // the words searched for; empty lists everything
	From     Source // only chats begun there; FromApps is any chat app, a nameless one is everywhere
	Show     string // "", ShowArchived, or ShowTag and a tag
	Rows     []ChatRow
	Later    bool   // a later page of the list
	More     string // address of the next page; empty on the last
	MoreRows string // address of the next page as a fragment
	Restart  bool   // sandboxes can be restarted
}

// FromApps is the Name of a Source that stands for all chat apps.
const FromApps = "channels"

// Alternatives to unarchived chats in the list of all chats.
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
	Known    []string // tags of other chats, to choose from
	Problem  string
}

// ChatRow is one chat of that list.
type ChatRow struct {
	ThreadRow
	Message string // id of the message found by a search, empty if it found the title
	Excerpt string // excerpt of that message
}

// Undo is a deletion that can be taken back.
type Undo struct {
	Token string
	Count int // number of chats; 0 means too late
}
