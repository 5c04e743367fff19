package runevent

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"fawn/agent"
)

// unfolder reads a folded row back.
type unfolder struct {
	load func(row int64) ([]byte, error)

	data    []byte
	rows    []int64
	bodies  map[int64]*body
	decoder Decoder
	stored  map[int]*body // by slot
	cur     int
	at      map[[3]int]int  // bytes used of (code, slot, call)
	used    map[[3]int]bool // references that may occur once
	ns      string          // namespace of the next events
	inline  [][]byte        // messages without rows, the first has row -1
}

// body is a stored message, as bytes and read.
type body struct {
	raw   []byte
	msg   *agent.Message
	texts [2]string
	args  []string // arguments of the calls
}

// Unfold reads a folded row, numbering events from seq. load fetches the body of a stored message. Errors: ErrDamaged,
// and load's.
func Unfold(data []byte, seq int64, load func(row int64) ([]byte, error)) ([]Event, error) {
	u := &unfolder{load: load, data: data, bodies: map[int64]*body{}, stored: map[int]*body{}, cur: -1,
		at: map[[3]int]int{}, used: map[[3]int]bool{}}
	if err := u.readRows(); err != nil {
		return nil, err
	}
	var out []Event
	for len(u.data) > 0 {
		ev, err := u.record()
		if err != nil {
			return nil, err
		}
		if ev.Kind == 0 {
			continue
		}
		ev.Seq, ev.To = seq, seq+ev.Width()-1
		out = append(out, ev)
		seq = ev.To + 1
	}
	return out, nil
}

// number reads a number that fits every use.
func (u *unfolder) number() (int, error) {
	v, n := binary.Uvarint(u.data)
	if n <= 0 || v > math.MaxInt32 {
		return 0, fmt.Errorf("%w: number", ErrDamaged)
	}
	u.data = u.data[n:]
	return int(v), nil
}

func (u *unfolder) bytes() ([]byte, error) {
	n, err := u.number()
	if err != nil {
		return nil, err
	}
	return u.take(n)
}

func (u *unfolder) take(n int) ([]byte, error) {
	if n > len(u.data) {
		return nil, fmt.Errorf("%w: past the end", ErrDamaged)
	}
	out := u.data[:n:n]
	u.data = u.data[n:]
	return out, nil
}

// record reads one record; an event without a kind means that it has none.
func (u *unfolder) record() (Event, error) {
	head, err := u.number()
	if err != nil {
		return Event{}, err
	}
	n := head >> 4
	switch code := head & 15; code {
	case foldFrame:
		frame, err := u.take(n)
		if err != nil {
			return Event{}, err
		}
		ev, _, err := u.decoder.Decode(frame)
		return ev, err
	case foldSelect:
		u.cur = n
		return Event{}, nil
	case foldOpen:
		return u.open(n)
	case foldText, foldReasoning:
		return u.piece(code, n)
	case foldCall:
		return u.call(n)
	case foldFinish:
		s, m, err := u.slot()
		if err != nil {
			return Event{}, err
		}
		data, err := finishOf(s.msg, n)
		return Event{Kind: KindFinish, NS: m.NS, Msg: m, Data: data}, err
	case foldStart:
		return u.start(n)
	case foldEnd:
		return u.end(n)
	case foldWithin:
		ns, err := u.take(n)
		u.ns = string(ns)
		return Event{}, err
	case foldStep:
		return u.step(n)
	case foldTold:
		return u.told(n)
	}
	return Event{}, fmt.Errorf("%w: record %d", ErrDamaged, head&15)
}

// row returns the message at a place of the list of rows.
func (u *unfolder) row(place int) (*body, error) {
	if place >= len(u.rows) {
		return nil, fmt.Errorf("%w: row %d of %d", ErrDamaged, place, len(u.rows))
	}
	n := u.rows[place]
	if b := u.bodies[n]; b != nil {
		return b, nil
	}
	raw, err := u.body(n)
	if err != nil {
		return nil, err
	}
	msg, err := agent.ParseMessage(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: message %d: %v", ErrDamaged, n, err)
	}
	b := &body{raw: raw, msg: msg, texts: messageTexts(msg)}
	for _, c := range msg.ToolCalls {
		b.args = append(b.args, string(c.Args))
	}
	u.bodies[n] = b
	return b, nil
}

// body returns the content of a row.
func (u *unfolder) body(row int64) ([]byte, error) {
	if row < 0 {
		return u.inline[-row-1], nil
	}
	return u.load(row)
}

// once refuses a repeated reference, a sign of damage.
func (u *unfolder) once(code, a, b int) error {
	key := [3]int{code, a, b}
	if u.used[key] {
		return fmt.Errorf("%w: reference twice", ErrDamaged)
	}
	u.used[key] = true
	return nil
}

