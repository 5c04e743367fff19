package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
)

// Types of the events about questions of servers.
const (
	TypeQuestion = "mcp_question"
	TypeAnswer   = "mcp_answer" // or the question is over without one
)

// What a person does with a question.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Bounds of questions.
const (
	maxQuestions  = 8 // of a thread at a time
	maxFields     = 40
	maxOptions    = 100
	maxFormSchema = 64 << 10
	maxMessageLen = 4000
)

var (
	// ErrNoQuestion is the error about a question which is not open, or not any more.
	ErrNoQuestion = errors.New("there is no such question")
	// ErrContent marks an answer that does not fit the form; it says why.
	ErrContent = errors.New("the answer does not fit the form")
)

// Question is what a server asks the person while a call of its waits.
type Question struct {
	ID      string          `json:"id"`
	Thread  string          `json:"thread_id"`
	Server  string          `json:"server"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"` // of the content that is wanted: a flat object
	Until   time.Time       `json:"until"`

	Fields []Field `json:"-"` // of the schema, those that are required first
}

// Field is one of a question's form.
type Field struct {
	Name        string
	Title       string
	Description string
	Kind        string // string, number, integer, boolean or array
	Format      string // of a string: email, uri, date or date-time
	Options     []Option
	Default     string
	Chosen      []string // of an array: the options that are chosen at first
	Required    bool
}

// Option is one that can be chosen.
type Option struct{ Value, Title string }

// Reply is an answer.
type Reply struct {
	Action  string
	Content map[string]any // with Accept
}

// open is a question with the call that waits for it.
type open struct {
	Question
	schema *jsonschema.Resolved
	reply  chan Reply // has room for one
}

// Questions are those of a thread that are open, the oldest first.
func (p *Pool) Questions(thread string) []*Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []*Question{}
	for _, q := range p.asked {
		if q.Thread == thread {
			out = append(out, &q.Question)
		}
	}
	return out
}

// Answer ends a question: the call goes on. A content that does not fit leaves it open.
func (p *Pool) Answer(thread, id string, r Reply) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.asked, func(q *open) bool { return q.Thread == thread && q.ID == id })
	if i < 0 {
		return ErrNoQuestion
	}
	q := p.asked[i]
	switch r.Action {
	case Accept:
		if r.Content == nil {
			r.Content = map[string]any{}
		}
		if err := q.schema.Validate(r.Content); err != nil {
			return fmt.Errorf("%w: %s", ErrContent, clip(err.Error(), 300))
		}
	case Decline, Cancel:
		r.Content = nil
	default:
		return fmt.Errorf("%w: the action is accept, decline or cancel", ErrContent)
	}
	p.asked = slices.Delete(p.asked, i, i+1)
	q.reply <- r
	return nil
}

// elicit is a server's question. Nobody is asked where nobody is there to be asked.
func (s *server) elicit(ctx context.Context, e *session, params *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	p := s.pool
	if e.thread == "" || params.Mode == "url" || p.o.Patience == nil {
		return &sdk.ElicitResult{Action: Cancel}, nil
	}
	patience := p.o.Patience(ctx, e.thread)
	if patience <= 0 {
		return &sdk.ElicitResult{Action: Cancel}, nil
	}
	q, err := s.question(e.thread, params, patience)
	if err != nil {
		s.log.add("a question is refused: " + err.Error())
		return nil, err
	}
	p.mu.Lock()
	count := 0
	for _, o := range p.asked {
		if o.Thread == e.thread {
			count++
		}
	}
	if count < maxQuestions && !p.closed {
		p.asked = append(p.asked, q)
	} else {
		p.mu.Unlock()
		return &sdk.ElicitResult{Action: Cancel}, nil
	}
	p.mu.Unlock()
	e.pause(true)
	defer e.pause(false)
	p.announce(e.thread, map[string]any{"type": TypeQuestion, "thread_id": q.Thread, "id": q.ID, "server": q.Server,
		"message": q.Message, "schema": q.Schema, "until": q.Until})
	r := p.awaitReply(ctx, e, q, patience)
	p.announce(e.thread, map[string]any{"type": TypeAnswer, "thread_id": q.Thread, "id": q.ID, "action": r.Action})
	return &sdk.ElicitResult{Action: r.Action, Content: r.Content}, nil
}

