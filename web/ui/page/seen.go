package page

import (
	"context"
)

// See records that the reader views a thread. A failure doesn't affect the page.
func (s *Site) See(ctx context.Context, thread string) {
	if err := s.DB.See(ctx, thread); err != nil && ctx.Err() == nil {
		s.Log.Warn("couldn't mark a chat as read", "thread", thread, "err", err)
	}
}
