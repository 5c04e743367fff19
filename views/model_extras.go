package views

import "net/url"

// Commands is the list that opens with a slash or an @ in the message box.
type Commands struct {
	Fresh     bool   // the chat has no messages
	ThreadID  string // "" omits everything that requires a chat
	Skills    []Partner
	Agents    []Partner
	Prompts   []Prompt
	Saved     []SavedPrompt // kept prompts
	Resources []Resource
}

// Prompt is a prompt of an MCP server, or a saved one.
type Prompt struct {
	Server, Name, Text string
	Args               []PromptArg
	ID                 string // id of a kept prompt, which has no server
	Words              string // text of a kept prompt, before its fields are filled in
}

// Called returns the display name of a prompt.
func (p Prompt) Called() string {
	if p.Server == "" {
		return p.Name
	}
	return p.Server + ":" + p.Name
}

// PromptArg is an argument of a prompt.
type PromptArg struct {
	Name, Text string
	Required   bool
	Value      string
}

// Resource is something of an MCP server that can be attached.
type Resource struct{ Server, URI, Name, Text string }

// PromptPage is GET /ui/threads/{id}/prompt: the form of a prompt.
type PromptPage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	New      bool // the chat has no message yet
	Prompt   Prompt
	Problem  string // why the server returned none, in the reader's language
}

// ResourcesPage is GET /ui/threads/{id}/resources: readable resources of MCP servers.
type ResourcesPage struct {
	Shell     Shell
	Modal     bool // only the inside of a dialog
	ThreadID  string
	New       bool   // the chat has no message yet
	Text      string // text of the message box, for returning without a script
	Resources []Resource
	Problem   string // why the last one could not be attached, in the reader's language
}

// PromptURL returns the address of the form of a prompt.
func PromptURL(thread, called string) string {
	return ActionURL(thread, "prompt") + "?name=" + url.QueryEscape(called)
}
