package runevent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"iter"
	"maps"
	"strings"
	"unicode/utf8"

	"fawn/agent"
)

// The frames of a finished step are packed into one row. Content repeated by a stored message is a reference to it, so
// an answer or a tool's output is on disk once.
//
// Layout: the number of referenced messages and their rows, then records. A child's message, which has no row, is
// embedded. A record is n<<4|code followed by the code's data; all numbers are uvarints.
const (
	foldFrame     = iota // n bytes follow: a whole frame
	foldOpen             // KindMessage in slot n; the place of its row follows. Selects the slot
	foldSelect           // slot n follows
	foldText             // the next n bytes of the message's text
	foldReasoning        // the next n bytes of its reasoning
	foldCall             // the next n bytes of a call's arguments; call<<1|first and index follow
	foldFinish           // n lists the parts of Finish repeated by the message
	foldStart            // KindToolStart of call n; the place of the calling message's row follows
	foldEnd              // KindToolResult; the place of the tool message's row is n, then flags and patch
	foldWithin           // a namespace of n bytes follows
	foldStep             // KindStep of a child: n bytes, the number of its messages and their places
	foldTold             // KindCustom that holds a child's message: n bytes around it, where it belongs, and its place
)

// Parts of a Finish that a stored message repeats.
const (
	finishUsage = 1 << iota
	finishReason
	finishModel
)

// Flags of a foldEnd record.
const (
	endRun   = 1 << iota // ToolEnd.End
	endPatch             // a patch follows: its length, its bytes
	endHidden
)

// Stored is a message with its row.
type Stored struct {
	Row     int64
	Message *agent.Message
}

// Known holds the messages that the frames of a step may refer to.
type Known struct {
	Streamed map[int]Stored    // by slot: messages this step stores
	Caller   Stored            // the message whose calls the step runs; row 0 for none
	Results  map[string]Stored // by id: tool messages this step stores
}

// folder packs the frames of one step.
type folder struct {
	streamed map[int]Stored    // by slot: messages stored by this step, and those of children
	caller   Stored            // the message whose calls the step runs; row 0 for none
	results  map[string]Stored // by namespace and id: tool messages
	callers  map[string]Stored // by namespace and id of a call: messages of children
	bodies   [][]byte          // bodies of the children's messages
	byID     map[string]int    // which of bodies is the newest of an id
	told     int               // number of bodies whose step was written

	rows  []int64
	place map[int64]int
	used  map[[3]int]bool // referenced calls and results; each at most once
	slots map[int]*openSlot
	cur   int // selected slot, -1 for none
	ns    string
	out   []byte
}

// openSlot is a slot with a stored message.
type openSlot struct {
	msg             *agent.Message
	text, reasoning bool // the deltas equal the stored text exactly
	calls           map[int]int
}

// Fold packs the frames of one step. Every reference is verified to reproduce the same bytes; a frame that no stored
// message repeats is kept whole.
func Fold(frames iter.Seq[[]byte], known Known) []byte {
	f := folder{streamed: map[int]Stored{}, caller: known.Caller, results: map[string]Stored{},
		callers: map[string]Stored{}, place: map[int64]int{}, used: map[[3]int]bool{},
		slots: map[int]*openSlot{}, cur: -1}
	maps.Copy(f.streamed, known.Streamed)
	for id, m := range known.Results {
		f.results["\n"+id] = m
	}
	return f.fold(frames)
}

func (f *folder) fold(frames iter.Seq[[]byte]) []byte {
	f.inline(frames)
	sums := f.sumDeltas(frames)
	for frame := range frames {
		p, err := split(frame)
		if err != nil || !f.short(p, sums) {
			f.record(foldFrame, uint64(len(frame)))
			f.out = append(f.out, frame...)
		}
	}
	return append(f.appendRows(nil), f.out...)
}

func (f *folder) record(code int, n uint64) {
	f.out = binary.AppendUvarint(f.out, n<<4|uint64(code))
}

func (f *folder) number(n int) { f.out = binary.AppendUvarint(f.out, uint64(n)) }

// rowPlace returns where row is in the list of rows.
func (f *folder) rowPlace(row int64) int {
	at, ok := f.place[row]
	if !ok {
		at = len(f.rows)
		f.place[row], f.rows = at, append(f.rows, row)
	}
	return at
}

// short writes a frame as a reference when it can.
func (f *folder) short(p parts, sums map[int]*deltas) bool {
	switch p.kind {
	case KindToolStart:
		return f.shortStart(p)
	case KindToolResult:
		return f.shortEnd(p)
	case KindStep:
		return f.shortStep(p)
	case KindCustom:
		return f.shortTold(p)
	case KindMessage:
		return f.shortOpen(p, sums)
	}
	s := f.slots[p.slot]
	if !p.slotted || s == nil {
		return false
	}
	switch p.kind {
	case KindText:
		return s.text && f.piece(p.slot, foldText, len(p.payload))
	case KindReasoning:
		return s.reasoning && f.piece(p.slot, foldReasoning, len(p.payload))
	case KindCall:
		return f.shortCall(p, s)
	case KindFinish:
		return f.shortFinish(p, s)
	}
	return false
}

