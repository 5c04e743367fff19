package api

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/web/api/wire"
	"fawn/web/httpx"
)

func newID() string { return uuid.NewString() }

// send starts a run and answers with its task once it has ended.
func (k *a2aCall) send(params json.RawMessage) error {
	p, err := parseSend(params)
	if err != nil {
		return k.reply(nil, err)
	}
	r, id, err := k.launchTask(p)
	if err != nil {
		return k.reply(nil, err)
	}
	ended, err := k.ended(k.c, r, false)
	if err != nil || ended.ID == "" {
		return err
	}
	t, err := k.find(id, "")
	if err != nil {
		return k.reply(nil, err)
	}
	out, err := k.show(t, p.Configuration.History)
	return k.reply(k.result("task", out), err)
}

// a2aStream sends a run as updates of its task, each a response to the same call.
type a2aStream struct {
	*a2aCall
	task *a2aTask
	out  *httpx.Stream
	buf  []byte

	message string          // id of the growing answer
	text    strings.Builder // text so far
	grown   bool            // it grew since the last event
	working bool            // the state working was sent
}

// stream starts a run and follows it. Refusals are also sent in the stream.
func (k *a2aCall) stream(params json.RawMessage, refused error) error {
	release, err := k.Readers.Acquire(k.Limits().MaxReaders)
	if err != nil {
		return err
	}
	defer release()
	ctx, done := k.UntilDrained(k.c.Request().Context())
	defer done()
	s := &a2aStream{a2aCall: k}
	reader, err := s.begin(ctx, params, refused)
	if s.out, err = s.open(err); err != nil {
		return err
	}
	defer s.out.Close()
	if reader == nil {
		return s.flush()
	}
	return unlessLeft(k.c, s.follow(ctx, reader))
}

// open begins the answer; an error before it is its only event.
func (s *a2aStream) open(failed error) (*httpx.Stream, error) {
	if failed != nil {
		if err := s.add(nil, failed); err != nil {
			return nil, err
		}
	}
	return httpx.NewStream(s.c.Response(), s.beat)
}

// begin starts the run and sends its task. With an error the reader is nil.
func (s *a2aStream) begin(ctx context.Context, params json.RawMessage, refused error) (*eventlog.Reader, error) {
	if refused != nil {
		return nil, refused
	}
	p, err := parseSend(params)
	if err != nil {
		return nil, err
	}
	r, id, err := s.launchTask(p)
	if err != nil {
		return nil, err
	}
	s.task = &a2aTask{id: id, run: r, state: a2aSubmitted}
	reader, err := s.Runs.FollowRow(ctx, r)
	if err != nil {
		return nil, err
	}
	var said map[string]any
	if err := json.Unmarshal(p.Message, &said); err != nil {
		return nil, err
	}
	said["kind"], said["taskId"], said["contextId"] = "message", id, r.ThreadID
	return reader, s.add(s.result("task", map[string]any{"kind": "task", "id": id, "contextId": r.ThreadID,
		"history": []any{said},
		"status":  map[string]any{"state": s.state(a2aSubmitted), "timestamp": wire.Stamp(time.Now())}}), nil)
}

// follow sends the run up to its end.
func (s *a2aStream) follow(ctx context.Context, reader *eventlog.Reader) error {
	if err := s.flush(); err != nil {
		return err
	}
	for at := int64(0); ; {
		events, err := reader.Next(ctx, at)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if at = ev.To; ev.Kind == runevent.KindEnd {
				return s.finish()
			}
			if err := s.event(ev); err != nil {
				return err
			}
		}
		if len(events) == 0 { // rolled back
			return nil
		}
		if err := s.progress(); err != nil {
			return err
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
}

func (s *a2aStream) event(ev runevent.Event) error {
	if !s.working {
		s.working = true
		if err := s.status(a2aWorking, nil, false); err != nil {
			return err
		}
	}
	if ev.Kind != runevent.KindText || ev.NS != "" {
		return nil
	}
	if ev.Msg.ID != s.message {
		if err := s.progress(); err != nil {
			return err
		}
		s.message = ev.Msg.ID
		s.text.Reset()
	}
	s.text.WriteString(ev.Text)
	s.grown = true
	return nil
}

// progress sends the answer so far, once for each batch of events.
func (s *a2aStream) progress() error {
	if !s.grown {
		return nil
	}
	s.grown = false
	return s.status(a2aWorking, s.says(s.task, s.message, s.text.String()), false)
}

// finish sends the task's result: its artifact, and its final state.
func (s *a2aStream) finish() error {
	if err := s.progress(); err != nil {
		return err
	}
	t, err := s.find(s.task.id, "")
	if err != nil {
		return err
	}
	out, err := s.show(t, new(int))
	if err != nil {
		return err
	}
	artifacts, _ := out["artifacts"].([]any)
	for _, artifact := range artifacts {
		update := map[string]any{"kind": "artifact-update", "taskId": t.id, "contextId": t.run.ThreadID,
			"artifact": artifact, "append": false, "lastChunk": true}
		if err := s.add(s.result("artifactUpdate", update), nil); err != nil {
			return err
		}
	}
	status, _ := out["status"].(map[string]any)
	if err := s.status(t.state, status["message"], true); err != nil {
		return err
	}
	return s.flush()
}

// status adds an update of the task's state.
func (s *a2aStream) status(state string, message any, final bool) error {
	status := map[string]any{"state": s.state(state), "timestamp": wire.Stamp(time.Now())}
	if message != nil {
		status["message"] = message
	}
	update := map[string]any{"kind": "status-update", "taskId": s.task.id, "contextId": s.task.run.ThreadID,
		"status": status, "final": final}
	return s.add(s.result("statusUpdate", update), nil)
}

// add appends one answer.
func (s *a2aStream) add(result any, failed error) error {
	body, err := s.envelope(result, failed)
	if err != nil {
		return err
	}
	s.buf = httpx.AppendFrame(s.buf, "message", body, httpx.ID{})
	return nil
}

func (s *a2aStream) flush() error {
	if err := s.out.Write(s.buf, true); err != nil {
		return wire.ErrLeft
	}
	s.buf = s.buf[:0]
	return nil
}