func (u *unfolder) open(slot int) (Event, error) {
	place, err := u.number()
	if err != nil {
		return Event{}, err
	}
	b, err := u.row(place)
	if err != nil {
		return Event{}, err
	}
	m := &Msg{ID: b.msg.ID, NS: u.ns}
	u.decoder.open(slot, m)
	u.stored[slot], u.cur = b, slot
	return Event{Kind: KindMessage, NS: m.NS, Msg: m}, nil
}

// slot returns the selected slot's stored message.
func (u *unfolder) slot() (*body, *Msg, error) {
	b, m := u.stored[u.cur], u.decoder.slots[u.cur]
	if b == nil || m == nil {
		return nil, nil, fmt.Errorf("%w: slot %d was never opened", ErrDamaged, u.cur)
	}
	return b, m, nil
}

// cut takes the next n bytes of a text that a message holds.
func (u *unfolder) cut(key [3]int, text string, n int) (string, error) {
	from := u.at[key]
	if n > len(text)-from {
		return "", fmt.Errorf("%w: text past the message", ErrDamaged)
	}
	u.at[key] = from + n
	return text[from : from+n], nil
}

func (u *unfolder) piece(code, n int) (Event, error) {
	b, m, err := u.slot()
	if err != nil {
		return Event{}, err
	}
	kind, text := KindText, b.texts[0]
	if code == foldReasoning {
		kind, text = KindReasoning, b.texts[1]
	}
	part, err := u.cut([3]int{code, u.cur, 0}, text, n)
	return Event{Kind: kind, NS: m.NS, Msg: m, Text: part}, err
}

func (u *unfolder) call(n int) (Event, error) {
	b, m, err := u.slot()
	if err != nil {
		return Event{}, err
	}
	which, err := u.number()
	if err != nil {
		return Event{}, err
	}
	index, err := u.number()
	if err != nil {
		return Event{}, err
	}
	at, first := which>>1, which&1 == 1
	if at >= len(b.msg.ToolCalls) {
		return Event{}, fmt.Errorf("%w: call %d of %d", ErrDamaged, at, len(b.msg.ToolCalls))
	}
	c := b.msg.ToolCalls[at]
	d := agent.CallDelta{Index: index}
	if first {
		if err := u.once(foldCall, u.cur, at); err != nil {
			return Event{}, err
		}
		d.ID, d.Name = c.ID, c.Name
	}
	if d.Args, err = u.cut([3]int{foldCall, u.cur, at}, b.args[at], n); err != nil {
		return Event{}, err
	}
	data, err := agent.Encode(d)
	return Event{Kind: KindCall, NS: m.NS, Msg: m, Data: data}, err
}

func (u *unfolder) start(call int) (Event, error) {
	place, err := u.number()
	if err != nil {
		return Event{}, err
	}
	b, err := u.row(place)
	if err != nil {
		return Event{}, err
	}
	if call >= len(b.msg.ToolCalls) {
		return Event{}, fmt.Errorf("%w: call %d of %d", ErrDamaged, call, len(b.msg.ToolCalls))
	}
	if err := u.once(foldStart, place, call); err != nil {
		return Event{}, err
	}
	data, err := agent.Encode(b.msg.ToolCalls[call])
	return Event{Kind: KindToolStart, NS: u.ns, Data: data}, err
}

func (u *unfolder) end(place int) (Event, error) {
	b, err := u.row(place)
	if err != nil {
		return Event{}, err
	}
	if err := u.once(foldEnd, place, 0); err != nil {
		return Event{}, err
	}
	flags, err := u.number()
	if err != nil {
		return Event{}, err
	}
	patch, hidden := []byte("{}"), []byte(nil)
	if flags&endPatch != 0 {
		if patch, err = u.bytes(); err != nil {
			return Event{}, err
		}
	}
	if flags&endHidden != 0 {
		if hidden, err = u.bytes(); err != nil {
			return Event{}, err
		}
	}
	data, err := endOf(b.raw, flags, patch, hidden)
	if err != nil {
		return Event{}, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return Event{Kind: KindToolResult, NS: u.ns, Data: data}, nil
}

// finishOf returns the Finish a stored message repeats, with the parts of has.
func finishOf(m *agent.Message, has int) (json.RawMessage, error) {
	var f Finish
	if has&finishUsage != 0 && m.Usage != nil {
		usage, err := agent.Encode(m.Usage)
		if err != nil {
			return nil, err
		}
		f.Usage = usage
	}
	if has&finishReason != 0 {
		f.Finish, _ = m.Meta["finish_reason"].(string)
	}
	if has&finishModel != 0 {
		f.Model, _ = m.Meta["model_name"].(string)
	}
	return agent.Encode(f)
}

// endOf returns the ToolEnd of a stored tool message.
func endOf(message []byte, flags int, patch, hidden []byte) (json.RawMessage, error) {
	var m struct {
		Name   *string `json:"name"`
		CallID string  `json:"tool_call_id"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, err
	}
	t := ToolEnd{ID: m.CallID, Message: message, Patch: patch, End: flags&endRun != 0, Hidden: hidden}
	if m.Name != nil {
		t.Name = *m.Name
	}
	return agent.Encode(t)
}
