package views

import "time"

// PrintPage is GET /ui/threads/{id}/print: a whole chat to be printed.
type PrintPage struct {
	Shell    Shell // Lang and Theme only
	ThreadID string
	Title    string
	At       time.Time
	Turns    []Turn
	Now      bool // asks to print by itself
}
