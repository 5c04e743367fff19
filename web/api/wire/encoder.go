package wire

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/httpx"
)

// Encoder turns the events of one run into frames of the modes one reader asked for. It
// belongs to one goroutine.
type Encoder struct {
	frames
	db        *store.DB
	run       store.Run
	modes     Modes
	subgraphs bool
	after     httpx.ID // frames up to this one are not sent again

	open    runevent.Drafts[*splicer]
	calls   map[string]toolCall // the open step's, by id
	step    int                 // number of the last step, -2 before one was seen
	cp      string              // its checkpoint, or the run's starting point
	running string              // current node, if a step or the start named it
	ended   bool                // the end frame is in or after buf
	among   bool                // others follow in the same stream
	saved   *store.Checkpoint   // its checkpoint if no longer stored

	waiting   *saved // start of a run without input, until it does something
	waitingAt int64  // number of that start
}

// NewEncoder returns an encoder of a run's events for a reader that has received the frames up to
// after.
func NewEncoder(db *store.DB, run store.Run, m Modes, subgraphs bool, after httpx.ID) *Encoder {
	return &Encoder{db: db, run: run, modes: m, subgraphs: subgraphs, after: after, calls: map[string]toolCall{},
		step: -2}
}

// After returns the reader's last position.
func (e *Encoder) After() httpx.ID { return e.after }

// Anew returns an encoder for the same reader after the frames up to another one.
func (e *Encoder) Anew(after httpx.ID) *Encoder {
	n := NewEncoder(e.db, e.run, e.modes, e.subgraphs, after)
	n.among = e.among
	return n
}

// Resume finds where reading starts for a reader that has had frames: at the begin of the
// open step, which its frames are about.
func (e *Encoder) Resume(ctx context.Context, reader *eventlog.Reader) (int64, error) {
	step, to, err := reader.Step(ctx, e.after.Seq)
	if err != nil || to == 0 {
		return 0, err
	}
	e.step, e.cp, e.running, e.saved = step.Number, step.Checkpoint, nodeBehind(step.Next), step.Saved
	return to, nil
}

// nodeBehind returns the node that runs after a checkpoint, or "".
func nodeBehind(next []string) string {
	if len(next) == 0 || next[0] == agent.NodeInterrupt {
		return ""
	}
	return next[0]
}

// Add appends the frames of ev to buf.
func (e *Encoder) Add(ctx context.Context, ev runevent.Event) error {
	e.begin()
	switch ev.Kind {
	case runevent.KindMessage, runevent.KindToolStart, runevent.KindCustom:
		if err := e.goesOn(); err != nil {
			return err
		}
	}
	change := e.open.Take(&ev)
	switch ev.Kind {
	case runevent.KindText, runevent.KindReasoning, runevent.KindCall, runevent.KindFinish:
		if err := e.modelChunk(ev); err != nil {
			return err
		}
		return e.delta(change.Message, &ev)
	case runevent.KindMessage:
		if err := e.announce(ev); err != nil {
			return err
		}
		return e.modelStart(ctx, ev)
	case runevent.KindToolStart, runevent.KindToolOutput, runevent.KindToolResult:
		return e.tool(ev) // readers of messages get the result with the step
	case runevent.KindMeta:
		return e.meta(ctx, ev)
	case runevent.KindCustom:
		if name, ok := e.name("custom", ev.NS); ok && e.modes.has(ModeCustom) && e.fresh(one(ev.Seq)) {
			e.buf = httpx.AppendFrame(e.buf, name, ev.Data, one(ev.Seq))
		}
		return e.customEvent(ev)
	case runevent.KindStep:
		return e.finished(ctx, ev, change.Ended)
	case runevent.KindError:
		if err := e.failed(ev); err != nil {
			return err
		}
		if e.fresh(one(ev.Seq)) {
			e.buf = httpx.AppendFrame(e.buf, "error", ev.Data, one(ev.Seq))
		}
	case runevent.KindHalt:
		return e.halted(ctx, ev)
	case runevent.KindWithdraw:
		return e.withdraw(ev)
	case runevent.KindEnd:
		if err := e.runEnd(ctx, ev.Seq); err != nil {
			return err
		}
		e.End(ev.Seq)
	}
	return nil
}

