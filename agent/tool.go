package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Tool is a function that a model can call. Schema is the JSON Schema of its arguments. Run returns an error if the
// tool couldn't work at all; results that the model can act on, including failures, are a [Result]. Calls of one
// message run concurrently, and in order only if Access reports that they touch the same file: Run may only read
// t.State.
type Tool struct {
	Name        string
	Description string
	Group       string
	Deferred    bool        // its schema may be hidden until the model searches for it
	Server      string      // origin of untrusted results: an MCP server's name, "client" or "acp"; empty for built-in tools
	MCP         bool        // Server is the name of an MCP server
	Native      string      // the tool's name on that server
	Prefer      *Preference // set when the server's owner prefers it over other tools
	Schema      json.RawMessage
	Access      func(c ToolCall) Access // nil touches no file
	Resumes     bool                    // a call interrupted by a crash runs again: Run detects what was done already
	Run         func(ctx context.Context, t *Turn, c ToolCall) (Result, error)
}

// Preference tells models when to prefer a tool.
type Preference struct {
	Priority int      // higher ones first
	Keywords []string // of requests that it is preferred for; none means always
}

// Result is a tool's result.
type Result struct {
	Content  Content
	IsError  bool
	Artifact json.RawMessage // shown to clients, not to the model
	Kwargs   map[string]any  // additional_kwargs of the tool message
	Patch    State           // applied with the tool messages, as one step
	End      bool            // end the run after this step

	// Cut means the run was interrupted before the call ended. A resumable tool is called again; otherwise the result
	// mentions it.
	Cut bool

	// Whole locates the full text if Content lacks its middle; nil if nothing is missing. It is for stages and never
	// stored.
	Whole *Whole

	// MessageID is the tool message's id if readers must know it in advance, as for a question or a result recorded
	// before an interruption. It is unique in the thread. "" creates a new id.
	MessageID string
}

// Whole is a file with the text of a result that was too long.
type Whole struct {
	Path   string // virtual
	Bytes  int64  // size of the text
	Lines  int64
	Stored int64 // bytes of it that are in the file, from its beginning
}

// Note describes the location and size of the text.
func (w *Whole) Note() string {
	if w.Stored < w.Bytes {
		return fmt.Sprintf("[The first %d of %d bytes are in %s. The rest is lost: the thread's storage is full, except for the part reserved for other files]",
			w.Stored, w.Bytes, w.Path)
	}
	return fmt.Sprintf("[All %d bytes of the output are in %s]", w.Bytes, w.Path)
}

// TextResult returns a plain result.
func TextResult(s string) Result { return Result{Content: Text(s)} }

// ErrorResult returns a result that reports a failure to the model.
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

// maxLine limits the bytes of an argument that a line about a call shows.
const maxLine = 200

// Line describes the call in one line for people: the tool's name and its most informative argument.
func (c ToolCall) Line() string {
	var args map[string]any
	if json.Unmarshal(c.Args, &args) != nil {
		return c.Name
	}
	for _, name := range []string{"description", "query", "url", "path", "file_path", "command", "question", "name"} {
		if about, ok := args[name].(string); ok && about != "" {
			about = strings.Join(strings.Fields(about), " ")
			if len(about) > maxLine {
				cut := maxLine
				for cut > 0 && !utf8.RuneStart(about[cut]) {
					cut--
				}
				about = about[:cut] + "…"
			}
			return c.Name + ": " + about
		}
	}
	return c.Name
}
