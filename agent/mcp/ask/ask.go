package ask

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fawn/agent"
)

// Types of the events about questions.
const (
	TypeQuestion = "mcp_question"
	TypeAnswer   = "mcp_answer" // or the question closed without an answer
)

// Possible reactions to a question.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

const (
	maxQuestions = 8 // limit per thread
	maxContent   = 256 << 10
)

var (
	// ErrNoQuestion means that a question isn't open, or no longer open.
	ErrNoQuestion = errors.New("there is no such question")
	// ErrAnswered means that the question was answered already.
	ErrAnswered = errors.New("the question has been answered already")
	// ErrContent wraps the reason why an answer doesn't fit the form.
	ErrContent = errors.New("the answer does not fit the form")
	// ErrMany means that a thread has reached its limit of open questions.
	ErrMany = errors.New("too many questions are open")
)

// Question is a server's question to the person during a call.
type Question struct {
	ID      string          `json:"id"`
	Thread  string          `json:"thread_id"`
	Server  string          `json:"server"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"` // schema of the requested content: a flat object
	Until   time.Time       `json:"until"`

	Fields []Field `json:"-"` // from the schema, required fields first
	form   form
}

// Sent is a question as its server has sent it.
type Sent struct {
	Thread, Server, Message string
	Schema                  any                 // nil only requests consent
	Veil                    func(string) string // masks secrets in a text
	Patience                time.Duration       // limit of waiting for an answer
	Now                     time.Time           // by the clock of the [Board]
}

// New parses a server's question.
func New(s Sent) (*Question, error) {
	raw, err := schemaOf(s.Schema, s.Veil)
	if err != nil {
		return nil, err
	}
	q := &Question{ID: rand.Text(), Thread: s.Thread, Server: s.Server, Schema: raw,
		Until: s.Now.Add(s.Patience).UTC(), Message: agent.Visible(agent.Clip(s.Veil(s.Message), maxMessageLen))}
	return q, q.read()
}

func (q *Question) read() (err error) {
	q.form, err = read(q.Schema)
	q.Fields = q.form.fields
	return err
}

// Reply is an answer.
type Reply struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"` // with Accept
}

// fit converts an answer to the form's types, or returns the reason why it doesn't fit.
func (q *Question) fit(r Reply) (Reply, error) {
	switch r.Action {
	case Accept:
		if r.Content == nil {
			r.Content = map[string]any{}
		}
		if err := q.form.schema.Validate(r.Content); err != nil {
			return r, fmt.Errorf("%w: %s", ErrContent, agent.Clip(err.Error(), 300))
		}
	case Decline, Cancel:
		r.Content = nil
	default:
		return r, fmt.Errorf("%w: the action must be accept, decline or cancel", ErrContent)
	}
	return r, nil
}

// Event is announced for a new question.
func (q *Question) Event() map[string]any {
	return map[string]any{"type": TypeQuestion, "thread_id": q.Thread, "id": q.ID, "server": q.Server,
		"message": q.Message, "schema": q.Schema, "until": q.Until}
}

// Over is announced for a question that closed.
func (q *Question) Over(r Reply) map[string]any {
	return map[string]any{"type": TypeAnswer, "thread_id": q.Thread, "id": q.ID, "action": r.Action}
}