// meta opens the run and, for a run without input, shows the initial state.
func (e *Encoder) meta(ctx context.Context, ev runevent.Event) error {
	if e.fresh(one(ev.Seq)) {
		e.buf = httpx.AppendFrame(e.buf, "metadata", ev.Data, one(ev.Seq))
	}
	if err := e.runStart(ev.Seq); err != nil {
		return err
	}
	if ev.To == ev.Seq {
		return nil
	}
	run, err := e.db.Run(ctx, e.run.ID) // a live run's row gets its start late
	if errors.Is(err, store.ErrNotFound) || err == nil && run.BaseCheckpoint == "" {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := e.load(ctx, run.BaseCheckpoint)
	if err != nil || s == nil {
		return err
	}
	e.cp, e.step = s.cp.ID, s.cp.Step
	if e.modes.has(ModeValues) && e.fresh(one(ev.Seq+1)) {
		e.buf = httpx.AppendFrame(e.buf, "values", s.values, one(ev.Seq+1))
	}
	if e.modes.has(modesOfSteps) {
		e.waiting, e.waitingAt = s, ev.Seq+2
	}
	e.running = nodeBehind(s.cp.Next)
	return nil
}

// Among means that other runs follow in the same stream.
func (e *Encoder) Among() { e.among = true }

// Done reports whether the end of the stream was added.
func (e *Encoder) Done() bool { return e.ended }

// End closes the stream, once. Its number isn't compared with the cursor: a reader that returns after the end gets it
// again.
func (e *Encoder) End(seq int64) {
	if !e.ended {
		name, data := "end", []byte("null")
		if e.among {
			name, data = "run_done", []byte(`{"run_id":"`+e.run.ID+`","thread_id":"`+e.run.ThreadID+`"}`)
		}
		e.buf, e.ended = httpx.AppendFrame(e.buf, name, data, one(seq)), true
	}
}

// name returns the event name for a namespace, and whether the reader wants it.
func (e *Encoder) name(mode, ns string) (string, bool) {
	if ns == "" {
		return mode, true
	}
	return mode + "|" + ns, e.subgraphs
}

// delta is the hot path: it writes one frame for a piece of an answer, without encoding/json for text.
func (e *Encoder) delta(m *growing, ev *runevent.Event) error {
	if !e.modes.has(ModeMessages) && !e.modes.has(ModePartialMessages) || ev.NS != "" && !e.subgraphs {
		return nil
	}
	var err error
	if m.Own == nil {
		if m.Own, err = e.splicer(m); err != nil {
			return err
		}
	}
	if e.modes.has(ModeMessages) && e.fresh(one(ev.Seq)) {
		if e.buf, err = m.Own.append(e.buf, ev); err != nil {
			return err
		}
	}
	if e.modes.has(ModePartialMessages) {
		e.buf, err = appendPartial(e.buf, m, ev, e.fresh(part(ev.Seq, partWhole)))
	}
	return err
}

// announce announces a message to readers of whole messages.
func (e *Encoder) announce(ev runevent.Event) error {
	return e.put(ModePartialMessages, "messages/metadata", ev.NS, one(ev.Seq), func() (any, error) {
		return map[string]any{ev.Msg.ID: map[string]any{"metadata": e.place(agent.NodeModel, ev.NS)}}, nil
	})
}

// growing is a message under way, with its splicer once a piece of it is shown.
type growing = runevent.Draft[*splicer]

// splicer returns the splicer of a message.
func (e *Encoder) splicer(m *growing) (*splicer, error) {
	meta, err := e.metadata(agent.NodeModel, m.NS)
	if err != nil {
		return nil, err
	}
	suffix := ""
	if m.NS != "" {
		suffix = "|" + m.NS
	}
	return newSplicer(m.ID, suffix, meta), nil
}

// metadata returns the second half of a messages frame.
func (e *Encoder) metadata(node, ns string) ([]byte, error) { return agent.Encode(e.place(node, ns)) }

// base returns the prefix of task ids.
func (e *Encoder) base() string {
	if e.cp == "" {
		return e.run.ID
	}
	return e.cp
}

// place reports where in the graph something happens.
func (e *Encoder) place(node, ns string) map[string]any {
	at := node + ":" + e.task(node)
	if ns != "" {
		at = ns + "|" + at
	}
	meta := map[string]any{"langgraph_node": node, "langgraph_path": []string{"__pregel_pull", node},
		"langgraph_triggers":      []string{"branch:to:" + node},
		"langgraph_checkpoint_ns": at, "checkpoint_ns": at, "thread_id": e.run.ThreadID, "run_id": e.run.ID,
		"graph_id": GraphID, "assistant_id": Canonical(e.run.AssistantID), "tags": []string{}}
	if e.step > -2 {
		meta["langgraph_step"] = e.step + 1
	}
	return meta
}

// finished sends the output of a step: whole messages, updates, values. grown are the streamed messages it completes.
func (e *Encoder) finished(ctx context.Context, ev runevent.Event, grown []*growing) error {
	s := ev.Step
	if s.Node != agent.NodeInput {
		if err := e.goesOn(); err != nil {
			return err
		}
	}
	e.waiting = nil
	seq := ev.Seq
	for i, body := range s.Messages {
		if i >= len(s.Whole) || !s.Whole[i] {
			continue
		}
		if err := e.whole(s.Node, ev.NS, body, seq); err != nil {
			return err
		}
		seq++
	}
	if err := e.completes(ev, grown); err != nil {
		return err
	}
	before := e.cp
	if err := e.modelEnds(ctx, ev, before); err != nil {
		return err
	}
	if e.modes.has(ModeUpdates) && e.fresh(one(ev.UpdatesSeq())) && s.Node != agent.NodeInput &&
		len(s.Messages)+len(s.Fields) > 0 {
		if name, ok := e.name("updates", ev.NS); ok {
			body, err := updateBody(s)
			if err != nil {
				return err
			}
			e.buf = httpx.AppendFrame(e.buf, name, body, one(ev.UpdatesSeq()))
		}
	}
	if ev.NS != "" {
		return nil
	}
	if err := e.result(ctx, ev, before); err != nil {
		return err
	}
	e.step, e.cp, e.running, e.saved = s.Number, s.Checkpoint, nodeBehind(s.Next), s.Saved
	if err := e.around(ctx, ev); err != nil {
		return err
	}
	clear(e.calls)
	return nil
}

// whole sends a message that wasn't streamed.
func (e *Encoder) whole(node, ns string, body json.RawMessage, seq int64) error {
	suffix := ""
	if ns != "" {
		if !e.subgraphs {
			return nil
		}
		suffix = "|" + ns
	}
	if e.modes.has(ModeMessages) && e.fresh(one(seq)) {
		meta, err := e.metadata(updateName(node), ns)
		if err != nil {
			return err
		}
		pair := make([]byte, 0, len(body)+len(meta)+3)
		pair = append(append(append(append(append(pair, '['), body...), ','), meta...), ']')
		e.buf = httpx.AppendFrame(e.buf, "messages"+suffix, pair, one(seq))
	}
	if id := part(seq, partWhole); e.modes.has(ModePartialMessages) && e.fresh(id) {
		e.buf = appendList(e.buf, "messages/complete"+suffix, body, id)
	}
	return nil
}

// completes ends the growing messages of a step for readers of whole ones.
func (e *Encoder) completes(ev runevent.Event, grown []*growing) error {
	if !e.modes.has(ModePartialMessages) {
		return nil
	}
	for i, body := range ev.Step.Messages {
		var m struct {
			ID string `json:"id"`
		}
		if i < len(ev.Step.Whole) && ev.Step.Whole[i] || json.Unmarshal(body, &m) != nil {
			continue
		}
		id := part(ev.UpdatesSeq()-1, partLate+2*i)
		at := slices.IndexFunc(grown, func(g *growing) bool { return g.ID == m.ID && g.Own != nil })
		if at >= 0 && e.fresh(id) {
			e.buf = appendList(e.buf, "messages/complete"+grown[at].Own.suffix, body, id)
		}
	}
	return nil
}

func appendList(dst []byte, event string, body []byte, id httpx.ID) []byte {
	list := make([]byte, 0, len(body)+2)
	return httpx.AppendFrame(dst, event, append(append(append(list, '['), body...), ']'), id)
}

// updateName returns the node under which a step's updates are shown. Steps that aren't nodes of the graph get separate
// names.
func updateName(node string) string {
	switch node {
	case agent.NodeEnd:
		return "after_agent"
	case agent.NodeInput:
		return agent.NodeStart
	}
	return node
}

// patchBody returns a step's output.
func patchBody(s *runevent.StepData) (json.RawMessage, error) {
	patch := make(map[string]json.RawMessage, len(s.Fields)+1)
	for k, v := range s.Fields {
		patch[k] = v
	}
	if len(s.Messages) > 0 {
		list, err := agent.Encode(s.Messages)
		if err != nil {
			return nil, err
		}
		patch["messages"] = list
	}
	return agent.Encode(patch)
}

// updateBody returns {"node": patch}.
func updateBody(s *runevent.StepData) ([]byte, error) {
	patch, err := patchBody(s)
	if err != nil {
		return nil, err
	}
	return agent.Encode(map[string]json.RawMessage{updateName(s.Node): patch})
}
