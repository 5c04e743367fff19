package views

// AgentsPage is GET /workspace/agents.
type AgentsPage struct {
	Shell      Shell
	Agents     []AgentInfo     // the reader's own, by name
	Assistants []AssistantInfo // created over the API, oldest first
	More       bool            // there are more of them
}

// AgentInfo is a custom agent in a list.
type AgentInfo struct {
	Name    string
	Text    string
	Model   string // display name; empty leaves it to the chat
	Problem string // why its files are unreadable, in English
}

// AssistantInfo is an assistant that a program made: named defaults for runs.
type AssistantInfo struct {
	ID   string
	Name string
	Text string
}

// NewAgentPage is GET /workspace/agents/new: three ways to create an agent. Open is the one in use: talk, form or
// import.
type NewAgentPage struct {
	Shell   Shell
	Open    string
	Name    string // agent to talk about or to import
	Text    string // the agent's task
	Form    AgentForm
	Offline bool // no model is available to talk to
	Wrong   string
	Problem string
}

// AgentPage is GET /workspace/agents/{name}.
type AgentPage struct {
	Shell   Shell
	Form    AgentForm
	Broken  string // why the files are unreadable; then there is no form
	Config  string // the text of config.yaml
	Soul    string // the text of SOUL.md
	Files   bool   // the files were edited by hand last
	Problem string // problem of the files
}

// AgentForm holds the fields of an agent's form.
type AgentForm struct {
	New         bool
	Name        string
	Description string
	Soul        string
	Model       string
	Models      []ModelChoice
	AllTools    bool
	Groups      []AgentGroup
	Knowledge   []ProjectChoice // collections of documents
	Thinking    string          // "", on or off
	Effort      string          // "", low, medium or high
	Temperature string
	MaxTokens   string
	Wrong       string // invalid field
	Problem     string // in the reader's language
}

// AgentGroup is a group of tools that an agent may have.
type AgentGroup struct {
	Name string
	On   bool
}

// MissingPage is the page of a missing agent or skill.
type MissingPage struct {
	Shell Shell
	Name  string // as in the address
	Skill bool
}
