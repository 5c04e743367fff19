package views

// AgentsPage is GET /workspace/agents.
type AgentsPage struct {
	Shell      Shell
	Assistants []AssistantInfo // made over the API, oldest first
	More       bool            // there are more of them
}

// AssistantInfo is an assistant that a program made: named defaults for runs.
type AssistantInfo struct {
	ID   string
	Name string
	Text string
}

// MissingPage is the page of an agent or a skill that is not there.
type MissingPage struct {
	Shell Shell
	Name  string // as in the address
	Skill bool
}
