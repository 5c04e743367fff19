package request

import (
	"encoding/json"
	"fmt"
	"strings"

	"fawn/agent"
)

// Choices are the request's own options, without its assistant's: config.configurable, config.context and context, with
// context winning.
type Choices struct {
	agent.Options
	thinkingSet bool
	checkpoint  string
	threadID    string

	Project string // project for a new thread, "" for none

	Limit    int            // step limit; 0 = not specified
	AtLimit  string         // answer, error or "", when it is reached
	Metadata map[string]any // scalars worth showing in checkpoint metadata
}

// Bounds of the collections of documents that a run names.
const (
	MaxKnowledge     = 50
	maxKnowledgeName = 200 // bytes
)

// shownOptions are the keys of configurable which checkpoints' metadata repeats.
var shownOptions = []string{"model_name", "mode", "thinking_enabled", "reasoning_effort", "is_plan_mode",
	"subagent_enabled", "agent_name"}

// Choices parses the request's choices. Errors: ErrInput.
func (r *Request) Choices() (Choices, error) {
	c := Choices{Metadata: map[string]any{}}
	var cfg struct {
		Limit        json.RawMessage            `json:"recursion_limit"`
		AtLimit      string                     `json:"on_recursion_limit"`
		Configurable map[string]json.RawMessage `json:"configurable"`
		Context      map[string]json.RawMessage `json:"context"`
	}
	if len(r.Config) > 0 {
		if err := json.Unmarshal(r.Config, &cfg); err != nil {
			return c, fmt.Errorf("%w: config: %v", ErrInput, err)
		}
	}
	var options map[string]json.RawMessage
	if len(r.Context) > 0 {
		if err := json.Unmarshal(r.Context, &options); err != nil {
			return c, fmt.Errorf("%w: context must be an object: %v", ErrInput, err)
		}
	}
	var limit int
	if json.Unmarshal(cfg.Limit, &limit) == nil && limit > 0 {
		c.Limit = limit
	}
	c.AtLimit = cfg.AtLimit
	get := func(key string) (json.RawMessage, bool) {
		for _, m := range []map[string]json.RawMessage{options, cfg.Context, cfg.Configurable} {
			if v, ok := m[key]; ok && string(v) != "null" {
				return v, true
			}
		}
		return nil, false
	}
	read := func(key string, into any) (bool, error) {
		v, ok := get(key)
		if !ok {
			return false, nil
		}
		if err := json.Unmarshal(v, into); err != nil {
			return false, fmt.Errorf("%w: %s: %v", ErrInput, key, err)
		}
		return true, nil
	}
	var mode string
	if v, ok := get("mode"); ok && json.Unmarshal(v, &mode) == nil {
		c.mode(mode)
	}
	var err error
	for _, o := range []struct {
		key  string
		into any
		set  *bool
	}{
		{"model_name", &c.ModelName, nil},
		{"thinking_enabled", &c.Thinking, &c.thinkingSet},
		{"reasoning_effort", &c.ReasoningEffort, nil},
		{"is_plan_mode", &c.PlanMode, nil},
		{"subagent_enabled", &c.Subagents, nil},
		{"max_concurrent_subagents", &c.MaxConcurrentSubagents, nil},
		{"agent_name", &c.AgentName, nil},
		{"is_bootstrap", &c.Bootstrap, nil},
		{"disable_clarification", &c.DisableClarification, nil},
		{"channel_guest", &c.Guest, nil},
		{"interactive", &c.Interactive, nil},
		{"timezone", &c.Timezone, nil},
		{"checkpoint_id", &c.checkpoint, nil},
		{"thread_id", &c.threadID, nil},
		{"project_id", &c.Project, nil},
		{"on_recursion_limit", &c.AtLimit, nil},
		{"client_tools", &c.ClientTools, nil},
		{"knowledge", &c.Knowledge, nil},
	} {
		var given bool
		if given, err = read(o.key, o.into); err != nil {
			return c, err
		}
		if o.set != nil && given {
			*o.set = true
		}
	}
	if c.AtLimit != "" && c.AtLimit != "answer" && c.AtLimit != "error" {
		return c, fmt.Errorf("%w: on_recursion_limit: want answer or error, got %.40q", ErrInput, c.AtLimit)
	}
	if err := checkClientTools(c.ClientTools); err != nil {
		return c, err
	}
	if len(c.Knowledge) > MaxKnowledge {
		return c, fmt.Errorf("%w: knowledge: want %d names at most, got %d", ErrInput, MaxKnowledge, len(c.Knowledge))
	}
	for i, name := range c.Knowledge {
		if name == "" || len(name) > maxKnowledgeName {
			return c, fmt.Errorf("%w: knowledge.%d: want the name or the id of a collection, got %.40q", ErrInput, i, name)
		}
	}
	for _, key := range shownOptions {
		if v, ok := get(key); ok && len(v) < 200 && !strings.HasPrefix(key, "__") {
			c.Metadata[key] = v
		}
	}
	if c.ModelName == "" {
		c.ModelName = r.HeaderModel
	}
	c.Secrets = r.Secrets
	c.NonInteractive = r.Origin == OriginCron
	if len(r.Secrets) == 0 {
		c.LostSecrets = r.SecretNames
	}
	c.ThinkingGiven = c.thinkingSet
	if c.ThinkingAsked = c.thinkingSet && c.Thinking; !c.thinkingSet {
		c.Thinking = true
	}
	return c, nil
}

// mode sets the options of DeerFlow's mode with this name. Explicit options take precedence; other
// names have no effect.
func (c *Choices) mode(name string) {
	efforts := map[string]string{"flash": "", "thinking": "low", "pro": "medium", "ultra": "high"}
	effort, ok := efforts[name]
	if !ok {
		return
	}
	c.thinkingSet, c.Thinking, c.ReasoningEffort = true, name != "flash", effort
	c.PlanMode, c.Subagents = name == "pro" || name == "ultra", name == "ultra"
}

// ThreadID returns the thread named inside config.configurable or context, or "".
func (r *Request) ThreadID() string {
	c, err := r.Choices()
	if err != nil {
		return ""
	}
	return c.threadID
}
