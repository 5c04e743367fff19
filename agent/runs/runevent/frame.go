package runevent

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrDamaged is wrapped when stored events are unreadable.
var ErrDamaged = errors.New("damaged frame")

// A frame is the tail's form of one event inside a step: a kind byte, the slot of the message (deltas) or a namespace
// (the rest), then the payload.
const (
	frameMessage   = 'm' // slot, Msg as JSON
	frameText      = 't' // slot, bytes
	frameReasoning = 'r' // slot, bytes
	frameCall      = 'c' // slot, agent.CallDelta
	frameFinish    = 'f' // slot, Finish
	frameToolStart = 's' // ns, agent.ToolCall
	frameOutput    = 'o' // ns, {"id","output"}
	frameToolEnd   = 'e' // ns, ToolEnd
	frameCustom    = 'x' // ns, any JSON
	frameStep      = 'p' // ns, ChildStep
)

// frameKind maps bytes to kinds; a byte missing here is damage.
func frameKind(b byte) (k Kind, slotted bool) {
	switch b {
	case frameMessage:
		return KindMessage, true
	case frameText:
		return KindText, true
	case frameReasoning:
		return KindReasoning, true
	case frameCall:
		return KindCall, true
	case frameFinish:
		return KindFinish, true
	case frameToolStart:
		return KindToolStart, false
	case frameOutput:
		return KindToolOutput, false
	case frameToolEnd:
		return KindToolResult, false
	case frameCustom:
		return KindCustom, false
	case frameStep:
		return KindStep, false
	}
	return 0, false
}

// frameByte returns the inverse of frameKind.
func frameByte(k Kind) byte {
	switch k {
	case KindText:
		return frameText
	case KindReasoning:
		return frameReasoning
	case KindMessage:
		return frameMessage
	case KindCall:
		return frameCall
	case KindFinish:
		return frameFinish
	case KindToolStart:
		return frameToolStart
	case KindToolOutput:
		return frameOutput
	case KindToolResult:
		return frameToolEnd
	case KindStep:
		return frameStep
	}
	return frameCustom
}

// parts are the parts of one frame.
type parts struct {
	kind    Kind
	slotted bool
	slot    int
	ns      string
	payload []byte
}

// split splits a frame into its parts.
func split(b []byte) (p parts, err error) {
	if len(b) == 0 {
		return p, fmt.Errorf("%w: empty", ErrDamaged)
	}
	p.kind, p.slotted = frameKind(b[0])
	n, used := binary.Uvarint(b[1:])
	if p.kind == 0 || used <= 0 || n > 1<<20 {
		return p, fmt.Errorf("%w: kind %q", ErrDamaged, b[0])
	}
	p.payload = b[1+used:]
	if p.slotted {
		p.slot = int(n)
		return p, nil
	}
	if int(n) > len(p.payload) {
		return p, fmt.Errorf("%w: namespace past the end", ErrDamaged)
	}
	p.ns, p.payload = string(p.payload[:n]), p.payload[n:]
	return p, nil
}

// Decoder turns the frames of one step back into events. The zero value is ready.
type Decoder struct {
	slots map[int]*Msg
}

// Decode decodes one frame into an event without numbers. slot is the slot of a message's event.
func (d *Decoder) Decode(b []byte) (ev Event, slot int, err error) {
	p, err := split(b)
	if err != nil {
		return Event{}, 0, err
	}
	ev, err = d.event(p)
	return ev, p.slot, err
}

func (d *Decoder) event(p parts) (Event, error) {
	if p.kind == KindStep {
		var s ChildStep
		if err := json.Unmarshal(p.payload, &s); err != nil {
			return Event{}, fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		return Event{Kind: KindStep, NS: p.ns, Step: s.Data()}, nil
	}
	if !p.slotted {
		return Event{Kind: p.kind, NS: p.ns, Data: json.RawMessage(p.payload)}, nil
	}
	if p.kind == KindMessage {
		var m Msg
		if err := json.Unmarshal(p.payload, &m); err != nil {
			return Event{}, fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		d.open(p.slot, &m)
		return Event{Kind: KindMessage, NS: m.NS, Msg: &m}, nil
	}
	m := d.slots[p.slot]
	if m == nil {
		return Event{}, fmt.Errorf("%w: slot %d was never opened", ErrDamaged, p.slot)
	}
	ev := Event{Kind: p.kind, NS: m.NS, Msg: m}
	if p.kind == KindText || p.kind == KindReasoning {
		ev.Text = string(p.payload)
	} else {
		ev.Data = json.RawMessage(p.payload)
	}
	return ev, nil
}

func (d *Decoder) open(slot int, m *Msg) {
	if d.slots == nil {
		d.slots = map[int]*Msg{}
	}
	d.slots[slot] = m
}
