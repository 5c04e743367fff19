package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"fawn/agent"
	"fawn/sandbox"
	"fawn/sandbox/files"
)

const (
	spillPiece = 256 << 10 // bytes per write
	spillMost  = 1 << 30   // bytes of a file where threads have no quota
)

// errNoRoom is why output is not kept although the thread's quota is not used up.
var errNoRoom = errors.New("the thread's storage is full, except for the part reserved for other files")

// spill stores a command's output in a file of the thread once it exceeds a result's limit. If writing fails, the file
// has the beginning, and finish reports it.
type spill struct {
	ctx    context.Context
	open   Files
	thread string
	path   string
	keep   int // bytes that certainly fit into a result
	most   int64

	files *files.Files
	buf   []byte
	whole agent.Whole
	err   error // reason why nothing more is written
}

// newSpill returns the file of one call in a folder below the thread's outputs.
func newSpill(ctx context.Context, t *agent.Turn, c agent.ToolCall, open Files, folder string,
	p sandbox.Policy) *spill {
	sum := sha256.Sum256([]byte(t.RunID + "\x00" + t.NS + "\x00" + c.ID))
	s := &spill{ctx: ctx, open: open, thread: t.ThreadID, keep: 4 * p.OutputChars, most: p.Limits.Disk,
		path: files.Outputs + "/" + folder + "/bash-" + hex.EncodeToString(sum[:6]) + ".log"}
	if s.keep <= 0 || s.keep > 4<<20 {
		s.keep = 4 << 20
	}
	if s.most <= 0 {
		s.most = spillMost
	}
	return s
}

// Write stores more output. It never fails: lost bytes are counted.
func (s *spill) Write(p []byte) (int, error) {
	s.whole.Bytes += int64(len(p))
	s.whole.Lines += int64(bytes.Count(p, []byte("\n")))
	if s.err != nil {
		return len(p), nil
	}
	s.buf = append(s.buf, p...)
	if len(s.buf) > s.keep && len(s.buf) >= spillPiece {
		s.flush()
	}
	return len(p), nil
}

func (s *spill) flush() {
	if s.files == nil {
		if s.files, s.err = s.open(s.thread); s.err != nil {
			return
		}
	}
	room, err := s.files.Room(s.ctx)
	if s.err = err; err != nil {
		return
	}
	room = min(int64(len(s.buf)), s.most-s.whole.Stored, room)
	if room > 0 {
		s.err = s.files.WriteFile(s.ctx, s.path, s.buf[:room], s.whole.Stored > 0)
	}
	if s.err == nil {
		s.whole.Stored += room
		if room < int64(len(s.buf)) {
			s.err = errNoRoom
		}
	}
	s.buf = s.buf[:0]
}

// finish closes the file. It is nil when the result has all of the output, which cut denies,
// or nothing could be stored.
func (s *spill) finish(cut bool) *agent.Whole {
	if cut && s.err == nil && len(s.buf) > 0 {
		s.flush()
	}
	if s.files != nil {
		_ = s.files.Close() // every write has been checked
	}
	if s.whole.Stored == 0 {
		return nil
	}
	s.whole.Path = s.path
	return &s.whole
}

// note tells the model the path of the full output, or why there is none.
func (s *spill) note(w *agent.Whole) string {
	switch {
	case w != nil:
		return w.Note()
	case s.err != nil:
		return fmt.Sprintf("[The rest of the output could not be kept in a file: %s]", s.err)
	}
	return ""
}
