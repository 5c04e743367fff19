package commit

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

// A tail row is a row of frames: length and bytes of the thread's id, the
// number, length and bytes of the data, each number a uvarint.

// Each group's row ends with marks: a frame without a thread, whose data are frames without data that record up to
// which number a thread is folded, or that it is gone.

// Span are the ids of one server's rows: those from first on and before end.
type Span struct{ First, End int64 }

// TailBits is the number of bits of an id that count a server's rows; the higher bits are its number.
const TailBits = 40

// SpanOf returns the range of a server.
func SpanOf(node int64) Span { return Span{First: node<<TailBits + 1, End: (node + 1) << TailBits} }

// goneThread marks a deleted thread.
const goneThread = math.MaxInt64

// AppendMarks adds the fold marks of successful jobs.
func AppendMarks(b []byte, jobs []*Job) []byte {
	var marks []byte
	for _, j := range jobs {
		switch {
		case j.Plan == nil || j.Err != nil:
		case j.Plan.Removes:
			marks = AppendFrame(marks, j.Plan.Target, goneThread, nil)
		case j.Plan.Folds > 0:
			marks = AppendFrame(marks, j.Plan.Target, j.Plan.Folds, nil)
		}
	}
	if marks == nil {
		return b
	}
	return AppendFrame(b, "", 0, marks)
}

// frameSize returns an upper bound for a frame's size.
func frameSize(thread string, data []byte) int {
	return 3*binary.MaxVarintLen64 + len(thread) + len(data)
}

// AppendFrame adds a frame to b, see above.
func AppendFrame(b []byte, thread string, seq int64, data []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(thread)))
	b = append(b, thread...)
	b = binary.AppendUvarint(b, uint64(seq))
	b = binary.AppendUvarint(b, uint64(len(data)))
	return append(b, data...)
}

var errFrame = errors.New("damaged tail frame")

// NextFrame cuts the first frame off b. The returned parts share memory with b.
func NextFrame(b []byte) (thread []byte, seq int64, data, rest []byte, err error) {
	thread, b, err = nextBytes(b)
	if err != nil {
		return nil, 0, nil, nil, err
	}
	n, k := binary.Uvarint(b)
	if k <= 0 || n > 1<<63-1 {
		return nil, 0, nil, nil, errFrame
	}
	data, rest, err = nextBytes(b[k:])
	if err != nil {
		return nil, 0, nil, nil, err
	}
	return thread, int64(n), data, rest, nil
}

func nextBytes(b []byte) (part, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, errFrame
	}
	end := k + int(n)
	return b[k:end:end], b[end:], nil
}

// KeepFrames returns the frames of b which keep accepts, in a new slice. It
// stops at the first damaged frame and keeps nothing of the rest.
func KeepFrames(b []byte, keep func(thread []byte, seq int64) bool) []byte {
	kept := make([]byte, 0, len(b))
	for len(b) > 0 {
		thread, seq, _, rest, err := NextFrame(b)
		if err != nil {
			break
		}
		if keep(thread, seq) {
			kept = append(kept, b[:len(b)-len(rest)]...)
		}
		b = rest
	}
	return kept
}

// OpenFrames returns the frames of g that its own jobs don't fold. The end of a short answer is in the same commit as
// its words, so they aren't needed in the tail.
func (g *Group) OpenFrames() []byte {
	var folds map[string]int64
	for _, j := range g.Jobs {
		if j.Plan == nil || j.Plan.Folds == 0 || !slices.ContainsFunc(g.lanes, func(s laneSlot) bool {
			return s.lane.thread == j.Plan.Target && s.first <= j.Plan.Folds
		}) {
			continue
		}
		if folds == nil {
			folds = map[string]int64{}
		}
		folds[j.Plan.Target] = max(folds[j.Plan.Target], j.Plan.Folds)
	}
	if folds == nil {
		return g.Frames
	}
	return KeepFrames(g.Frames, func(thread []byte, seq int64) bool { return seq > folds[string(thread)] })
}

// tailMark records that frames up to number last are in rows from row on.
type tailMark struct{ row, last int64 }

// threadTail is the writer's record of one thread's frames in the tail.
type threadTail struct {
	marks     []tailMark // unfolded, rows ascending
	from, row int64      // first and last row that held one of its frames
	seq       int64      // greatest number written
}

// maxMarks limits the memory per thread; above it neighbours are merged, which only makes the oldest
// needed row seem a little older.
const maxMarks = 64

func (t *threadTail) note(row, last int64) {
	if t.from == 0 {
		t.from = row
	}
	t.row, t.seq = row, max(t.seq, last)
	if len(t.marks) == maxMarks {
		for i := range maxMarks / 2 {
			a, b := t.marks[2*i], t.marks[2*i+1]
			t.marks[i] = tailMark{a.row, max(a.last, b.last)}
		}
		t.marks = t.marks[:maxMarks/2]
	}
	t.marks = append(t.marks, tailMark{row, last})
}

func (t *threadTail) fold(to int64) {
	t.marks = slices.DeleteFunc(t.marks, func(m tailMark) bool { return m.last <= to })
}

