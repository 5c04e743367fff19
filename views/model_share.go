package views

import "time"

// Share is the link under which everybody who has it can read a thread.
type Share struct {
	Path  string    // of the link on this server
	URL   string    // the whole link, as it is passed on
	At    time.Time // when what it shows was chosen
	Stale bool      // the chat has gone on since
}

// SharePage is GET /ui/threads/{id}/share: the link of a thread, or the offer to make one.
type SharePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Title    string
	Empty    bool   // nothing was said yet, so there is nothing to share
	Share    *Share // nil when the thread is not shared
	Local    string // the address of this computer that links would have, which nobody else can open
}

// SharedPage is GET /share/{token}: a thread for readers who may see nothing else.
type SharedPage struct {
	Shell Shell // Lang and Theme only
	Token string
	Title string
	At    time.Time
	Turns []Turn
	Files map[string]bool // paths of the files that can be read through the link
}
