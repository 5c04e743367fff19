package eventlog

import (
	"slices"
	"sort"

	"fawn/agent/runs/runevent"
)

// eventBlock is the number of events per block.
const eventBlock = 64

// list is an ascending list of events in blocks: appending never copies the whole list, and dropped blocks are freed.
// Readers' slices don't change.
//
// Nearly all events are small pieces of one text, and few readers want any but the newest. Such a block is packed once
// the next one is full: a piece takes the size of its text plus 2 bytes instead of some 110.
type list struct {
	blocks []block // no block is empty
}

// block is a part of the list, open or packed.
type block struct {
	open []runevent.Event
	text *texts
}

// texts are pieces of one message's text, or of its reasoning, with numbers that follow each other.
type texts struct {
	first runevent.Event // without its text
	text  string
	ends  [eventBlock]uint16 // end of each piece in text
}

func (l *list) add(ev *runevent.Event) {
	n := len(l.blocks)
	if n == 0 {
		l.blocks = append(l.blocks, block{}) // grows on demand: most runs are short
	} else if len(l.blocks[n-1].open) == eventBlock || l.blocks[n-1].text != nil {
		if n > 1 {
			l.blocks[n-2].pack()
		}
		l.blocks = append(l.blocks, block{open: make([]runevent.Event, 0, eventBlock)})
	}
	end := &l.blocks[len(l.blocks)-1]
	end.open = append(end.open, *ev)
}

// last returns nil for an empty list.
func (l *list) last() *runevent.Event {
	if len(l.blocks) == 0 {
		return nil
	}
	end := l.blocks[len(l.blocks)-1].events()
	return &end[len(end)-1]
}

func (l *list) dropLast() {
	n := len(l.blocks) - 1
	if end := l.blocks[n].events(); len(end) > 1 {
		l.blocks[n] = block{open: end[:len(end)-1]}
		return
	}
	l.blocks = l.blocks[:n]
}

// dropWhile drops the oldest events while f returns true.
func (l *list) dropWhile(f func(*runevent.Event) bool) {
	for len(l.blocks) > 0 {
		first, n := l.blocks[0].events(), 0
		for n < len(first) && f(&first[n]) {
			n++
		}
		if n < len(first) {
			if n > 0 {
				l.blocks[0] = block{open: slices.Clone(first[n:])}
			}
			return
		}
		l.blocks = l.blocks[1:]
	}
}

// after returns the events past seq that are in one block; none if there are none at all.
func (l *list) after(seq int64) []runevent.Event {
	if n := len(l.blocks); n > 0 { // nearly all readers are close to the end
		end := l.blocks[n-1].open
		for i := len(end) - 1; i >= max(0, len(end)-8); i-- {
			if end[i].To <= seq {
				return end[i+1:]
			}
		}
	}
	at := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].to() > seq })
	if at == len(l.blocks) {
		return nil
	}
	b := l.blocks[at].events()
	return b[sort.Search(len(b), func(i int) bool { return b[i].To > seq }):]
}

// to returns the last number of the block.
func (b *block) to() int64 {
	if b.text != nil {
		return b.text.first.To + eventBlock - 1
	}
	return b.open[len(b.open)-1].To
}

// events decodes the events of the block, again after it was packed.
func (b *block) events() []runevent.Event {
	if b.text == nil {
		return b.open
	}
	out, from := make([]runevent.Event, eventBlock), uint16(0)
	for i, to := range b.text.ends {
		ev := b.text.first
		ev.Seq += int64(i)
		ev.To += int64(i)
		ev.Text = b.text.text[from:to]
		out[i], from = ev, to
	}
	return out
}

// pack packs a full block if its events are alike.
func (b *block) pack() {
	if len(b.open) != eventBlock {
		return
	}
	first, size := b.open[0], 0
	first.Text = ""
	for i, ev := range b.open {
		size += len(ev.Text)
		if (ev.Kind != runevent.KindText && ev.Kind != runevent.KindReasoning) ||
			ev.Kind != first.Kind || ev.Msg != first.Msg || ev.NS != first.NS ||
			ev.Seq != first.Seq+int64(i) || ev.To != ev.Seq || ev.Data != nil || ev.Step != nil || size > 1<<16-1 {
			return
		}
	}
	t, text := &texts{first: first}, make([]byte, 0, size)
	for i, ev := range b.open {
		text = append(text, ev.Text...)
		t.ends[i] = uint16(len(text))
	}
	t.text = string(text)
	*b = block{text: t}
}