// awaitReply waits for the person. Without an answer in time, or when nobody needs one any more, the
// question is taken back.
func (p *Pool) awaitReply(ctx context.Context, e *session, q *open, patience time.Duration) Reply {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-q.reply:
		return r
	case <-timer.C:
	case <-ctx.Done():
	case <-e.closing:
	case <-e.done:
	case <-e.unused():
	}
	p.mu.Lock()
	p.asked = slices.DeleteFunc(p.asked, func(o *open) bool { return o == q })
	p.mu.Unlock()
	select {
	case r := <-q.reply: // at the last moment
		return r
	default:
		return Reply{Action: Cancel}
	}
}

func (p *Pool) announce(thread string, event map[string]any) {
	if p.o.Announce == nil {
		return
	}
	if data, err := agent.Encode(event); err == nil { // texts and times always encode
		p.o.Announce(thread, data)
	}
}

// question reads what a server asks.
func (s *server) question(thread string, params *sdk.ElicitParams, patience time.Duration) (*open, error) {
	raw, err := json.Marshal(params.RequestedSchema)
	if err != nil || len(raw) > maxFormSchema {
		return nil, errors.New("the schema of the question is too large")
	}
	if params.RequestedSchema == nil {
		raw = []byte(`{"type":"object","properties":{}}`)
	}
	if clean := []byte(s.veil.over(string(raw))); !bytes.Equal(clean, raw) {
		if raw = clean; !json.Valid(raw) {
			return nil, errors.New("the schema of the question has a secret in it")
		}
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, errors.New("the schema of the question is not valid")
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, errors.New("the schema of the question is not valid")
	}
	if len(schema.Properties) > maxFields {
		return nil, fmt.Errorf("the question has more than %d fields", maxFields)
	}
	q := &open{schema: resolved, reply: make(chan Reply, 1)}
	q.Question = Question{ID: rand.Text(), Thread: thread, Server: s.name, Schema: raw,
		Until: time.Now().Add(patience).UTC(), Message: agent.Visible(clip(s.veil.over(params.Message), maxMessageLen))}
	for name, f := range schema.Properties {
		field, err := s.field(name, f)
		if err != nil {
			return nil, err
		}
		field.Required = slices.Contains(schema.Required, name)
		q.Fields = append(q.Fields, field)
	}
	slices.SortFunc(q.Fields, func(a, b Field) int { // the library doesn't keep the server's order
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return q, nil
}

// field reads one of the form.
func (s *server) field(name string, f *jsonschema.Schema) (Field, error) {
	if f == nil {
		return Field{}, fmt.Errorf("the field %q has no schema", clip(name, 80))
	}
	clean := func(text string, most int) string { return agent.Visible(clip(s.veil.over(text), most)) }
	out := Field{Name: name, Title: clean(cmp.Or(f.Title, name), 200), Description: clean(f.Description, 1000),
		Kind: f.Type, Format: f.Format}
	of := f
	if f.Type == "array" && f.Items != nil {
		of = f.Items
	}
	values := of.Enum
	titles, _ := of.Extra["enumNames"].([]any)
	for _, one := range append(slices.Clone(of.OneOf), of.AnyOf...) {
		if one.Const != nil {
			values, titles = append(values, *one.Const), append(titles, one.Title)
		}
	}
	for i, v := range values {
		value, ok := v.(string)
		if !ok || i == maxOptions {
			return out, fmt.Errorf("the choices of %q are no texts, or too many", clip(name, 80))
		}
		title := ""
		if i < len(titles) {
			title, _ = titles[i].(string)
		}
		out.Options = append(out.Options, Option{value, clean(cmp.Or(title, value), 200)})
	}
	if d := bytes.TrimSpace(f.Default); len(d) > 0 {
		if f.Type == "array" {
			_ = json.Unmarshal(d, &out.Chosen) // nothing is chosen at first if it is no list of texts
		} else if json.Unmarshal(d, &out.Default) != nil {
			out.Default = string(d) // a number or a truth value
		}
	}
	switch f.Type {
	case "string", "number", "integer", "boolean":
		return out, nil
	case "array":
		if len(out.Options) > 0 {
			return out, nil
		}
	}
	return out, fmt.Errorf("the field %q is of a kind that has no place in a form", clip(name, 80))
}
