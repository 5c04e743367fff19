package views

import "time"

// Share is a link that lets anyone read a thread.
type Share struct {
	Path  string    // path of the link on this server
	URL   string    // complete link, as passed on
	At    time.Time // when its content was fixed
	Stale bool      // the chat has continued since
}

// SharePage is GET /ui/threads/{id}/share: the link of a thread, or a button to create one.
type SharePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Title    string
	Empty    bool   // the chat is empty, so there is nothing to share
	Share    *Share // nil if the thread isn't shared
	Local    string // this computer's local address in links, unreachable for others
}

// SharedPage is GET /share/{token}: a thread for readers of the link only.
type SharedPage struct {
	Shell Shell // Lang and Theme only
	Token string
	Title string
	At    time.Time
	Turns []Turn
	Files map[string]bool // paths of files readable through the link
}
