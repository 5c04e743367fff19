package views

import (
	"path"
	"strings"
)

// Browsed is the page that the agent's browser showed after a step.
type Browsed struct {
	Address, Title string
	Target         string   // the name of the element that was used
	Picture        string   // path of a small picture; "" for none
	Saved          []string // paths of files saved by the step
}

// Names returns the names of the files, joined.
func (b *Browsed) Names() string {
	names := make([]string, len(b.Saved))
	for i, at := range b.Saved {
		names[i] = path.Base(at)
	}
	return strings.Join(names, ", ")
}

// BrowserPanel is the panel in which a person watches the agent's browser and takes it over.
type BrowserPanel struct {
	ThreadID string
	Open     bool // a browser is open
	Address  string
	Held     bool // the person has it
}

// BrowserURL returns the address of the panel with the browser of a chat, or of an action on it.
func BrowserURL(id, action string) string {
	if action == "" {
		return ActionURL(id, "browser")
	}
	return ActionURL(id, "browser/"+action)
}
