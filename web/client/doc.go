// Package client runs a task from a command line: it talks to a server over the API, shows the run's progress, and
// prints the answer and its files in a form for scripts. It changes and searches collections of documents, too.
package client

import (
	"io"
	"net/http"
	"time"
)

// Task is one run.
type Task struct {
	Text    string
	Files   []string // to upload first
	Model   string   // "" is the server's choice
	Mode    string   // flash, thinking, pro or ultra; "" is the server's choice
	Agent   string   // custom agent, "" for none
	Project string   // name or id of the project of a new chat, "" for none
	Thread  string   // chat to continue, "" for a new one

	Knowledge []string // names or ids of collections of documents that the run also searches

	Out     string // target folder for files of the answer, "" for none
	Timeout time.Duration
	// Watch is called with all events of the run and its helpers, from one goroutine. Nil watches nothing.
	Watch func(event string, data []byte)
}

// Server is the server of a run.
type Server struct {
	URL    string
	Token  string // sent as a bearer token if there is one
	Client *http.Client
}

// Screen is the output for progress and answers.
type Screen struct {
	Answer   io.Writer
	Progress io.Writer // a line for each step
	JSON     bool      // print the answer as one object
	Live     bool      // answers go to a terminal: text appears as it arrives
}

// Status is the outcome of a run.
type Status string

// The ends of a run.
const (
	Success   Status = "success"
	Failed    Status = "error"
	Waiting   Status = "needs_answer" // it asked a question
	TimedOut  Status = "timeout"
	Cancelled Status = "cancelled"
	CutOff    Status = "cut_off" // the model's limit cut the answer
)

// Result is the object that Screen.JSON asks for.
type Result struct {
	Status    Status     `json:"status"`
	Answer    string     `json:"answer"`
	Questions []string   `json:"questions,omitempty"`
	Error     string     `json:"error,omitempty"`
	Reason    string     `json:"stop_reason,omitempty"` // why the run ended early
	ThreadID  string     `json:"thread_id"`
	RunID     string     `json:"run_id"`
	Artifacts []Artifact `json:"artifacts"`
	Usage     Usage      `json:"usage"`
	Seconds   float64    `json:"seconds"`
}

// Artifact is a file of the answer.
type Artifact struct {
	Path string `json:"path"`           // path used by the agent
	File string `json:"file,omitempty"` // path of the copy
}

// Usage is the cost of the run in tokens.
type Usage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Total  int `json:"total_tokens"`
	Calls  int `json:"model_calls"`
}
