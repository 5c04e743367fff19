package page

import (
	"context"
)

// See remembers that the reader looks at a thread. That it could not be stored is no reason
// to show nothing.
func (s *Site) See(ctx context.Context, thread string) {
	if err := s.DB.See(ctx, thread); err != nil && ctx.Err() == nil {
		s.Log.Warn("couldn't mark a chat as read", "thread", thread, "err", err)
	}
}
