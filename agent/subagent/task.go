package subagent

import (
	"context"
	_ "embed" // the text of the tool
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fawn/agent"
)

//go:embed task.md
var taskText string

// Options configure the tool.
type Options struct {
	Kinds []Kind
	// Model is the name of the model that a kind is given.
	Model func(Kind) string
	// Run runs a helper to its end. An error means that nothing should be reported: the helper couldn't run, or another
	// server continues it.
	Run func(ctx context.Context, t *agent.Turn, j Job) (End, error)
	// Store keeps a report in a file of the thread, and returns its path.
	Store func(ctx context.Context, t *agent.Turn, call, text string) (path string, err error)
	// After calls f after d, unless it is stopped; nil uses the clock.
	After func(d time.Duration, f func()) (stop func() bool)
	// Late is the cause of the end of Run's context when the helper's time is up.
	Late error
}

// Job is the work of one helper.
type Job struct {
	Kind        Kind
	Call        string // id of the call
	Description string
	Prompt      string
	Groups      []string // groups of permitted tools; none = all of its kind's

	// Began must be called once the helper starts, with its state so far if it resumes after a crash, and Tell with
	// each of its steps: they return the events to record.
	Began func(soFar agent.State, again bool)
	Tell  func(agent.Step) []json.RawMessage
}

// How a helper ended.
const (
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
	TimedOut  = "timed_out"
)

// End is the result of a helper.
type End struct {
	Status string // one of the above
	Reason string // why it ended early: token_capped, turn_capped, loop_capped, or ""
	Error  string
	State  agent.State
}

const taskSchema = `{"type":"object","required":["description","prompt","subagent_type"],"properties":{
"description":{"type":"string","description":"what the helper is to do, in 3 to 5 words"},
"prompt":{"type":"string","description":"the whole task, with everything the helper must know and what it is to report"},
"subagent_type":{"type":"string","description":"the kind of helper","enum":%s}}}`

// maxPrompt limits a helper's task, in bytes.
const maxPrompt = 256 << 10

// New returns the tool.
func New(o Options) *agent.Tool {
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	kinds, err := json.Marshal(names(o.Kinds))
	if err != nil { // names always encode
		kinds = []byte("[]")
	}
	return &agent.Tool{
		Name: Tool, Description: strings.TrimSpace(taskText), Schema: fmt.Appendf(nil, taskSchema, kinds),
		Resumes: true,
		Run: func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			return o.task(ctx, t, c)
		},
	}
}

// arguments are the current arguments, and those of the tool's first versions.
type arguments struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`

	Instruction string `json:"instruction"`
	Context     string `json:"context"`
	Tools       list   `json:"tools"`
}

// list is a list of names, which may be one name, or a list in a string.
type list []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *list) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return json.Unmarshal(raw, (*[]string)(l))
	}
	if json.Unmarshal([]byte(text), (*[]string)(l)) != nil {
		*l = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	}
	return nil
}

// read parses a call into a job, or describes its error.
func (o Options) read(c agent.ToolCall) (j Job, problem string) {
	var a arguments
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return j, "the arguments cannot be read: " + err.Error()
	}
	j = Job{Call: c.ID, Description: a.Description, Prompt: a.Prompt, Groups: a.Tools}
	if strings.TrimSpace(j.Prompt) == "" {
		j.Prompt = a.Instruction
	}
	if strings.TrimSpace(j.Prompt) == "" {
		return j, `argument "prompt" is missing`
	}
	if strings.TrimSpace(a.Context) != "" {
		j.Prompt = a.Context + "\n\n" + j.Prompt
	}
	if len(j.Prompt) > maxPrompt {
		return j, fmt.Sprintf("the prompt has %d bytes; at most %d are taken. Put what is long into a file and name it",
			len(j.Prompt), maxPrompt)
	}
	if strings.TrimSpace(j.Description) == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(j.Prompt), "\n")
		j.Description = agent.Head(line, 60)
	}
	kind, ok := find(o.Kinds, a.Type)
	if !ok {
		return j, fmt.Sprintf("unknown subagent_type %q; available are %s", agent.Head(a.Type, 80),
			strings.Join(names(o.Kinds), ", "))
	}
	j.Kind = kind
	return j, ""
}

func (o Options) task(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
	j, problem := o.read(c)
	if problem != "" {
		return failure(problem), nil
	}
	h := &helper{Options: o, turn: t, job: j, model: o.Model(j.Kind)}
	j.Tell = h.tell
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := func() bool { return true }
	j.Began = func(soFar agent.State, again bool) {
		h.began(soFar, again)
		if j.Kind.Timeout > 0 {
			stop = o.After(j.Kind.Timeout, func() { cancel(o.Late) })
		}
	}
	end, err := o.Run(work, t, j)
	stop()
	if err != nil {
		return agent.Result{}, err
	}
	return h.result(ctx, end), nil
}

// failure returns the result of a call for which no helper is sent.
func failure(why string) agent.Result {
	r := agent.ErrorResult("Task failed. Error: " + why)
	r.Kwargs = map[string]any{"subagent_status": Failed, "subagent_error": why}
	return r
}