func (f *folder) shortOpen(p parts, sums map[int]*deltas) bool {
	m, ok := f.streamed[p.slot]
	if !ok {
		return false
	}
	var told Msg
	if json.Unmarshal(p.payload, &told) != nil {
		return false
	}
	plain, err := agent.Encode(Msg{ID: m.Message.ID, NS: told.NS})
	if err != nil || !bytes.Equal(plain, p.payload) || !sound(m.Message.ID) {
		return false
	}
	s := &openSlot{msg: m.Message, calls: map[int]int{}}
	if d := sums[p.slot]; d != nil {
		stored := messageTexts(m.Message)
		s.text = d.text.whole() && sound(stored[0])
		s.reasoning = d.reasoning.whole() && sound(stored[1])
		d.match(m.Message, s.calls)
	}
	f.within(told.NS)
	f.slots[p.slot], f.cur = s, p.slot
	f.record(foldOpen, uint64(p.slot))
	f.number(f.rowPlace(m.Row))
	return true
}

// sound reports whether texts survive being stored as JSON, which can't hold invalid characters.
func sound(texts ...string) bool {
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
			return false
		}
	}
	return true
}

// piece writes a delta as a length.
func (f *folder) piece(slot, code, n int) bool {
	f.selectSlot(slot)
	f.record(code, uint64(n))
	return true
}

func (f *folder) selectSlot(slot int) {
	if f.cur != slot {
		f.record(foldSelect, uint64(slot))
		f.cur = slot
	}
}

func (f *folder) shortCall(p parts, s *openSlot) bool {
	var c agent.CallDelta
	if json.Unmarshal(p.payload, &c) != nil {
		return false
	}
	at, ok := s.calls[c.Index]
	if !ok {
		return false
	}
	f.piece(p.slot, foldCall, len(c.Args))
	first := 0
	if c.ID != "" {
		first = 1
	}
	f.number(at<<1 | first)
	f.number(c.Index)
	return true
}

func (f *folder) shortFinish(p parts, s *openSlot) bool {
	var fin Finish
	if json.Unmarshal(p.payload, &fin) != nil {
		return false
	}
	has := 0
	if len(fin.Usage) > 0 {
		has |= finishUsage
	}
	if fin.Finish != "" {
		has |= finishReason
	}
	if fin.Model != "" {
		has |= finishModel
	}
	again, err := finishOf(s.msg, has)
	if err != nil || !bytes.Equal(again, p.payload) || !sound(fin.Finish, fin.Model) {
		return false
	}
	return f.piece(p.slot, foldFinish, has)
}

func (f *folder) shortStart(p parts) bool {
	caller := f.caller
	if p.ns != "" {
		var c agent.ToolCall
		if json.Unmarshal(p.payload, &c) != nil {
			return false
		}
		caller = f.callers[p.ns+"\n"+c.ID]
	}
	if caller.Row == 0 {
		return false
	}
	for i, c := range caller.Message.ToolCalls {
		key := [3]int{foldStart, int(caller.Row), i}
		again, err := agent.Encode(c)
		if err == nil && bytes.Equal(again, p.payload) && sound(c.ID, c.Name) && !f.used[key] {
			f.used[key] = true
			f.within(p.ns)
			f.record(foldStart, uint64(i))
			f.number(f.rowPlace(caller.Row))
			return true
		}
	}
	return false
}

func (f *folder) shortEnd(p parts) bool {
	var t ToolEnd
	var m struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(p.payload, &t) != nil || json.Unmarshal(t.Message, &m) != nil {
		return false
	}
	stored, ok := f.results[p.ns+"\n"+m.ID]
	if !ok {
		return false
	}
	body, err := agent.Encode(stored.Message)
	if err != nil {
		return false
	}
	flags := 0
	if t.End {
		flags |= endRun
	}
	if string(t.Patch) != "{}" {
		flags |= endPatch
	}
	if len(t.Hidden) > 0 {
		flags |= endHidden
	}
	if again, err := endOf(body, flags, t.Patch, t.Hidden); err != nil || !bytes.Equal(again, p.payload) {
		return false
	}
	place := f.rowPlace(stored.Row)
	if f.used[[3]int{foldEnd, place}] {
		return false
	}
	f.used[[3]int{foldEnd, place}] = true
	f.within(p.ns)
	f.record(foldEnd, uint64(place))
	f.number(flags)
	if flags&endPatch != 0 {
		f.number(len(t.Patch))
		f.out = append(f.out, t.Patch...)
	}
	if flags&endHidden != 0 {
		f.number(len(t.Hidden))
		f.out = append(f.out, t.Hidden...)
	}
	return true
}
