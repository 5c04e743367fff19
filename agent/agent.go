package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Agent is a model with its tools and stages, built for one run.
type Agent struct {
	Model   Model
	Tools   []*Tool
	Chain   []Middleware
	System  string
	Options ModelOptions // defaults of each call

	// Toolset returns the tool set that replaces Tools and System from now on. It is called before each model call and
	// returns the same value until something changes. A nil func changes nothing.
	Toolset func() *Toolset
}

// Toolset is the model's offer in one step: tools, and the system prompt that describes them. It never changes; it is
// replaced as a whole. The calls of an answer run with the set that was offered for it.
type Toolset struct {
	System string
	Tools  []*Tool
}

// Outcome is the result of a run.
type Outcome struct {
	Next       []string
	StopReason string // "", or why the run ended early: recursion_limit, loop_capped, breakpoint, …
	Breakpoint bool   // ended at a breakpoint; a run without input resumes at Next
}

// DefaultMaxSteps limits a run which sets no limit of its own.
const DefaultMaxSteps = 100

// StepLimitError ends a run that has used its steps up.
type StepLimitError struct{ Limit int }

// Error implements error. Clients match this sentence.
func (e *StepLimitError) Error() string {
	return fmt.Sprintf("Recursion limit of %d reached without hitting a stop condition. "+
		"You can increase the limit by setting the `recursion_limit` config key.", e.Limit)
}

// ErrorName returns the error's name for clients.
func (e *StepLimitError) ErrorName() string { return "GraphRecursionError" }

// closeTime limits the last writes of a cancelled run.
const closeTime = 5 * time.Second

// Run drives the loop until the answer is complete, a stage ends it, or ctx ends. State in
// t must already contain the input. On cancel and on errors everything seen so far is
// stored before Run returns the cause.
func (a *Agent) Run(ctx context.Context, t *Turn) (Outcome, error) {
	l := &loop{agent: a, turn: t, limit: t.MaxSteps}
	if l.limit <= 0 {
		l.limit = DefaultMaxSteps
	}
	l.offer()
	l.callModel, l.callTool = l.fold()
	return l.run(ctx)
}

// fold builds the two onions, first stage outermost.
func (l *loop) fold() (ModelFunc, ToolFunc) {
	model, tool := ModelFunc(l.agent.stream), ToolFunc(l.call)
	for _, m := range slices.Backward(l.agent.Chain) {
		if m.WrapModel != nil {
			model = m.WrapModel(model)
		}
		if m.WrapTool != nil {
			tool = m.WrapTool(tool)
		}
	}
	return model, l.observed(tool)
}

// loop is the state of one Run call.
type loop struct {
	agent     *Agent
	turn      *Turn
	set       *Toolset // current set of tools
	callModel ModelFunc
	callTool  ToolFunc
	pending   State // patches of hooks, waiting for the step they join
	steps     int
	limit     int
	last      *Last // the next model call is the run's last
	out       Outcome
}

func (l *loop) run(ctx context.Context) (Outcome, error) {
	node := NodeModel
	if slices.Contains(l.turn.From, NodeTools) {
		node = NodeTools
	}
	l.out.Next = []string{node}
	if slices.Contains(l.turn.From, NodeEnd) { // interrupted after its last message
		node, l.out.Next = NodeEnd, Next(&l.turn.State, NodeModel)
	}
	if l.turn.From == nil && Stops(l.turn.StopBefore, node) {
		return l.halted(), nil
	}
	if err := l.before(ctx, func(m Middleware) hook { return m.BeforeAgent }); err != nil {
		err = l.fail(ctx, node, l.out.Next, err)
		return l.out, err
	}
	for node != NodeEnd {
		if l.turn.FailAtLimit && l.steps >= l.limit {
			return l.out, &StepLimitError{Limit: l.limit}
		}
		var err error
		switch node {
		case NodeModel:
			node, err = l.modelStep(ctx)
		case NodeTools:
			node, err = l.toolStep(ctx)
		}
		if err != nil {
			return l.out, err
		}
		l.steps++
	}
	if l.out.Breakpoint { // hooks after the answer wait for the answer
		return l.out, nil
	}
	err := l.end(ctx)
	return l.out, err
}

// offer updates the set of tools.
func (l *loop) offer() {
	switch {
	case l.agent.Toolset != nil:
		l.set = l.agent.Toolset()
	case l.set == nil:
		l.set = &Toolset{System: l.agent.System, Tools: l.agent.Tools}
	}
}

type hook = func(context.Context, *Turn) (State, error)

