package views

import "net/url"

// PromptsURL is the address of the page of the prompts that people keep.
const PromptsURL = "/workspace/prompts"

// NewPromptURL is the address of the form for a new prompt.
const NewPromptURL = PromptsURL + "/new"

// PromptActionsURL is the address that creates a prompt; paths below it import and export prompts.
const PromptActionsURL = "/ui/prompts"

// SavedPromptURL returns the address of the page of a prompt.
func SavedPromptURL(id string) string { return PromptsURL + "/" + url.PathEscape(id) }

// PromptActionURL returns the address of an action on a prompt: save, duplicate, delete.
func PromptActionURL(id, action string) string {
	return PromptActionsURL + "/" + url.PathEscape(id) + "/" + action
}

// UsePromptURL returns the address of a new chat with a prompt in its message box.
func UsePromptURL(id string) string { return NewChatURL + "?prompt=" + url.QueryEscape(id) }

// FillPromptURL returns the address of the form for the fields of a prompt, for the message box of a
// chat.
func FillPromptURL(thread, id string) string {
	return ActionURL(thread, "saved-prompt") + "?prompt=" + url.QueryEscape(id)
}

// SavedPrompt is a prompt that the reader can use.
type SavedPrompt struct {
	ID, Name, About, Text string
	Fields                int
	Mine, Editable        bool
	Everybody             bool   // shared with everyone
	Group                 string // name of the group it is shared with
}

// PromptsPage is GET /workspace/prompts.
type PromptsPage struct {
	Shell   Shell
	Notice  *Notice
	Prompts []SavedPrompt
	Own     bool // some are the reader's own
}

// PromptForm is GET /workspace/prompts/{id}: a prompt that is made, changed or only read.
type PromptForm struct {
	Shell          Shell
	ID             string // "" for a new one
	Saved          bool   // it was just saved
	Prompt         SavedPrompt
	Shared         string           // the selection: "", all, or a group's id
	Audiences      []PromptAudience // available audiences
	Wrong, Problem string           // the invalid field, and the problem
}

// PromptAudience is a possible audience of a prompt. Everybody has no name.
type PromptAudience struct{ Value, Name string }
