package wire

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"fawn/web/httpx"
)

// keepAtMost is the size in bytes up to which a buffer is reused.
const keepAtMost = 256 << 10

// buffers are between two readers' use: most streams wait most of the time, and then need none.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// ErrLeft means that the reader is gone.
var ErrLeft = errors.New("the client left")

// frames are frames on their way to a reader.
type frames struct {
	buf []byte
	box *[]byte // holds buf in buffers; nil while there is none from there
}

// begin makes room for frames.
func (f *frames) begin() {
	if f.box == nil && f.buf == nil {
		f.box = buffers.Get().(*[]byte)
		f.buf = (*f.box)[:0]
	}
}

// reset leaves the buffer to other readers, or drops one that grew for a large state.
func (f *frames) reset() {
	if f.box != nil && cap(f.buf) <= keepAtMost {
		*f.box = f.buf[:0]
		buffers.Put(f.box)
	}
	f.buf, f.box = nil, nil
}

// Len returns the size of the unsent data in bytes.
func (f *frames) Len() int { return len(f.buf) }

// Send writes the buffered data.
func (f *frames) Send(out *httpx.Stream, flush bool) error {
	if err := out.Write(f.buf, flush); err != nil {
		return fmt.Errorf("%w: %w", ErrLeft, err)
	}
	f.reset()
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
	f.reset()
	return nil
}

// WaitFrame tells readers of custom events that commits are delayed, because the disk or the database stalls, or no
// longer. It isn't an event of a run, so it has no id for resuming.
func WaitFrame(waiting bool) []byte {
	return httpx.AppendFrame(nil, "custom",
		fmt.Appendf(nil, `{"type": "storage_waiting", "waiting": %t}`, waiting), httpx.ID{})
}
