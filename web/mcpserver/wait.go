package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// outcome waits for a run and returns its task's state at that point.
func (s *Server) outcome(ctx context.Context, req *sdk.CallToolRequest, thread, run string,
	wait time.Duration) (*sdk.CallToolResult, *task, error) {
	if err := s.follow(ctx, req, run, wait); err != nil {
		return nil, nil, err
	}
	return s.told(ctx, thread, run)
}

// follow reports the steps of a run as progress until it ends or the time is up. The caller has checked the run's
// owner.
func (s *Server) follow(ctx context.Context, req *sdk.CallToolRequest, run string, wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	release, err := s.waiting.Acquire(s.Readers())
	if err != nil {
		return err
	}
	defer release()
	ctx, done := s.waits(ctx)
	defer done()
	reader, err := s.Runs.Follow(ctx, run)
	if err != nil {
		return err
	}
	p := &progress{session: req.Session, token: req.Params.GetProgressToken()}
	end := time.Now().Add(wait)
	for at := int64(0); ; {
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		one, cancel := context.WithTimeout(ctx, min(left, s.beat))
		events, err := reader.Next(one, at)
		late := one.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case late:
			if err := p.beat(ctx); err != nil {
				return err
			}
			continue
		case err == nil && len(events) == 0, errors.Is(err, runs.ErrClosed) && ctx.Err() == nil:
			return nil // rolled back, or continued by another server
		case err != nil:
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return err
		}
		for _, ev := range events {
			if at = ev.To; ev.Kind == runevent.KindEnd {
				return nil
			}
			if err := p.tell(ctx, ev); err != nil {
				return err
			}
		}
	}
}

// progress reports a run's events to a client. Its numbers only count the reports.
type progress struct {
	session *sdk.ServerSession
	token   any
	count   int
	last    string // last reported text
	answer  string // id of the message that is being written
}

func (p *progress) send(ctx context.Context, text string) error {
	if p.token == nil {
		return nil
	}
	p.count++
	p.last = text
	return p.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token,
		Progress: float64(p.count), Message: text})
}

// beat shows that the server is still there: clients count the time since they heard of it.
func (p *progress) beat(ctx context.Context) error {
	if p.last == "" {
		p.last = "Working"
	}
	return p.send(ctx, p.last)
}

func (p *progress) tell(ctx context.Context, ev runevent.Event) error {
	who := ""
	if ev.NS != "" {
		who = "Helper: "
	}
	switch ev.Kind {
	case runevent.KindReasoning, runevent.KindText:
		if ev.NS != "" || ev.Msg.ID == p.answer {
			return nil
		}
		p.answer = ev.Msg.ID
		if ev.Kind == runevent.KindReasoning {
			return p.send(ctx, "Thinking")
		}
		return p.send(ctx, "Writing")
	case runevent.KindToolStart:
		var c agent.ToolCall
		if json.Unmarshal(ev.Data, &c) != nil {
			return nil
		}
		return p.send(ctx, who+c.Line())
	case runevent.KindToolResult:
		var e runevent.ToolEnd
		if json.Unmarshal(ev.Data, &e) != nil || e.Name == "" {
			return nil
		}
		return p.send(ctx, who+e.Name+" done")
	}
	return nil
}
