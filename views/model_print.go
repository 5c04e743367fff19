package views

import "time"

// PrintPage is GET /ui/threads/{id}/print: a whole chat for printing.
type PrintPage struct {
	Shell    Shell // Lang and Theme only
	ThreadID string
	Title    string
	At       time.Time
	Turns    []Turn
	Now      bool // open the print dialog
}
