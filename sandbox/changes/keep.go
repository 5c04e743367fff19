package changes

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"time"
)

// keep stores a version unless it exists or exceeds the thread's quota. Without it, the change is still listed, without
// its lines.
func (w *work) keep(ctx context.Context, hash string, data []byte) {
	now := time.Now()
	if w.kept.Chtimes(hash, now, now) == nil { // it is in use again, so it should be removed later
		return
	}
	size := int64(len(data))
	room, err := w.files.Room(ctx)
	if err != nil || room < size || w.files.Spend(ctx, size) != nil {
		return
	}
	if write(w.kept, hash, data) == nil {
		w.more = true
	}
}

// evict removes the oldest versions of a thread with too many. Failures are retried with the next run.
func (w *work) evict() {
	if !w.more {
		return
	}
	dir, err := w.kept.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return
	}
	var list []fs.FileInfo
	var sum int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && len(e.Name()) == 64 {
			list, sum = append(list, info), sum+info.Size()
		}
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for n := len(list); n > 0 && (sum > w.cap || n > maxCount); n-- {
		oldest := list[len(list)-n]
		if w.kept.Remove(oldest.Name()) != nil {
			return
		}
		sum -= oldest.Size()
	}
}