// oldestOpen returns the first tail row still needed, or next if none is. mu must be held.
func (w *Writer) oldestOpen() int64 {
	oldest := w.nextTail
	for _, t := range w.tails {
		if len(t.marks) > 0 {
			oldest = min(oldest, t.marks[0].row)
		}
	}
	return oldest
}

// sweep makes g delete the unneeded tail rows if there are at least this many. done takes effect once
// g is committed.
func (w *Writer) sweep(g *Group, atLeast int64) (done func()) {
	if atLeast > 1 && w.nextTail < w.lookAt {
		return nil
	}
	w.lookAt = w.nextTail + atLeast/4
	w.mu.Lock()
	low := w.oldestOpen()
	w.mu.Unlock()
	if w.engine.EveryGroup() {
		low = min(low, w.nextTail-1) // the last one stays, see the engine of PostgreSQL
	}
	if low = w.keep(low, time.Now()); low-w.tailLow < atLeast {
		return nil
	}
	// Rows of an earlier process stay until ClearTail.
	g.After = append(g.After, Stmt{What: "sweep", Of: "tail", SQL: `DELETE FROM tail WHERE id >= ? AND id < ?`,
		Args: []any{max(w.tailLow, w.oldTail+1), low}})
	return func() {
		w.tailLow = low
		for id, t := range w.tails {
			if len(t.marks) == 0 && t.row < low {
				delete(w.tails, id)
			}
		}
	}
}

// tailLow records the lowest tail row still needed at a point in time.
type tailLow struct {
	at  time.Time
	low int64
}

// keepStep is the least time between moments that are remembered.
const keepStep = 250 * time.Millisecond

// keep returns the row below which rows have been unneeded for as long as others may want to read them. low is
// the current one.
func (w *Writer) keep(low int64, now time.Time) int64 {
	stay := w.engine.Keeps()
	if stay == 0 {
		w.lows = nil
		return low
	}
	kept, n := w.tailLow, 0
	for _, l := range w.lows {
		if now.Sub(l.at) < stay {
			break
		}
		kept, n = max(kept, l.low), n+1
	}
	w.lows = w.lows[n:]
	last := w.tailLow
	if n := len(w.lows); n > 0 {
		last = w.lows[n-1].low
	}
	if low > last && (len(w.lows) == 0 || now.Sub(w.lows[len(w.lows)-1].at) >= keepStep) {
		w.lows = append(w.lows, tailLow{now, low})
	}
	return kept
}

// forget removes a deleted thread's frames from the tail, so that a later thread with the same id doesn't get them.
// Inside a transaction.
func (w *Writer) forget(thread string) error {
	w.mu.Lock()
	from := w.nextTail // the row this transaction may have written
	if t := w.tails[thread]; t != nil {
		from = max(t.from, w.tailLow)
	}
	if w.oldTail > 0 {
		from = w.Span.First
	}
	w.mu.Unlock()
	type row struct {
		id   int64
		data []byte
	}
	var changed []row
	s, err := w.engine.Stmt(`SELECT id, data FROM tail WHERE id >= ? AND id < ? OR {gone}`)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), from, w.Span.End)
	if err != nil {
		return Translate(err, w.engine.Cause)
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.data); err != nil {
			return Translate(err, w.engine.Cause)
		}
		kept := KeepFrames(r.data, func(id []byte, _ int64) bool { return string(id) != thread })
		if len(kept) != len(r.data) {
			changed = append(changed, row{r.id, kept})
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return Translate(err, w.engine.Cause)
	}
	for _, r := range changed {
		if _, err := w.engine.Change(`UPDATE tail SET data = ? WHERE id = ?`, []any{r.data, r.id}); err != nil {
			return err
		}
	}
	return nil
}

// Known returns the greatest number of a thread's unfolded events known to this process. all is false if there may be
// others: in the tail up to row old or, unless this process is alone, at other servers.
func (w *Writer) Known(thread string, alone bool) (last, old int64, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.tails[thread]; t != nil {
		last = t.seq
	}
	return max(last, w.oldSeqs[thread]), w.oldTail, w.oldRead || w.oldTail == 0 && alone
}

// Remembered returns the number of threads whose place in the tail is known.
func (w *Writer) Remembered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tails)
}

// NoteOld remembers the greatest numbers given by earlier processes, by thread, while their rows exist.
func (w *Writer) NoteOld(seqs map[string]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.oldRead = true
	if w.oldSeqs == nil {
		w.oldSeqs = make(map[string]int64, len(seqs))
	}
	for thread, seq := range seqs {
		w.oldSeqs[thread] = max(w.oldSeqs[thread], seq)
	}
}

// ClearOld returns a job that deletes the unneeded rows of the tail: those of an earlier process and of dead servers.
func (w *Writer) ClearOld(left []Span) *Job {
	return &Job{Apply: func() error {
		for _, span := range left {
			if _, err := w.engine.Change(`DELETE FROM tail WHERE id >= ? AND id < ?`, []any{span.First, span.End}); err != nil {
				return err
			}
		}
		_, err := w.engine.Change(`DELETE FROM tail WHERE id >= ? AND id <= ?`, []any{w.Span.First, w.oldTail})
		return err
	}, Then: func() { w.oldTail, w.oldSeqs, w.oldRead = 0, nil, true }}
}
