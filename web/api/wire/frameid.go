package wire

import "fawn/web/httpx"

// Every frame has an id of its own, the same for all readers whatever they asked for, so that
// one who comes back gets exactly what follows. Frames of the usual modes have the number of
// their event; where several modes tell of one event the others have parts of it.
const (
	partWhole = 1       // the message so far, beside the piece of it
	partEvent = 2       // the callback event, beside both
	partLate  = 8       // what comes before the next event's own frame; also one more for each message
	partAhead = 1 << 20 // the callback event of the next event, behind all that belongs to this one
)

func one(seq int64) httpx.ID { return httpx.ID{Seq: seq} }

func part(seq int64, n int) httpx.ID { return httpx.ID{Seq: seq, Part: int32(n)} }

// fresh reports whether the reader has not had a frame.
func (e *Encoder) fresh(id httpx.ID) bool { return id.Compare(e.after) > 0 }
