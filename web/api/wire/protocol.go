package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/httpx"
)

// ProtocolEncoder converts the events of one run to events of the thread protocol: those matching a reader's filter
// after its cursor. It belongs to one goroutine.
type ProtocolEncoder struct {
	frames
	db    *store.DB
	run   store.Run
	want  *Filter
	after httpx.ID

	seq     int64    // number of the event at hand
	sub     int32    // frames it has made already
	helpers []string // namespaces of announced subagents, in order
	open    runevent.Drafts[*blockLog]
	halted  bool // the run stops before the end
	failure string
}

// NewProtocolEncoder returns an encoder for a reader that has received the frames up to one.
func NewProtocolEncoder(db *store.DB, run store.Run, f *Filter, after httpx.ID) *ProtocolEncoder {
	return &ProtocolEncoder{db: db, run: run, want: f, after: after}
}

// Add appends the events for ev.
func (p *ProtocolEncoder) Add(ctx context.Context, ev runevent.Event) error {
	p.seq, p.sub = ev.Seq, 0
	if err := p.start(ev.NS); err != nil {
		return err
	}
	change := p.open.Take(&ev)
	if change.Began {
		change.Message.Own = newBlockLog(change.Message.ID, ev.NS)
		if err := p.messageStart(change.Message.Own); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case runevent.KindMeta:
		return p.begin(ctx, ev)
	case runevent.KindText, runevent.KindReasoning, runevent.KindCall, runevent.KindFinish:
		return p.piece(change.Message.Own, ev)
	case runevent.KindToolStart, runevent.KindToolOutput, runevent.KindToolResult:
		return p.tool(ev)
	case runevent.KindCustom:
		return p.custom(ev)
	case runevent.KindStep:
		return p.step(ctx, ev, change.Ended)
	case runevent.KindError:
		var f runevent.Failure
		if err := json.Unmarshal(ev.Data, &f); err != nil {
			return err
		}
		p.failure = f.Message
	case runevent.KindHalt:
		return p.halt(ctx, ev)
	case runevent.KindEnd:
		return p.end(ev, change.Ended)
	}
	return nil
}

// names returns a namespace as a list. The graph itself is the empty one, the only one whose output clients show as the
// answer. A subagent's call has its name.
func names(ns string) []string {
	if ns == "" {
		return []string{}
	}
	return strings.Split(ns, "|")
}

// put adds one frame. node is only named where the protocol has it.
func (p *ProtocolEncoder) put(channel, method string, ns []string, node string, data any) error {
	if !p.shown(channel, ns) {
		return nil
	}
	body, err := agent.Encode(data)
	if err != nil {
		return err
	}
	return p.raw(method, ns, node, body)
}

// id returns the id of the current frame.
func (p *ProtocolEncoder) id() httpx.ID { return httpx.ID{Seq: p.seq, Part: p.sub} }

// shown reports whether the current frame is sent. Unsent frames count too, so ids are the same for all readers.
func (p *ProtocolEncoder) shown(channel string, ns []string) bool {
	if p.id().Compare(p.after) > 0 && p.want.wants(channel, ns) {
		return true
	}
	p.sub++
	return false
}

// raw is put for wanted JSON data. The first frame has the number of its event as its id, later ones have a suffix.
func (p *ProtocolEncoder) raw(method string, ns []string, node string, data []byte) error {
	id := p.id()
	p.sub++
	list, err := agent.Encode(ns)
	if err != nil {
		return err
	}
	b := make([]byte, 0, len(data)+len(list)+200)
	b = append(append(append(b, `{"type":"event","event_id":"`...), id.String()...), `","seq":`...)
	b = append(strconv.AppendInt(b, p.seq, 10), `,"method":"`...)
	b = append(append(b, method...), `","params":{"namespace":`...)
	b = append(append(b, list...), `,"timestamp":`...)
	b = strconv.AppendInt(b, time.Now().UnixMilli(), 10)
	if node != "" {
		b = append(appendQuoted(append(b, `,"node":"`...), node), '"')
	}
	b = append(append(append(b, `,"data":`...), data...), "}}"...)
	p.buf = httpx.AppendFrame(p.buf, method, b, id)
	return nil
}