// before runs one kind of hook in list order; patches apply at once and join the next step.
func (l *loop) before(ctx context.Context, pick func(Middleware) hook) error {
	for _, m := range l.agent.Chain {
		h := pick(m)
		if h == nil {
			continue
		}
		p, err := h(ctx, l.turn)
		if err == nil {
			err = l.apply(p)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// apply writes a patch to the turn's state and keeps it for the step it joins.
func (l *loop) apply(p State) error {
	joined, err := Join(l.pending, p)
	if err != nil {
		return err
	}
	if err := l.turn.State.Apply(p); err != nil {
		return err
	}
	l.pending = joined
	return nil
}

// step stores all pending writes as one step of node, even when the run was cancelled. last means no node of next runs
// in this run.
func (l *loop) step(ctx context.Context, node string, next []string, last bool) error {
	s := Step{Node: node, Patch: l.pending, State: &l.turn.State, Next: next, Last: last}
	l.pending = State{}
	l.out.Next = next
	ctx, done := outlive(ctx)
	defer done()
	if err := l.turn.Sink.Step(ctx, s); err != nil {
		return fmt.Errorf("store %s step: %w", node, err)
	}
	return nil
}

// fail ends the run with cause, after storing pending changes as a step of node.
func (l *loop) fail(ctx context.Context, node string, next []string, cause error) error {
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	l.out.Next = next
	if l.pending.Empty() {
		return cause
	}
	if err := l.step(ctx, node, next, true); err != nil && !errors.Is(err, cause) { // report a full disk only once
		return errors.Join(cause, err)
	}
	return cause
}

// outlive returns a context for writes which a cancel must not tear: it ends [closeTime] after ctx does, or with the
// returned function.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(closeTime)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-out.Done():
		}
	})
	return out, func() { stop(); cancel() }
}

// modelStep makes one model call and stores its message once, after all stages saw it.
func (l *loop) modelStep(ctx context.Context) (string, error) {
	t := l.turn
	l.offer()
	if err := l.before(ctx, func(m Middleware) hook { return m.BeforeModel }); err != nil {
		return "", l.fail(ctx, NodeModel, []string{NodeModel}, err)
	}
	if l.steps >= l.limit && l.last == nil {
		l.last = &Last{Reason: "recursion_limit", Note: stepLimitNote}
	}
	lastTurn := l.last != nil
	req := BuildRequest(l.set.System, &t.State, l.set.Tools, l.agent.Options)
	if lastTurn {
		req.Tools = nil
		req.Messages = append(req.Messages,
			&Message{ID: "note:limit", Type: TypeHuman, Name: "last_turn", Content: Text(l.last.Note)})
		l.out.StopReason = l.last.Reason
	}
	msg, err := l.callModel(ctx, t, req)
	if err == nil && msg == nil {
		err = errNoMessage
	}
	if err != nil {
		return "", l.broken(ctx, msg, err)
	}
	if lastTurn {
		c := *msg
		c.ToolCalls, c.Invalid = nil, nil
		msg = &c
	}
	r := &Reply{Message: msg, Final: lastTurn}
	for _, m := range slices.Backward(l.agent.Chain) {
		if m.AfterModel == nil {
			continue
		}
		err := m.AfterModel(ctx, t, r)
		if err == nil && r.Message == nil {
			r.Message, err = msg, errNoMessage
		}
		if err != nil {
			return "", l.broken(ctx, r.Message, fmt.Errorf("%s: %w", m.Name, err))
		}
	}
	if r.StopReason != "" && !lastTurn {
		l.out.StopReason = r.StopReason
	}
	if l.last == nil {
		l.last = r.Last
	}
	if err := l.apply(State{Messages: []*Message{r.Message}}); err != nil {
		return "", l.fail(ctx, NodeModel, []string{NodeModel}, err)
	}
	if err := l.apply(r.Patch); err != nil {
		return "", l.fail(ctx, NodeModel, Next(&t.State, NodeModel), fmt.Errorf("after model: %w", err))
	}
	again := r.Jump == ToModel && !lastTurn // the last turn ends the loop even if a stage asks for another
	next := Next(&t.State, NodeModel)
	if again {
		next = []string{NodeModel}
	}
	to := l.goOn(NodeModel, next, r.Jump == ToEnd)
	if err := l.step(ctx, NodeModel, next, to == NodeEnd); err != nil {
		return "", err
	}
	return to, nil
}

// stepLimitNote tells the model that the run is out of steps.
const stepLimitNote = "The step limit of this run is reached and tools are off now. Answer with what you have found so far, and say what is still open."

// errNoMessage means that a stage swallowed the answer.
var errNoMessage = errors.New("the model call returned no message")

// broken stores the shown part of a failed or cancelled model call, then returns the cause.
func (l *loop) broken(ctx context.Context, partial *Message, cause error) error {
	if partial != nil && (partial.Content.String() != "" || partial.Kwargs["reasoning_content"] != nil) {
		c := *partial
		c.ToolCalls, c.Invalid = nil, nil
		c.Meta = map[string]any{"finish_reason": FinishInterrupted}
		if name, ok := partial.Meta["model_name"]; ok {
			c.Meta["model_name"] = name
		}
		if err := l.apply(State{Messages: []*Message{&c}}); err != nil {
			cause = errors.Join(cause, err)
		}
	}
	return l.fail(ctx, NodeModel, []string{NodeModel}, cause)
}

// end runs the after_agent hooks and stores their patches as the end step.
func (l *loop) end(ctx context.Context) error {
	for _, m := range slices.Backward(l.agent.Chain) {
		if m.AfterAgent == nil {
			continue
		}
		p, err := m.AfterAgent(ctx, l.turn)
		if err == nil {
			err = l.apply(p)
		}
		if err != nil {
			return l.fail(ctx, NodeEnd, l.out.Next, fmt.Errorf("%s: %w", m.Name, err))
		}
	}
	if l.pending.Empty() {
		return nil
	}
	return l.step(ctx, NodeEnd, l.out.Next, true)
}
