package runevent

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"fawn/agent"
)

// deltas are the streamed parts of one slot besides its stored message.
type deltas struct {
	text, reasoning matcher
	calls           map[int]*callDeltas // by index
}

// matcher compares pieces with a text.
type matcher struct {
	left string // of the text, after all pieces
	odd  bool   // they differ
}

func (m *matcher) take(piece []byte) {
	if n := len(piece); !m.odd && n <= len(m.left) && m.left[:n] == string(piece) {
		m.left = m.left[n:]
	} else {
		m.odd = true
	}
}

// whole reports whether the pieces add up to the text.
func (m *matcher) whole() bool { return !m.odd && m.left == "" }

type callDeltas struct {
	id, name string
	args     strings.Builder
	odd      bool // a form that a reference can't reproduce
}

// sumDeltas adds up the deltas of every slot with a stored message.
func (f *folder) sumDeltas(frames iter.Seq[[]byte]) map[int]*deltas {
	sums := make(map[int]*deltas, len(f.streamed))
	for slot, m := range f.streamed {
		stored := messageTexts(m.Message)
		sums[slot] = &deltas{text: matcher{left: stored[0]}, reasoning: matcher{left: stored[1]},
			calls: map[int]*callDeltas{}}
	}
	for frame := range frames {
		p, err := split(frame)
		if err != nil || !p.slotted {
			continue
		}
		d := sums[p.slot]
		if d == nil {
			continue
		}
		switch p.kind {
		case KindText:
			d.text.take(p.payload)
		case KindReasoning:
			d.reasoning.take(p.payload)
		case KindCall:
			d.addCall(p.payload)
		}
	}
	return sums
}

func (d *deltas) addCall(payload []byte) {
	var c agent.CallDelta
	if json.Unmarshal(payload, &c) != nil || c.Index < 0 {
		return
	}
	call := d.calls[c.Index]
	if call == nil {
		call = &callDeltas{}
		d.calls[c.Index] = call
	}
	switch {
	case c.ID != "" && c.Name != "" && call.id == "":
		call.id, call.name = c.ID, c.Name
	case c.ID != "" || c.Name != "":
		call.odd = true
	}
	call.args.WriteString(c.Args)
}

// match finds the calls of m whose deltas equal the stored arguments, by index.
func (d *deltas) match(m *agent.Message, into map[int]int) {
	taken := map[int]bool{}
	for _, index := range slices.Sorted(maps.Keys(d.calls)) {
		call := d.calls[index]
		if call.odd || call.id == "" {
			continue
		}
		for at, c := range m.ToolCalls {
			if !taken[at] && c.ID == call.id && c.Name == call.name && string(c.Args) == call.args.String() &&
				sound(c.ID, c.Name, string(c.Args)) {
				into[index], taken[at] = at, true
				break
			}
		}
	}
}

// messageTexts returns the text and reasoning of a message as they streamed.
func messageTexts(m *agent.Message) [2]string {
	reasoning, _ := m.Kwargs["reasoning_content"].(string)
	return [2]string{m.Content.Text, reasoning}
}
