package agent

import "encoding/json"

// Todo is one item of the plan. Title equals Content; older clients read it.
type Todo struct {
	ID      string `json:"id,omitempty"`
	Content string `json:"content"`
	Title   string `json:"title"`
	Status  string `json:"status"` // pending, in_progress, completed
}

// UnmarshalJSON reads {content, status} and {id, title, status}; an id may be a number.
func (t *Todo) UnmarshalJSON(b []byte) error {
	type plain Todo
	read := struct {
		*plain
		ID json.RawMessage `json:"id"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	var number json.Number
	switch {
	case read.ID == nil:
	case json.Unmarshal(read.ID, &number) == nil:
		t.ID = number.String()
	default:
		if err := json.Unmarshal(read.ID, &t.ID); err != nil {
			return err
		}
	}
	if t.Content == "" {
		t.Content = t.Title
	}
	t.Title = t.Content
	if t.Status == "" {
		t.Status = "pending"
	}
	return nil
}

// SandboxRef names the sandbox a thread uses: "{provider}:{thread}".
type SandboxRef struct {
	ID string `json:"sandbox_id"`
}

// ThreadData holds the virtual folders of a thread, never host paths.
type ThreadData struct {
	Workspace string `json:"workspace_path"`
	Uploads   string `json:"uploads_path"`
	Outputs   string `json:"outputs_path"`
}

// Upload is a file that a person added to the thread. Size is in bytes.
type Upload struct {
	Filename  string `json:"filename"`
	Size      int64  `json:"size"`
	Path      string `json:"path"`
	Extension string `json:"extension"`
}

// ToldFile is a file the model was told about, with the message that did so.
type ToldFile struct {
	Upload
	Message string `json:"message"`
	Missing bool   `json:"missing,omitzero"` // a client wrote it into the state, but it doesn't exist
}

// Image refers to an image the model viewed; its bytes stay on disk. A client that adds one to the state
// may include its bytes.
type Image struct {
	Base64   string `json:"base64,omitempty"`
	MimeType string `json:"mime_type"`
	Size     int64  `json:"size"`
	Path     string `json:"actual_path"`
}

// Goal is a standing objective; an empty one means none.
type Goal struct {
	Objective        string          `json:"objective"`
	Status           string          `json:"status"`
	CreatedAt        string          `json:"created_at"`
	UpdatedAt        string          `json:"updated_at"`
	Continuations    int             `json:"continuation_count"`
	MaxContinuations int             `json:"max_continuations"`
	NoProgress       int             `json:"no_progress_count"`
	MaxNoProgress    int             `json:"max_no_progress_continuations"`
	LastEvaluation   json.RawMessage `json:"last_evaluation,omitempty"`
}

// Promoted lists deferred tools the model has found; Catalog is the hash they belong to.
type Promoted struct {
	Catalog string   `json:"catalog_hash"`
	Names   []string `json:"names"`
}

// Delegation is one entry of the ledger of helpers sent.
type Delegation struct {
	ID          string `json:"id"` // tool call id
	RunID       string `json:"run_id,omitempty"`
	Description string `json:"description"`
	Type        string `json:"subagent_type"`
	Status      string `json:"status"`
	Brief       string `json:"result_brief,omitempty"`
	SHA256      string `json:"result_sha256,omitempty"`
	Ref         string `json:"result_ref,omitempty"`
	StopReason  string `json:"stop_reason,omitempty"`
	CreatedAt   string `json:"created_at"`
}

// Done reports whether the helper has ended.
func (d Delegation) Done() bool { return d.Status != "" && d.Status != "in_progress" }

// SkillRef is a skill the agent has read.
type SkillRef struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description"`
	LoadedAt    string `json:"loaded_at"`
}

// BackgroundTask is a tool call that continues outside the run.
type BackgroundTask struct {
	ID        string `json:"task_id"`
	Name      string `json:"task_name"`
	Status    string `json:"status"`
	UpdatedAt string `json:"updated_at"`
}

// Place is the position of a [Note] relative to its message.
type Place string

// Places of a note.
const (
	Before Place = "before" // a separate message before the anchor
	Prefix Place = "prefix" // text before the anchor's own
	After  Place = "after"  // a separate message after the anchor
)

// Note is something the server adds to requests at a message, the same bytes in every
// later turn, so that the provider's prompt cache keeps matching. Messages themselves are
// never rewritten.
type Note struct {
	ID      string `json:"id"`
	Message string `json:"message"` // id of the anchor
	Place   Place  `json:"place"`
	Kind    string `json:"kind"` // uploads, date, memory, skill, summary, image, …
	Text    string `json:"text,omitempty"`
	Blob    string `json:"blob,omitempty"` // virtual path of an image

	// Facts are the ids of the memories the note contains, so that its origin can be shown.
	Facts []string `json:"facts,omitempty"`
}

// View hides the older part of a long thread from requests; the log itself stays whole.
type View struct {
	Summary string   `json:"summary"`         // as used by requests instead of the hidden part
	Plain   string   `json:"plain,omitempty"` // the summary alone, for the next one
	From    string   `json:"from"`            // id of the first message still sent
	Keep    []string `json:"keep,omitempty"`  // ids of messages before From which are sent all the same
	Cut     []string `json:"cut,omitempty"`   // ids of tool messages with omitted output
	Tried   string   `json:"tried,omitempty"` // id of the newest message when a summary failed
}
