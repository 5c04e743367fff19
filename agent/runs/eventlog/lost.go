package eventlog

import (
	"context"
	"slices"

	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Lost says, of a reader who was shown events up to a number, that some of them are not stored any more, as a standby
// of PostgreSQL has taken over that lacked them; next is the first event that follows, if it is among those read. What
// such a reader shows is not what is stored, until it has read that.
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
