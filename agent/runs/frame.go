package runs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// errFrame is wrapped when stored frames cannot be read.
var errFrame = errors.New("damaged frame")

// A frame is what the tail stores for one event inside a step: a kind byte, the slot of
// the message (deltas) or a namespace (the rest), then the payload.
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
	frameStep      = 'p' // ns, subStep
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

func appendSlotted(dst []byte, kind byte, slot int, payload string) []byte {
	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(slot))
	return append(dst, payload...)
}

func appendNamed(dst []byte, kind byte, ns string, payload []byte) []byte {
	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(len(ns)))
	dst = append(dst, ns...)
	return append(dst, payload...)
}

// parts are the parts of one frame.
type parts struct {
	kind    Kind
	slotted bool
	slot    int
	ns      string
	payload []byte
}

// split takes a frame apart.
func split(b []byte) (p parts, err error) {
	if len(b) == 0 {
		return p, fmt.Errorf("%w: empty", errFrame)
	}
	p.kind, p.slotted = frameKind(b[0])
	n, used := binary.Uvarint(b[1:])
	if p.kind == 0 || used <= 0 || n > 1<<20 {
		return p, fmt.Errorf("%w: kind %q", errFrame, b[0])
	}
	p.payload = b[1+used:]
	if p.slotted {
		p.slot = int(n)
		return p, nil
	}
	if int(n) > len(p.payload) {
		return p, fmt.Errorf("%w: namespace past the end", errFrame)
	}
	p.ns, p.payload = string(p.payload[:n]), p.payload[n:]
	return p, nil
}

// decoder turns the frames of one step back into events.
type decoder struct {
	slots map[int]*Msg
}

// frame decodes one frame into an event without numbers.
func (d *decoder) frame(b []byte) (Event, error) {
	p, err := split(b)
	if err != nil {
		return Event{}, err
	}
	ev, rest, slot := Event{Kind: p.kind}, p.payload, p.slot
	if p.kind == KindStep {
		var s subStep
		if err := json.Unmarshal(rest, &s); err != nil {
			return Event{}, fmt.Errorf("%w: %v", errFrame, err)
		}
		return Event{Kind: KindStep, NS: p.ns, Step: s.data()}, nil
	}
	if !p.slotted {
		ev.NS, ev.Data = p.ns, json.RawMessage(rest)
		return ev, nil
	}
	if p.kind == KindMessage {
		var m Msg
		if err := json.Unmarshal(rest, &m); err != nil {
			return Event{}, fmt.Errorf("%w: %v", errFrame, err)
		}
		d.open(slot, &m)
		ev.Msg, ev.NS = &m, m.NS
		return ev, nil
	}
	ev.Msg = d.slots[slot]
	if ev.Msg == nil {
		return Event{}, fmt.Errorf("%w: slot %d was never opened", errFrame, slot)
	}
	ev.NS = ev.Msg.NS
	if p.kind == KindText || p.kind == KindReasoning {
		ev.Text = string(rest)
	} else {
		ev.Data = json.RawMessage(rest)
	}
	return ev, nil
}

func (d *decoder) open(slot int, m *Msg) {
	if d.slots == nil {
		d.slots = map[int]*Msg{}
	}
	d.slots[slot] = m
}
