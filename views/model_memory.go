package views

import (
	"net/url"
	"time"
)

// Memory is the settings section about a person's memory.
type Memory struct {
	Off      bool // by the configuration
	Muted    bool // by the reader
	Waiting  int  // chats with pending lessons
	Sections []MemorySection
	Groups   []MemoryGroup // in the order of the usual categories
	Edit     string        // id of the fact with an open form
	Problem  string        // why the last change was not made, in the reader's language
	Draft    string        // the form's text
	Undo     bool          // the last change can be taken back
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
	Agent    string    // a custom agent's; its facts are shown and not changed here
	Origin   string    // manual, import or thread
	URL      string    // its source message; "" for none
	At       time.Time // of its last change
}

// ThreadMemoryPage is GET /ui/threads/{id}/memory: a chat's use of memory, or the memories used by one of its answers.
type ThreadMemoryPage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Off      bool         // for this chat
	Disabled bool         // by the configuration
	Taught   []MemoryFact // facts from this chat
	Forgot   bool         // its facts were just deleted, which can be undone
	Answer   bool         // the page is about an answer
	Used     []MemoryFact // in the answer, still existing ones
	Gone     int          // used in the answer and deleted since
	Summary  bool         // the answer used the summaries, too
	Use      MemoryUse    // whether the chat uses memory, and who decided it
}

// UsedMemoriesURL lists the memories that a run used.
func UsedMemoriesURL(thread, run string) string {
	return ActionURL(thread, "memory") + "?run=" + url.QueryEscape(run)
}

// MemoryURL is the target of the memory's forms.
const MemoryURL = "/ui/memory"

// MemoryExportURL is the whole memory as one file.
const MemoryExportURL = "/api/memory/export"

// MemoryEditURL opens the form of a fact.
func MemoryEditURL(id string) string {
	return SettingsURL("memory") + "?edit=" + url.QueryEscape(id) + "#f-" + url.PathEscape(id)
}
