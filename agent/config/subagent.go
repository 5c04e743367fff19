package config

import "time"

// Subagents configures delegation.
type Subagents struct {
	Enabled       bool                     `yaml:"enabled"`                        // false never offers the task tool
	Timeout       time.Duration            `yaml:"timeout_seconds" min:"1"`        // of a built-in subagent, from the start of its work
	MaxTurns      int                      `yaml:"max_turns" min:"1"`              // of built-in subagents; 0 = their own limits
	MaxConcurrent int                      `yaml:"max_concurrent" min:"2" max:"4"` // concurrently in one run
	MaxTotal      int                      `yaml:"max_total_per_run" min:"1" max:"50"`
	TokenBudget   SubagentBudget           `yaml:"token_budget"`
	Agents        map[string]SubagentTweak `yaml:"agents"`        // changes to single subagents, by name
	CustomAgents  map[string]CustomAgent   `yaml:"custom_agents"` // further kinds of subagents, by name
}

// SubagentBudget limits one delegated task.
type SubagentBudget struct {
	Enabled       bool    `yaml:"enabled"`
	MaxTokens     int     `yaml:"max_tokens" min:"1"` // 0 = 1,000,000 with summarization on, else 2,000,000
	WarnThreshold float64 `yaml:"warn_threshold" min:"0" max:"1"`
}

// SubagentTweak overrides settings of one subagent. Zero values change nothing.
type SubagentTweak struct {
	Timeout     time.Duration   `yaml:"timeout_seconds" min:"1"`
	MaxTurns    int             `yaml:"max_turns" min:"1"`
	Model       string          `yaml:"model"`  // a name of models[] or "inherit"
	Skills      []string        `yaml:"skills"` // nil = all, empty = none
	TokenBudget *SubagentBudget `yaml:"token_budget"`
}

// CustomAgent is a kind of subagent that the owner has written.
type CustomAgent struct {
	Description     string          `yaml:"description" required:"true"`
	SystemPrompt    string          `yaml:"system_prompt" required:"true"`
	Tools           []string        `yaml:"tools"`            // nil = all of the parent's
	DisallowedTools []string        `yaml:"disallowed_tools"` // nil = task, ask_clarification, present_files
	Skills          []string        `yaml:"skills"`           // nil = all, empty = none
	Model           string          `yaml:"model"`            // a name of models[] or "inherit"
	MaxTurns        int             `yaml:"max_turns" min:"1"`
	Timeout         time.Duration   `yaml:"timeout_seconds" min:"1"`
	TokenBudget     *SubagentBudget `yaml:"token_budget"`
}

// ACPAgent is an external program that speaks the Agent Client Protocol.
type ACPAgent struct {
	Command                string        `yaml:"command" required:"true"`
	Args                   []string      `yaml:"args"`
	Env                    Headers       `yaml:"env"`
	Description            string        `yaml:"description"`
	Model                  string        `yaml:"model"`
	AutoApprovePermissions bool          `yaml:"auto_approve_permissions"`
	Timeout                time.Duration `yaml:"timeout_seconds" min:"1"`
}

// Skills configures the folder of skills.
type Skills struct {
	Path              string `yaml:"path"`                            // empty = DEER_FLOW_SKILLS_PATH, else the data folder's skills
	ContainerPath     string `yaml:"container_path" reload:"restart"` // path under which commands and prompts see the skills
	DeferredDiscovery bool   `yaml:"deferred_discovery"`
}

// SkillEvolution lets the agent write its own skills.
type SkillEvolution struct {
	Enabled             bool   `yaml:"enabled"`
	ModerationModelName string `yaml:"moderation_model_name"` // empty = that of the run
	SecurityFailClosed  bool   `yaml:"security_fail_closed"`  // no moderation model = no writes at all
}
