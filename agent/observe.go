package agent

import (
	"context"
	"time"
)

// Observer measures the calls of runs. Its methods are called by many goroutines, once or twice for each call and never
// for a token, and must not block.
type Observer interface {
	// Model is called after each attempt of a model call.
	Model(ctx context.Context, t *Turn, c *ModelCall)
	// Tool is called when a tool call begins; known reports whether the tool exists. It returns the tool's context and
	// a function to call with the outcome.
	Tool(ctx context.Context, t *Turn, c ToolCall, known bool) (context.Context, func(Result, error))
}

// ModelCall is one attempt to get an answer from a model.
type ModelCall struct {
	Began   time.Time
	First   time.Duration // time until the first visible output; 0 without any
	Took    time.Duration
	Model   string   // configured name, "" for one without a name
	Request *Request // the model's request; it must not be changed
	Message *Message // the answer so far; nil without any
	Err     error
}

// Named is a model that knows its configured name.
type Named interface{ Name() string }

// watch returns the call of a model that has begun, for the observer of a turn.
func watch(t *Turn, model Model, req *Request) *ModelCall {
	if t.Observer == nil {
		return nil
	}
	c := &ModelCall{Began: time.Now(), Request: req}
	if n, ok := model.(Named); ok {
		c.Model = n.Name()
	}
	return c
}

// saw records the first visible output.
func (c *ModelCall) saw() {
	if c != nil && c.First == 0 {
		c.First = max(time.Since(c.Began), 1)
	}
}

// ended reports the outcome of the call to the observer.
func (c *ModelCall) ended(ctx context.Context, t *Turn, m *Message, err error) {
	if c != nil {
		c.Took, c.Message, c.Err = time.Since(c.Began), m, err
		t.Observer.Model(ctx, t, c)
	}
}

// observed wraps f to notify the turn's observer of each call.
func (l *loop) observed(f ToolFunc) ToolFunc {
	return func(ctx context.Context, t *Turn, c ToolCall) (r Result, err error) {
		if t.Observer == nil {
			return f(ctx, t, c)
		}
		ctx, ended := t.Observer.Tool(ctx, t, c, l.set.tool(c.Name) != nil)
		defer func() { ended(r, err) }()
		return f(ctx, t, c)
	}
}

// Observers are several observers as one.
type Observers []Observer

// Model implements Observer.
func (o Observers) Model(ctx context.Context, t *Turn, c *ModelCall) {
	for _, one := range o {
		one.Model(ctx, t, c)
	}
}

// Tool implements Observer. The outcome is reported to the observers in reverse order.
func (o Observers) Tool(ctx context.Context, t *Turn, c ToolCall, known bool) (context.Context, func(Result, error)) {
	ends := make([]func(Result, error), len(o))
	for i, one := range o {
		ctx, ends[i] = one.Tool(ctx, t, c, known)
	}
	return ctx, func(r Result, err error) {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i](r, err)
		}
	}
}
