package wire

import (
	"bytes"
	"errors"
	"fmt"

	"fawn/web/httpx"
)

// keepAtMost is the size in bytes up to which a buffer is reused.
const keepAtMost = 256 << 10

// ErrLeft means that the reader is gone.
var ErrLeft = errors.New("the client left")

// frames are frames on their way to a reader.
type frames struct{ buf []byte }

// Len returns the size of the unsent data in bytes.
func (f *frames) Len() int { return len(f.buf) }

// Send writes the buffered data. A buffer that grew for a large state is released.
func (f *frames) Send(out *httpx.Stream, flush bool) error {
	if err := out.Write(f.buf, flush); err != nil {
		return fmt.Errorf("%w: %w", ErrLeft, err)
	}
	if cap(f.buf) > keepAtMost {
		f.buf = nil
	}
	f.buf = f.buf[:0]
	return nil
}

// Events writes the buffered data of each event separately.
func (f *frames) Events(take func(data []byte) error) error {
	for line := range bytes.SplitSeq(f.buf, []byte("\n")) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if err := take(data); err != nil {
				return fmt.Errorf("%w: %w", ErrLeft, err)
			}
		}
	}
	if cap(f.buf) > keepAtMost {
		f.buf = nil
	}
	f.buf = f.buf[:0]
	return nil
}

// WaitFrame tells readers of custom events that commits are delayed, because the disk or the database stalls, or no
// longer. It isn't an event of a run, so it has no id for resuming.
func WaitFrame(waiting bool) []byte {
	return httpx.AppendFrame(nil, "custom",
		fmt.Appendf(nil, `{"type": "storage_waiting", "waiting": %t}`, waiting), httpx.ID{})
}
