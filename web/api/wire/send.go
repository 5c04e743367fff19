package wire

import (
	"bytes"
	"errors"
	"fmt"

	"fawn/web/httpx"
)

// keepAtMost is the size in bytes of a buffer that is kept for what comes next.
const keepAtMost = 256 << 10

// ErrLeft means that nobody reads the answer any more.
var ErrLeft = errors.New("the client left")

// frames are frames on their way to a reader.
type frames struct{ buf []byte }

// Len returns the size in bytes of what waits to be sent.
func (f *frames) Len() int { return len(f.buf) }

// Send hands over what there is. A buffer that grew for a large state is given back.
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

// Events hands over what there is, the data of each event by itself.
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

// WaitFrame tells readers of custom events that commits have to be waited for, as the disk or the database stands still,
// or that this is over. It is no event of a run, so it has no id to go on behind.
func WaitFrame(waiting bool) []byte {
	return httpx.AppendFrame(nil, "custom",
		fmt.Appendf(nil, `{"type": "storage_waiting", "waiting": %t}`, waiting), httpx.ID{})
}