func (p *ProtocolEncoder) lifecycle(ns []string, event, graph string, more ...string) error {
	data := map[string]string{"event": event, "graph_name": graph}
	for i := 0; i+1 < len(more); i += 2 {
		data[more[i]] = more[i+1]
	}
	return p.put("lifecycle", "lifecycle", ns, "", data)
}

// begin opens the run, and again after a restart, where it withdraws incomplete messages of the earlier attempt.
func (p *ProtocolEncoder) begin(ctx context.Context, ev runevent.Event) error {
	for _, m := range p.open.Reset() {
		if err := p.message(m.Own, map[string]any{"event": "error",
			"message": "withdrawn: the call is made again"}); err != nil {
			return err
		}
	}
	p.helpers = nil
	if err := p.lifecycle([]string{}, "running", GraphID); err != nil || ev.To == ev.Seq {
		return err
	}
	run, err := p.db.Run(ctx, p.run.ID) // a run without input shows its initial state
	if errors.Is(err, store.ErrNotFound) || err == nil && run.BaseCheckpoint == "" {
		return nil
	}
	if err != nil {
		return err
	}
	p.seq, p.sub = ev.Seq+1, 0
	return p.state(ctx, run.BaseCheckpoint, nil)
}

// start announces a namespace's subagent, once.
func (p *ProtocolEncoder) start(ns string) error {
	if ns == "" || slices.Contains(p.helpers, ns) {
		return nil
	}
	if above := strings.LastIndexByte(ns, '|'); above > 0 {
		if err := p.start(ns[:above]); err != nil {
			return err
		}
	}
	p.helpers = append(p.helpers, ns)
	return p.lifecycle(names(ns), "started", agent.NodeTools)
}

// stop reports the end of the subagents at and below a namespace.
func (p *ProtocolEncoder) stop(ns, event string) error {
	kept := p.helpers[:0]
	for _, helper := range p.helpers {
		if !below(names(helper), names(ns)) {
			kept = append(kept, helper)
			continue
		}
		if err := p.lifecycle(names(helper), event, agent.NodeTools); err != nil {
			return err
		}
	}
	p.helpers = kept
	return nil
}

