package page

import (
	"context"
	"strconv"
	"time"

	"fawn/web/principal"
)

// UndoToken identifies a deletion of its owner.
func UndoToken(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 36) }

// DeletionOf returns the moment of the deletion that a token names.
func DeletionOf(token string) (at time.Time, ok bool) {
	ms, err := strconv.ParseInt(token, 36, 64)
	return time.UnixMilli(ms), err == nil
}

// restorable counts the threads of a deletion.
func (s *Site) restorable(ctx context.Context, token string) (int, error) {
	at, ok := DeletionOf(token)
	if !ok {
		return 0, nil
	}
	return s.DB.Discarded(ctx, principal.Owner(ctx), at)
}
