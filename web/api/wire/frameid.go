package wire

import "fawn/web/httpx"

// Every frame has an id that is the same for all readers, whatever they requested, so a returning reader continues
// exactly after it. Frames of the usual modes have the number of their event; further modes' frames for the same event
// have parts of it.
const (
	partWhole = 1       // the message so far, in addition to the piece
	partEvent = 2       // the callback event, in addition to both
	partLate  = 8       // frames before the next event's own; also one more for each message
	partAhead = 1 << 20 // the callback event of the next event, after all that belongs to this one
)

func one(seq int64) httpx.ID { return httpx.ID{Seq: seq} }

func part(seq int64, n int) httpx.ID { return httpx.ID{Seq: seq, Part: int32(n)} }

// fresh reports whether the reader has not had a frame.
func (e *Encoder) fresh(id httpx.ID) bool { return id.Compare(e.after) > 0 }