// tool reports a tool call.
func (p *ProtocolEncoder) tool(ev runevent.Event) error {
	switch ev.Kind {
	case runevent.KindToolStart:
		var call agent.ToolCall
		if err := json.Unmarshal(ev.Data, &call); err != nil {
			return err
		}
		return p.call(ev, map[string]any{"event": "tool-started", "tool_call_id": call.ID, "tool_name": call.Name,
			"input": call.Args})
	case runevent.KindToolOutput:
		var out struct {
			ID     string          `json:"id"`
			Output json.RawMessage `json:"output"`
		}
		if err := json.Unmarshal(ev.Data, &out); err != nil {
			return err
		}
		text := string(out.Output)
		var s string
		if json.Unmarshal(out.Output, &s) == nil {
			text = s
		}
		return p.call(ev, map[string]any{"event": "tool-output-delta", "tool_call_id": out.ID, "delta": text})
	}
	var end runevent.ToolEnd
	if err := json.Unmarshal(ev.Data, &end); err != nil {
		return err
	}
	var msg struct {
		Status  string          `json:"status"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(end.Message, &msg); err != nil {
		return err
	}
	data, event := map[string]any{"event": "tool-finished", "tool_call_id": end.ID, "output": end.Message}, "completed"
	if msg.Status == "error" {
		text := string(msg.Content)
		var s string
		if json.Unmarshal(msg.Content, &s) == nil {
			text = s
		}
		data, event = map[string]any{"event": "tool-error", "tool_call_id": end.ID, "message": text}, "failed"
	}
	if err := p.stop(strings.TrimPrefix(ev.NS+"|tools:"+end.ID, "|"), event); err != nil {
		return err
	}
	return p.call(ev, data)
}

// call adds one tools frame.
func (p *ProtocolEncoder) call(ev runevent.Event, data map[string]any) error {
	return p.put("tools", "tools", names(ev.NS), agent.NodeTools, data)
}

// step closes open messages, and sends a step's output and resulting state.
func (p *ProtocolEncoder) step(ctx context.Context, ev runevent.Event, grown []*runevent.Draft[*blockLog]) error {
	s := ev.Step
	for i, body := range s.Messages {
		if err := p.settle(ev.NS, body, i < len(s.Whole) && s.Whole[i]); err != nil {
			return err
		}
	}
	if err := p.finishAll(grown); err != nil {
		return err
	}
	if p.seq != ev.UpdatesSeq() {
		p.seq, p.sub = ev.UpdatesSeq(), 0
	}
	if s.Node != agent.NodeInput && len(s.Messages)+len(s.Fields) > 0 {
		patch, err := patchBody(s)
		if err != nil {
			return err
		}
		if err := p.put("updates", "updates", names(ev.NS), updateName(s.Node), patch); err != nil {
			return err
		}
	}
	if ev.NS != "" {
		return nil
	}
	p.seq, p.sub = ev.ValuesSeq(), 0
	return p.state(ctx, s.Checkpoint, s.Saved)
}

// state sends a checkpoint and its values. A missing one is skipped.
func (p *ProtocolEncoder) state(ctx context.Context, checkpoint string, saved *store.Checkpoint) error {
	root := []string{}
	if p.seq < p.after.Seq || !p.want.wants("checkpoints", root) && !p.want.wants("values", root) {
		return nil
	}
	snap, err := p.snapshot(ctx, checkpoint, saved)
	if snap == nil || err != nil {
		return err
	}
	cp := snap.Checkpoint
	pointer := map[string]any{"id": cp.ID, "step": cp.Step, "source": cp.Source}
	if cp.Parent != "" {
		pointer["parent_id"] = cp.Parent
	}
	if err := p.put("checkpoints", "checkpoints", root, "", pointer); err != nil {
		return err
	}
	if p.shown("values", root) {
		return p.raw("values", root, "", runs.Values(*snap, false))
	}
	return nil
}

// snapshot reads a checkpoint of the thread, nil if it is gone.
func (p *ProtocolEncoder) snapshot(ctx context.Context, checkpoint string,
	saved *store.Checkpoint) (*store.Snapshot, error) {
	snap, err := shownAt(ctx, p.db, p.run.ThreadID, checkpoint, saved)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", checkpoint, err)
	}
	return &snap, nil
}

// custom sends an event of the graph, which can also be requested by its type.
func (p *ProtocolEncoder) custom(ev runevent.Event) error {
	var typed struct {
		Type string `json:"type"`
	}
	data, channel := map[string]any{"payload": ev.Data}, "custom"
	if json.Unmarshal(ev.Data, &typed) == nil && typed.Type != "" {
		data["name"], channel = typed.Type, "custom:"+typed.Type
	}
	return p.put(channel, "custom", names(ev.NS), "", data)
}

// halt sends the run's open question, if there is one. It has two names, since clients read one or the other.
func (p *ProtocolEncoder) halt(ctx context.Context, ev runevent.Event) error {
	p.halted = true
	var h runevent.Halt
	if err := json.Unmarshal(ev.Data, &h); err != nil {
		return err
	}
	snap, err := p.snapshot(ctx, h.Checkpoint, nil)
	if snap == nil || err != nil {
		return err
	}
	for _, task := range Tasks(*snap, nil) {
		for _, q := range task.Interrupts {
			if err := p.put("input", "input.requested", []string{},
				"", map[string]any{"interrupt_id": q.ID, "payload": q.Value, "value": q.Value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// End closes the run.
func (p *ProtocolEncoder) end(ev runevent.Event, grown []*runevent.Draft[*blockLog]) error {
	var e runevent.End
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		return err
	}
	if err := p.finishAll(grown); err != nil {
		return err
	}
	event, more := "completed", []string(nil)
	switch e.Status {
	case runs.Failed, runs.Timeout:
		event = "failed"
		more = []string{"error", p.failure}
	case runs.Interrupted:
		event = "interrupted"
	default:
		if p.halted {
			event = "interrupted"
		}
	}
	if err := p.stop("", event); err != nil {
		return err
	}
	return p.lifecycle([]string{}, event, GraphID, more...)
}
