package eventlog

import (
	"context"
	"slices"

	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Lost reports whether some events shown to a reader, up to a number, are no longer stored because a PostgreSQL standby
// that lacked them took over; next is the first following event, if it was read. The reader's view is outdated until it
// has read that.
func (r *Reader) Lost(ctx context.Context, shown int64, read []runevent.Event) (next int64, lost bool, err error) {
	i := slices.IndexFunc(read, func(ev runevent.Event) bool { return ev.To > shown })
	if i < 0 || shown <= 0 || read[i].Seq-shown < store.Leap/2 { // numbers leave no such hole otherwise
		return 0, false, nil
	}
	stored := int64(0)
	err = r.db.EventsBack(ctx, r.run.ThreadID, read[i].Seq-1, func(row store.Event) (bool, error) {
		stored = row.To
		return false, nil
	})
	return read[i].Seq, stored < shown, err
}
