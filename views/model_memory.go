package views

import (
	"net/url"
	"time"
)

// Memory is the settings section about a person's memory.
type Memory struct {
	Off      bool // disabled by the configuration
	Muted    bool // disabled by the reader
	Waiting  int  // chats with pending lessons
	Sections []MemorySection
	Groups   []MemoryGroup // in the order of the usual categories
	Edit     string        // id of the fact with an open form
	Problem  string        // why the last change failed, in the reader's language
	Draft    string        // the form's text
	Undo     bool          // the last change can be undone
	Empty    bool
}

// MemorySection is one summary.
type MemorySection struct{ Name, Text string }

// MemoryGroup is the facts of one category.
type MemoryGroup struct {
	Category string
	Facts    []MemoryFact
}

// MemoryFact is one stored fact.
type MemoryFact struct {
	ID, Text string
	Avoid    string    // of a correction: the wrong statement
	Agent    string    // agent whose facts are shown, but can't be changed here
	Origin   string    // manual, import or thread
	URL      string    // its source message; "" for none
	At       time.Time // time of its last change
}

// ThreadMemoryPage is GET /ui/threads/{id}/memory: a chat's use of memory, or the memories used by one of its answers.
type ThreadMemoryPage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Off      bool         // disabled for this chat
	Disabled bool         // disabled by the configuration
	Taught   []MemoryFact // facts from this chat
	Forgot   bool         // its facts were just deleted, which can be undone
	Answer   bool         // the page is about an answer
	Used     []MemoryFact // facts used in the answer that still exist
	Gone     int          // facts used in the answer and deleted since
	Summary  bool         // the answer used the summaries, too
	Use      MemoryUse    // whether the chat uses memory, and the reason
}

// UsedMemoriesURL returns the address that lists the memories that a run used.
func UsedMemoriesURL(thread, run string) string {
	return ActionURL(thread, "memory") + "?run=" + url.QueryEscape(run)
}

// MemoryURL is the target of the memory's forms.
const MemoryURL = "/ui/memory"

// MemoryExportURL is the address of the whole memory as one file.
const MemoryExportURL = "/api/memory/export"

// MemoryEditURL returns the address that opens the form of a fact.
func MemoryEditURL(id string) string {
	return SettingsURL("memory") + "?edit=" + url.QueryEscape(id) + "#f-" + url.PathEscape(id)
}
