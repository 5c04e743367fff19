package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
	"fawn/agent/mcp/ask"
)

// Questions returns the open questions in a thread, oldest first.
func (p *Pool) Questions(ctx context.Context, thread string) ([]*ask.Question, error) {
	return p.asks.Open(ctx, thread)
}

// Answer answers a question, and the call continues wherever it waits. Content that doesn't fit leaves the question
// open. Errors: ask.ErrNoQuestion, ask.ErrAnswered, ask.ErrContent.
func (p *Pool) Answer(ctx context.Context, thread, id string, r ask.Reply) error {
	return p.asks.Answer(ctx, thread, id, r)
}

// elicit asks the person a server's question. Non-interactive runs decline it.
func (s *server) elicit(ctx context.Context, e *session, params *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	p, nobody := s.pool, &sdk.ElicitResult{Action: ask.Cancel}
	if e.thread == "" || params.Mode == "url" || p.o.Patience == nil || !p.enter() {
		return nobody, nil
	}
	defer p.asking.Done()
	patience := p.o.Patience(ctx, e.thread)
	if patience <= 0 {
		return nobody, nil
	}
	q, err := ask.New(ask.Sent{Thread: e.thread, Server: s.name, Message: params.Message,
		Schema: params.RequestedSchema, Veil: s.veil.over, Patience: patience, Now: p.asks.Now()})
	if err != nil {
		s.log.add("a question is refused: " + err.Error())
		return nil, err
	}
	e.pause(true)
	defer e.pause(false)
	needed, stop := e.needed(ctx)
	defer stop()
	shown := false
	r, err := p.asks.Ask(needed, q, func() {
		shown = true
		p.announce(e.thread, q.Event())
	})
	if shown {
		p.announce(e.thread, q.Over(r))
	}
	switch {
	case err == nil:
		return &sdk.ElicitResult{Action: r.Action, Content: r.Content}, nil
	case !errors.Is(err, ask.ErrMany) && needed.Err() == nil:
		p.o.Log.Error("MCP server's question cancelled", "server", s.name, "thread", e.thread, "err", err)
	}
	return nobody, nil
}

// enter counts an open question, for which Close waits; it returns false after Close.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.asking.Add(1)
	return true
}

// needed ends with ctx, with the session, and when it has no more active calls.
func (e *session) needed(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		defer cancel()
		select {
		case <-ctx.Done():
		case <-e.closing:
		case <-e.done:
		case <-e.unused():
		}
	})
	return ctx, func() {
		cancel()
		work.Wait()
	}
}

// settleTime exceeds the time needed to withdraw a question.
const settleTime = 10 * time.Second

// settle waits, after the last active call, until its questions are withdrawn: none may be shown after its run.
func (e *session) settle() {
	e.mu.Lock()
	settled, others := e.settled, len(e.calling) > 0
	e.mu.Unlock()
	if settled == nil || others {
		return
	}
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
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

func (e *session) paused() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asking > 0
}

// pause stops the call's clock while a question is open.
func (e *session) pause(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if on {
		if e.asking++; e.asking == 1 {
			e.settled = make(chan struct{})
		}
	} else if e.asking--; e.asking == 0 {
		close(e.settled)
		e.settled = nil
	}
	for _, w := range e.calling {
		w.pause(e.asking > 0)
	}
}
