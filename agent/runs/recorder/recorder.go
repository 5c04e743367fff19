package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// maxUnstored limits a run's unstored bytes before Emit blocks.
const maxUnstored = 256 << 10

type slot struct {
	n   int
	msg *runevent.Msg
}

// Begin publishes the run's meta event. It is stored, with the run and its thread's status, together with the first
// step, or by [Recorder.flush]. goesOn means that the run starts from the existing state, which its readers see first.
func (r *Recorder) Begin(run store.Run, thread string, goesOn bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := agent.Encode(metaOf(run))
	if err != nil {
		return err
	}
	r.seq++
	r.first = r.seq
	if goesOn {
		r.seq += runevent.MetaFrames
	}
	run.FirstSeq, run.LastSeq = r.first, r.seq
	// These rows join the commit of the first step, or that of flush.
	r.extra.Run, r.extra.Patch = &run, &store.ThreadPatch{Status: &thread}
	r.extra.Events = append(r.extra.Events,
		store.Event{Thread: r.thread, Seq: r.first, To: r.seq, Run: run.ID, Kind: eventlog.RowMeta, Data: data})
	r.log.Add(&runevent.Event{Seq: r.first, To: r.seq, Kind: runevent.KindMeta, Data: data})
	return nil
}

// Create is Begin for a run whose row isn't stored yet. With the other rows of b it joins the first step, too, which
// fails at once if the database can't be reached.
func (r *Recorder) Create(run store.Run, b store.Batch) error {
	if err := r.Begin(run, "", false); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b.Run, b.Events, b.NewRun = r.extra.Run, r.extra.Events, true
	r.extra = b
	return nil
}

// flush stores pending events before the next step. A run whose first step comes late, as it has no input, must be
// known as running before it shows anything.
func (r *Recorder) flush(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commit(ctx, store.Batch{})
}

// Emit implements agent.Sink.
func (r *Recorder) Emit(ev agent.Event) {
	waits, err := r.put(ev)
	if err != nil {
		r.cancel(fmt.Errorf("record event: %w", err))
		return
	}
	if !waits {
		return
	}
	if err := r.lane.Wait(r.ctx, maxUnstored); err != nil && r.ctx.Err() == nil {
		r.cancel(fmt.Errorf("%w: %w", ErrStorage, err))
	}
}

