package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// Tool is something a model can call. Schema is a JSON Schema object of its arguments.
// Run's error means the tool could not work at all; a result the model can act on, also a
// bad one, is a [Result]. Calls of one message run at the same time, in order only where
// Access says that they touch the same file: Run only reads t.State.
type Tool struct {
	Name        string
	Description string
	Group       string
	Deferred    bool        // its schema may stay hidden until the model looks for it
	Server      string      // whose tool it is, where results are not trusted: an MCP server's, "client" or "acp"; empty for our own
	MCP         bool        // Server is the name of an MCP server
	Native      string      // what that server calls it
	Prefer      *Preference // when its owner wants it used before others; nil says nothing
	Schema      json.RawMessage
	Access      func(c ToolCall) Access // nil touches no file
	Resumes     bool                    // a call that a crash cut off is made again: Run finds what it had done
	Run         func(ctx context.Context, t *Turn, c ToolCall) (Result, error)
}

// Preference tells models when to use a tool rather than others.
type Preference struct {
	Priority int      // higher ones first
	Keywords []string // of texts that ask for it; none means always
}

// Result is a tool's result.
type Result struct {
	Content  Content
	IsError  bool
	Artifact json.RawMessage // shown to clients, not to the model
	Kwargs   map[string]any  // additional_kwargs of the tool message
	Patch    State           // applied with the tool messages, as one step
	End      bool            // end the run after this step

	// Cut says that the run was cut off before the call ended. A tool that resumes is called
	// again instead; for others the result says so.
	Cut bool

	// Whole is where all of a text is whose middle Content lacks; nil where nothing is
	// missing. It is for stages and never stored.
	Whole *Whole

	// MessageID is the id of the tool message when readers know it or must be able to find
	// it: a result that was recorded before the run was cut off, a question. It is unique
	// in the thread. "" makes a new one.
	MessageID string
}

// Whole is a file with the text of a result that was too long.
type Whole struct {
	Path   string // virtual
	Bytes  int64  // of the text
	Lines  int64
	Stored int64 // bytes of it that are in the file, from its beginning
}

// Note reports where the text is and how much of it.
func (w *Whole) Note() string {
	if w.Stored < w.Bytes {
		return fmt.Sprintf("[The first %d of %d bytes are in %s. The rest is lost: the thread's storage is full, except for the part reserved for other files]",
			w.Stored, w.Bytes, w.Path)
	}
	return fmt.Sprintf("[All %d bytes of the output are in %s]", w.Bytes, w.Path)
}

// TextResult returns a plain result.
func TextResult(s string) Result { return Result{Content: Text(s)} }

// ErrorResult tells the model about a failure.
func ErrorResult(s string) Result { return Result{Content: Text(s), IsError: true} }

// Message returns the tool message that answers call c.
func (r Result) Message(id string, c ToolCall) *Message {
	m := &Message{ID: id, Type: TypeTool, Name: c.Name, ToolCallID: c.ID, Content: r.Content.visible(),
		Artifact: r.Artifact, Kwargs: r.Kwargs, Status: "success"}
	if r.IsError {
		m.Status = "error"
	}
	return m
}
