package middleware

import "fmt"

// Amount is a length of conversation: a fraction of the model's window, tokens, or messages.
type Amount struct {
	Type  string  `yaml:"type" enum:"fraction|tokens|messages" required:"true"`
	Value float64 `yaml:"value" min:"0" required:"true"`
}

// Check returns the problem with an amount, or "".
func (a Amount) Check() string {
	if a.Type == "fraction" && a.Value > 1 {
		return fmt.Sprintf("a fraction must be from 0 to 1, not %v", a.Value)
	}
	return ""
}

// CompactionOptions shorten a long conversation for the model; the stored messages stay whole.
type CompactionOptions struct {
	Enabled   bool     `yaml:"enabled"`                          // false leaves only the guard against overflow
	ModelName string   `yaml:"model_name"`                       // empty = the run's model
	Trigger   []Amount `yaml:"trigger" one:"true"`               // any of them starts it
	Keep      Amount   `yaml:"keep"`                             // part that stays unsummarized
	Trim      int      `yaml:"trim_tokens_to_summarize" min:"0"` // token limit of the summary call's input; 0 = none
	Prompt    string   `yaml:"summary_prompt"`                   // empty = built in

	SkillFileReadToolNames []string `yaml:"skill_file_read_tool_names"`
}

// DefaultCompaction starts at four fifths of the window and keeps 20 messages.
func DefaultCompaction() CompactionOptions {
	return CompactionOptions{
		Enabled: true, Trigger: []Amount{{Type: "fraction", Value: 0.8}}, Keep: Amount{Type: "messages", Value: 20},
		Trim: 4000, SkillFileReadToolNames: []string{"read_file", "read", "view", "cat"},
	}
}