// Record implements agent.Sink.
func (r *Recorder) Record(ctx context.Context, ev agent.Event) error {
	if err := r.around(ctx, ev); err != nil {
		return err
	}
	r.look(ctx, ev)
	if ev.Kind == agent.EventToolResult && r.noted != nil {
		r.noted(ctx, ev.Call)
	}
	if _, err := r.put(ev); err != nil {
		return fmt.Errorf("record event: %w", err)
	}
	if err := r.lane.Flush(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// left reports whether the run is left as it is because the server stops. Messages the agent adds when interrupted, for
// instance about its tools, are then not part of the run. mu is held.
func (r *Recorder) left() error {
	if r.lost != nil {
		return r.lost
	}
	select {
	case <-r.done:
		if err := context.Cause(r.ctx); r.leave != nil && errors.Is(err, r.leave) {
			return err
		}
	default: // finding the cause would cost more than all other work for an event
	}
	return nil
}

// put writes the frames of one agent event. waits means that too much of the run isn't stored yet, or that storing failed.
func (r *Recorder) put(ev agent.Event) (waits bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.left(); err != nil {
		return false, err
	}
	r.behind = false
	err = r.write(ev)
	return r.behind, err
}

// write is put with mu held.
func (r *Recorder) write(ev agent.Event) error {
	switch ev.Kind {
	case agent.EventChunk:
		return r.putChunk(ev)
	case agent.EventCustom:
		r.named(&runevent.Event{Kind: runevent.KindCustom, NS: ev.NS, Data: ev.Data})
	case agent.EventToolOutput:
		data, err := agent.Encode(map[string]any{"id": ev.Call.ID, "output": ev.Data})
		if err != nil {
			return err
		}
		r.named(&runevent.Event{Kind: runevent.KindToolOutput, NS: ev.NS, Data: data})
	case agent.EventToolStart:
		r.tools = true
		data, err := agent.Encode(ev.Call)
		if err != nil {
			return err
		}
		r.named(&runevent.Event{Kind: runevent.KindToolStart, NS: ev.NS, Data: data})
	case agent.EventToolResult:
		data, err := runevent.EncodeToolEnd(ev)
		if err != nil {
			return err
		}
		r.named(&runevent.Event{Kind: runevent.KindToolResult, NS: ev.NS, Data: data})
	}
	return nil
}

func (r *Recorder) putChunk(ev agent.Event) error {
	s := r.slots[ev.Message]
	if s == nil {
		s = &slot{n: len(r.slots), msg: &runevent.Msg{ID: ev.Message, NS: ev.NS}}
		data, err := agent.Encode(s.msg)
		if err != nil {
			return err
		}
		r.slots[ev.Message] = s
		r.streamed[ev.Message] = true
		r.slotted(s, string(data), &runevent.Event{Kind: runevent.KindMessage})
	}
	k := ev.Chunk
	if k.Reasoning != "" {
		r.slotted(s, k.Reasoning, &runevent.Event{Kind: runevent.KindReasoning, Text: k.Reasoning})
	}
	if k.Text != "" {
		r.slotted(s, k.Text, &runevent.Event{Kind: runevent.KindText, Text: k.Text})
	}
	for _, c := range k.Calls {
		data, err := agent.Encode(c)
		if err != nil {
			return err
		}
		r.slotted(s, string(data), &runevent.Event{Kind: runevent.KindCall, Data: data})
	}
	if k.Usage != nil || k.Finish != "" || len(k.Kwargs) > 0 {
		f := runevent.Finish{Finish: k.Finish, Model: k.Model, Kwargs: k.Kwargs}
		var err error
		if k.Usage != nil {
			if f.Usage, err = agent.Encode(k.Usage); err != nil {
				return err
			}
		}
		data, err := agent.Encode(f)
		if err != nil {
			return err
		}
		r.slotted(s, string(data), &runevent.Event{Kind: runevent.KindFinish, Data: data})
	}
	return nil
}

func (r *Recorder) slotted(s *slot, payload string, ev *runevent.Event) {
	ev.Msg, ev.NS = s.msg, s.msg.NS
	r.append(r.frames.Delta(ev.Kind, s.n, payload), ev)
}

func (r *Recorder) named(ev *runevent.Event) {
	r.append(r.frames.Named(ev.Kind, ev.NS, ev.Data), ev)
}

// append numbers the newest frame and passes it to storage and the log.
func (r *Recorder) append(frame []byte, ev *runevent.Event) {
	ev.Seq, ev.To = r.seq+1, r.seq+ev.Width()
	r.seq = ev.To
	if r.frames.Len() == 1 {
		r.opened = ev.Seq
	}
	r.log.Add(ev)
	pending := r.lane.Append(r.seq, frame)
	r.behind = r.behind || pending < 0 || pending > maxUnstored
}

// foldStep packs the open step's frames, with references to the step's stored messages.
func (r *Recorder) foldStep(written map[string]int64, msgs []*agent.Message) []byte {
	known := runevent.Known{Streamed: map[int]runevent.Stored{}, Results: map[string]runevent.Stored{}}
	for _, m := range msgs {
		row := written[m.ID]
		if row == 0 {
			continue
		}
		stored := runevent.Stored{Row: row, Message: m}
		if m.Type == agent.TypeTool {
			known.Results[m.ID] = stored
		} else if s := r.slots[m.ID]; s != nil {
			known.Streamed[s.n] = stored
		}
	}
	i := len(r.at.Messages) - 1
	for i >= 0 && r.at.Messages[i].Type == agent.TypeTool {
		i--
	}
	if i >= 0 && r.at.Messages[i].Type == agent.TypeAI {
		known.Caller = runevent.Stored{Row: r.at.Rows[i], Message: r.at.Messages[i]}
	}
	return runevent.Fold(r.frames.All(), known)
}

// cutOff returns the row of an open step that nothing is stored of but its events.
func (r *Recorder) cutOff() store.Event {
	return store.Event{Thread: r.thread, Seq: r.opened, To: r.seq, Run: r.run, Kind: eventlog.RowFold,
		Data: r.foldStep(nil, nil)}
}

// closeStep forgets the open step, which is stored now.
func (r *Recorder) closeStep() {
	r.frames.Reset()
	r.slots = map[string]*slot{}
}

// mark is the state restored after a failed commit: its rows and numbers were never stored or seen.
type mark struct {
	seq   int64
	at    Base
	usage Usage
}

func (r *Recorder) mark() mark { return mark{r.seq, r.at, r.usage} }

// undo goes back to where the failed commit started. The open step stays open.
func (r *Recorder) undo(m mark) {
	r.log.Retract(m.seq + 1)
	r.seq, r.at, r.usage = m.seq, m.at, m.usage
}

// commit writes b together with pending rows. mu is held.
func (r *Recorder) commit(ctx context.Context, b store.Batch) error {
	b.ThreadID = r.thread
	b.Events = append(r.extra.Events, b.Events...)
	b.Checkpoints = append(r.extra.Checkpoints, b.Checkpoints...)
	b.Spending = append(r.extra.Spending, b.Spending...)
	if b.Run == nil {
		b.Run = r.extra.Run
	}
	if p := r.extra.Patch; p != nil {
		if b.Patch == nil {
			b.Patch = &store.ThreadPatch{}
		}
		if b.Patch.Status == nil {
			b.Patch.Status = p.Status
		}
		b.Patch.Touch = b.Patch.Touch || p.Touch
		b.Patch.MergeNew, b.Patch.From = p.MergeNew, p.From
	}
	to := r.seq
	// A cancelled wait would leave open whether the batch was written.
	if x := &r.extra; x.NewRun {
		b.NewRun, b.Thread, b.NewThread, b.Line, b.Outbound = true, x.Thread, x.NewThread, x.Line, x.Outbound
		if err := r.db.Commit(context.WithoutCancel(ctx), b); err != nil {
			return fmt.Errorf("%w: %w", ErrStorage, err)
		}
		r.log.Mark(to)
	} else if err := r.lane.Commit(store.Patiently(ctx), b); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	r.extra = store.Batch{}
	r.stored = to
	r.log.Fold(to)
	return nil
}

// Announce doesn't wait for storage, so it is safe to call from anywhere.
func (r *Recorder) Announce(data json.RawMessage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.left() != nil {
		return false
	}
	r.named(&runevent.Event{Kind: runevent.KindCustom, Data: data})
	return true
}

// look calls watch before the first tool of the run works; others wait for that.
func (r *Recorder) look(ctx context.Context, ev agent.Event) {
	if ev.Kind == agent.EventToolStart && r.watch != nil {
		r.looked.Do(func() { r.watch(ctx) })
	}
}
