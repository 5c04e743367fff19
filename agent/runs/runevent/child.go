package runevent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"fawn/agent"
)

// A child of a run works in a namespace of its thread. Its steps have no checkpoints or rows of their own: they are
// among the frames of its parent's step, and their messages are folded with it, once.

// ChildStep is the stored form of a child's step.
type ChildStep struct {
	StepData
	Messages []json.RawMessage          `json:"messages,omitempty"`
	Shown    []bool                     `json:"whole,omitempty"`
	Fields   map[string]json.RawMessage `json:"fields,omitempty"`
}

// Data returns the step as readers see it.
func (s ChildStep) Data() *StepData {
	d := s.StepData
	d.Messages, d.Whole, d.Fields = s.Messages, s.Shown, s.Fields
	return &d
}

// inline finds the messages in the children's steps of frames, so that their streamed parts, calls and results can
// refer to them. Their rows count down from -1.
func (f *folder) inline(frames iter.Seq[[]byte]) {
	slots := map[string]int{} // messages streamed in a namespace, by id
	f.byID = map[string]int{}
	for frame := range frames {
		p, err := split(frame)
		if err != nil {
			continue
		}
		switch p.kind {
		case KindMessage:
			var m Msg
			if json.Unmarshal(p.payload, &m) == nil && m.NS != "" {
				slots[m.ID] = p.slot
			}
		case KindStep:
			var s ChildStep
			if json.Unmarshal(p.payload, &s) != nil {
				continue
			}
			for _, body := range s.Messages {
				f.bodies = append(f.bodies, body)
				m, err := agent.ParseMessage(body)
				if err != nil {
					continue
				}
				f.byID[m.ID] = len(f.bodies) - 1
				stored := Stored{Row: -int64(len(f.bodies)), Message: m}
				if slot, ok := slots[m.ID]; ok && m.Type == agent.TypeAI {
					f.streamed[slot] = stored
				}
				if m.Type == agent.TypeTool {
					f.results[p.ns+"\n"+m.ID] = stored
				}
				for _, c := range m.ToolCalls {
					f.callers[p.ns+"\n"+c.ID] = stored
				}
			}
		}
	}
}

// within moves events into a namespace.
func (f *folder) within(ns string) {
	if f.ns != ns {
		f.record(foldWithin, uint64(len(ns)))
		f.out = append(f.out, ns...)
		f.ns = ns
	}
}

// shortStep writes a child's step without its messages, which precede all records.
func (f *folder) shortStep(p parts) bool {
	var s ChildStep
	if json.Unmarshal(p.payload, &s) != nil {
		return false
	}
	count := len(s.Messages)
	first := f.told
	f.told += count // inline has counted them
	if again, err := agent.Encode(s); err != nil || !bytes.Equal(again, p.payload) {
		return false
	}
	s.Messages = nil
	rest, err := agent.Encode(s)
	if err != nil {
		return false
	}
	f.within(p.ns)
	f.record(foldStep, uint64(len(rest)))
	f.out = append(f.out, rest...)
	f.number(count)
	for i := range count {
		f.number(f.rowPlace(-int64(first + i + 1)))
	}
	return true
}

// shortTold writes an event about a child's message without the message.
func (f *folder) shortTold(p parts) bool {
	var told struct{ Message json.RawMessage }
	var m struct{ ID string }
	if len(f.bodies) == 0 || p.ns != "" || json.Unmarshal(p.payload, &told) != nil ||
		json.Unmarshal(told.Message, &m) != nil {
		return false
	}
	i, ok := f.byID[m.ID]
	if !ok || !bytes.Equal(f.bodies[i], told.Message) {
		return false
	}
	place := f.rowPlace(-int64(i + 1))
	key := [3]int{foldTold, place}
	if f.used[key] {
		return false
	}
	f.used[key] = true
	before, after, _ := bytes.Cut(p.payload, told.Message)
	f.record(foldTold, uint64(len(before)+len(after)))
	f.out = append(append(f.out, before...), after...)
	f.number(len(before))
	f.number(place)
	return true
}

// appendRows writes the list of rows: numbers of the thread's messages; for messages without a row a
// 0, their length and their content.
func (f *folder) appendRows(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(f.rows)))
	for _, row := range f.rows {
		if row > 0 {
			dst = binary.AppendUvarint(dst, uint64(row))
			continue
		}
		body := f.bodies[-row-1]
		dst = append(binary.AppendUvarint(append(dst, 0), uint64(len(body))), body...)
	}
	return dst
}

// readRows decodes them.
func (u *unfolder) readRows() error {
	count, err := u.number()
	if err != nil || count > len(u.data) {
		return fmt.Errorf("%w: rows", ErrDamaged)
	}
	for range count {
		row, err := u.number()
		if err != nil {
			return err
		}
		if row == 0 {
			body, err := u.bytes()
			if err != nil {
				return err
			}
			u.inline = append(u.inline, body)
			row = -len(u.inline)
		}
		u.rows = append(u.rows, int64(row))
	}
	return nil
}

// step reads a child's step.
func (u *unfolder) step(n int) (Event, error) {
	rest, err := u.take(n)
	if err != nil {
		return Event{}, err
	}
	var s ChildStep
	if err := json.Unmarshal(rest, &s); err != nil {
		return Event{}, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	count, err := u.number()
	if err != nil || count > len(u.rows) {
		return Event{}, fmt.Errorf("%w: messages of a step", ErrDamaged)
	}
	for range count {
		place, err := u.number()
		if err != nil {
			return Event{}, err
		}
		b, err := u.row(place)
		if err != nil {
			return Event{}, err
		}
		s.Messages = append(s.Messages, b.raw)
	}
	return Event{Kind: KindStep, NS: u.ns, Step: s.Data()}, nil
}

// told reads an event about a child's message.
func (u *unfolder) told(n int) (Event, error) {
	rest, err := u.take(n)
	if err != nil {
		return Event{}, err
	}
	at, err := u.number()
	if err != nil || at > len(rest) {
		return Event{}, fmt.Errorf("%w: place of a message", ErrDamaged)
	}
	place, err := u.number()
	if err != nil {
		return Event{}, err
	}
	if err := u.once(foldTold, place, 0); err != nil {
		return Event{}, err
	}
	b, err := u.row(place)
	if err != nil {
		return Event{}, err
	}
	return Event{Kind: KindCustom, Data: slices.Concat(rest[:at], b.raw, rest[at:])}, nil
}
