package runevent

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

const (
	firstBlock = 512     // bytes; most steps are short
	fullBlock  = 8 << 10 // bytes; a longer step has blocks of this size
)

// Frames are the received frames of an open step. They are in blocks, each frame after its length, so a long answer
// takes little more than its text and is never copied as a whole. The zero value is empty.
type Frames struct {
	blocks [][]byte
	n      int
}

// Len returns the number of frames.
func (f *Frames) Len() int { return f.n }

// Delta adds the frame of an event of the message in a slot: KindMessage opens it. The returned frame
// must not be changed and is valid until Reset.
func (f *Frames) Delta(k Kind, slot int, payload string) []byte {
	size := 1 + uvarintLen(uint64(slot)) + len(payload)
	b := f.room(size)
	b = append(b, frameByte(k))
	b = binary.AppendUvarint(b, uint64(slot))
	return f.put(append(b, payload...), size)
}

// Named adds the frame of an event that belongs to a namespace: of tools and their calls, of
// children's steps, and custom ones. It returns the frame as Delta does.
func (f *Frames) Named(k Kind, ns string, payload []byte) []byte {
	size := 1 + uvarintLen(uint64(len(ns))) + len(ns) + len(payload)
	b := f.room(size)
	b = append(b, frameByte(k))
	b = binary.AppendUvarint(b, uint64(len(ns)))
	b = append(b, ns...)
	return f.put(append(b, payload...), size)
}

// Add adds an existing frame.
func (f *Frames) Add(frame []byte) { f.put(append(f.room(len(frame)), frame...), len(frame)) }

// All returns the frames in their order.
func (f *Frames) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, b := range f.blocks {
			for len(b) > 0 {
				size, n := binary.Uvarint(b)
				end := n + int(size)
				if !yield(b[n:end:end]) {
					return
				}
				b = b[end:]
			}
		}
	}
}

// Reset forgets all frames.
func (f *Frames) Reset() {
	if f.n = 0; len(f.blocks) > 0 { // most runs continue with a short step
		f.blocks = append(f.blocks[:0:0], f.blocks[0][:0])
	}
}

// room returns the last block with space for a frame of that size, whose length it records.
func (f *Frames) room(size int) []byte {
	need := uvarintLen(uint64(size)) + size
	last := len(f.blocks) - 1
	if last < 0 || cap(f.blocks[last])-len(f.blocks[last]) < need {
		f.blocks = append(f.blocks, make([]byte, 0, max(need, min(firstBlock*(1+len(f.blocks)), fullBlock))))
		last++
	}
	return binary.AppendUvarint(f.blocks[last], uint64(size))
}

// put makes b the last block and returns the frame at its end.
func (f *Frames) put(b []byte, size int) []byte {
	f.blocks[len(f.blocks)-1] = b
	f.n++
	return b[len(b)-size : len(b) : len(b)]
}

func uvarintLen(n uint64) int { return max(1, (bits.Len64(n)+6)/7) }
