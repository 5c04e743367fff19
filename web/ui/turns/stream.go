package turns

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/views"
	"fawn/web/ui/page"
)

// maxArgs limits the part of a call's streaming arguments that is parsed for its summary, in bytes.
const maxArgs = 4 << 10

// noTime is the moment of steps that do not run.
var noTime time.Time

// openMessage is an AI message while it is being written.
type openMessage struct {
	id    string
	sofar *agent.Collector // collector of its text and reasoning
	calls []*openCall      // ascending by index
	begun bool             // something of it is on the page
	dirty bool             // there is more than the turn shows
}

type openCall struct {
	index    int
	id, name string
	args     []byte // the beginning
	full     bool   // args is cut off
	summary  json.RawMessage
	content  contentReader // content of a file that is being written
	path     string        // path of that file
}

// Event folds one event of a run into the turns. Text is taken over by sync, once for many
// events.
func (b *Builder) Event(ev runevent.Event) {
	if OfHelper(ev) {
		return
	}
	if ev.Kind != runevent.KindCustom {
		b.Retry = nil
	}
	change := b.under.Take(&ev)
	switch ev.Kind {
	case runevent.KindMessage:
		b.drop() // a withdrawn message
		b.open = &openMessage{id: ev.Msg.ID, sofar: &change.Message.Sofar}
		change.Message.Own = b.open
	case runevent.KindReasoning, runevent.KindText, runevent.KindCall:
		b.delta(change.Message.Own, ev)
	case runevent.KindToolOutput:
		b.output(ev.Data)
	case runevent.KindToolResult:
		if m := ResultOf(ev); m != nil {
			b.addResult(m)
		}
	case runevent.KindCustom:
		b.helper(ev.Data)
		b.again(ev.Data)
	case runevent.KindStep:
		b.step(ev.Step)
	case runevent.KindWithdraw:
		b.writes = nil
		b.withdraw()
	case runevent.KindEnd:
		b.writes = nil
	}
}

// OfHelper reports whether an event belongs to a helper's conversation, which the page doesn't show: it shows the
// helper's call and its notices instead.
func OfHelper(ev runevent.Event) bool { return ev.NS != "" }

// withdraw removes the open message: a crash cut it off, and the run repeats it.
func (b *Builder) withdraw() {
	o := b.open
	if o == nil {
		return
	}
	b.Sync()
	begun := o.begun
	b.drop()
	text := strings.TrimSpace(o.sofar.Reasoning() + "\n\n" + o.sofar.Text())
	if !begun || text == "" {
		return
	}
	t := b.turn(o.id)
	t.Trail.Steps = append(t.Trail.Steps,
		views.Step{ID: o.id, ThreadID: b.thread, Kind: views.StepReasoning, State: views.StepStop, Text: text})
	b.from = len(t.Trail.Steps)
}

// delta adds a piece to a message, unless its beginning is unknown to the page.
func (b *Builder) delta(o *openMessage, ev runevent.Event) {
	if o == nil || o != b.open {
		return
	}
	piece, err := runevent.DraftPiece(ev)
	if err != nil {
		return
	}
	for _, d := range piece.Calls { // only the beginning of their arguments is kept
		if c := o.call(d); c.read(d.Args) {
			b.writes = c
		}
	}
	piece.Calls = nil
	o.sofar.Add(piece)
	o.dirty = true
}

func (o *openMessage) call(d agent.CallDelta) *openCall {
	i, found := slices.BinarySearchFunc(o.calls, d.Index, func(c *openCall, n int) int { return c.index - n })
	if !found {
		o.calls = slices.Insert(o.calls, i, &openCall{index: d.Index})
	}
	c := o.calls[i]
	if d.ID != "" {
		c.id = d.ID
	}
	if d.Name != "" {
		c.name = d.Name
	}
	if room := maxArgs - len(c.args); len(d.Args) > room {
		c.args, c.full = append(c.args, d.Args[:max(0, room)]...), true
	} else {
		c.args = append(c.args, d.Args...)
	}
	return c
}

// Sync shows the changes of the open message since the last call.
func (b *Builder) Sync() {
	o := b.open
	if o == nil || !o.dirty {
		return
	}
	o.dirty = false
	d := draft{id: o.id, reasoning: o.sofar.Reasoning(), text: o.sofar.Text(), growing: true}
	for _, c := range o.calls {
		if c.name == "" {
			continue // its effect isn't known yet
		}
		id := c.id
		if id == "" || slices.ContainsFunc(d.calls, func(k Call) bool { return k.Id == id }) {
			id = agentCallID(o.id, c.index)
		}
		d.calls = append(d.calls, Call{id, c.name, c.shown()})
	}
	if Blank(d.reasoning) && Blank(d.text) && len(d.calls) == 0 {
		return
	}
	t := b.turn(o.id)
	if !o.begun {
		o.begun = true
		b.begin(t, o.id)
	}
	b.write(t, d)
}

// drop removes a message that was never stored.
func (b *Builder) drop() {
	o := b.open
	b.open = nil
	if o == nil || !o.begun {
		return
	}
	t := b.turn(o.id)
	t.Trail.Steps = t.Trail.Steps[:min(b.from, len(t.Trail.Steps))]
	if t.Answer != nil && t.Answer.ID == o.id {
		t.Answer = nil
	}
}

// step applies a finished step.
func (b *Builder) step(s *runevent.StepData) {
	if at, ok := checkpointTime(s.Checkpoint); ok {
		b.Since = at
	}
	for _, body := range s.Messages {
		if m, err := agent.ParseMessage(body); err == nil {
			b.Add(m)
		}
	}
	b.drop()
}

// output adds a running tool's output.
func (b *Builder) output(data json.RawMessage) {
	var out struct {
		ID     string `json:"id"`
		Output string `json:"output"`
	}
	if json.Unmarshal(data, &out) != nil || len(b.Turns) == 0 {
		return
	}
	t := &b.Turns[len(b.Turns)-1]
	for i := range t.Trail.Steps {
		if s := &t.Trail.Steps[i]; s.Kind == views.StepTool && s.ID == b.calls[out.ID] && s.State == views.StepRun {
			s.Output = page.Tail(s.Output+out.Output, maxStepOutput)
		}
	}
}

// checkpointTime returns the creation time encoded in a checkpoint's id.
func checkpointTime(id string) (time.Time, bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 6 {
		return noTime, false
	}
	sec, nsec := u.Time().UnixTime()
	return time.Unix(sec, nsec), true
}

// agentCallID returns the id assigned to a call without one.
func agentCallID(message string, index int) string { return message + "_" + strconv.Itoa(index) }

// shown returns the known part of the arguments: whole fields of an object.
func (c *openCall) shown() json.RawMessage {
	if c.summary == nil || !c.full {
		c.summary = wholeFields(c.args)
	}
	return c.summary
}

// wholeFields reads the fields of a JSON object that are complete although the object may
// be cut off.
func wholeFields(raw []byte) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return json.RawMessage("{}")
	}
	out := []byte{'{'}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			break
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil || cutNumber(value, dec.InputOffset() == int64(len(raw))) {
			break
		}
		key, err := json.Marshal(name)
		if err != nil {
			break
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}')
}

// cutNumber reports whether a value at the end of the input may get more digits.
func cutNumber(value []byte, atEnd bool) bool {
	return atEnd && (value[0] == '-' || value[0] >= '0' && value[0] <= '9')
}
