package page

import (
	"context"
	"slices"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
)

// mark sets the state dots of the rows in list.
func (s *Site) mark(ctx context.Context, rows []views.ThreadRow, list []store.Thread) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	marks, err := s.DB.Marks(ctx, ids)
	if err != nil {
		return err
	}
	asking, err := s.askingThreads(ctx)
	if err != nil {
		return err
	}
	for i, t := range list {
		rows[i].State = threadState(t, marks[t.ID], asking[t.ID])
	}
	return nil
}

// threadState returns the dot of a thread in lists. An active run takes precedence over its questions.
func threadState(t store.Thread, m store.Mark, asking bool) views.ThreadState {
	switch {
	case t.Status == runs.Busy:
		return views.ThreadRunning
	case asking, len(m.Next) > 0 && m.Next[0] == agent.NodeInterrupt:
		return views.ThreadWaiting
	case m.Unseen && failed(m.Status, m.Reason):
		return views.ThreadFailed
	case m.Unseen:
		return views.ThreadUnread
	}
	return views.ThreadIdle
}

// failed reports whether a run ended without completing its work, unintentionally.
func failed(status, reason string) bool {
	return status == runs.Failed || status == runs.Timeout || status == runs.Interrupted && CutOff(reason)
}

// CutOff reports whether the server's end was that of a run.
func CutOff(reason string) bool { return reason == runs.StopOrphan || reason == "shutdown" }

// askingThreads returns threads with open questions about hosts.
func (s *Site) askingThreads(ctx context.Context) (map[string]bool, error) {
	if s.Network == nil {
		return nil, nil
	}
	open, err := s.Network.Questions(ctx, "")
	threads := map[string]bool{}
	for _, q := range open {
		threads[q.Thread] = true
	}
	return threads, err
}

// AtHand takes the news off the row of the thread on screen: it is being read.
func AtHand(rows []views.ThreadRow, current string) {
	i := slices.IndexFunc(rows, func(r views.ThreadRow) bool { return r.ID == current })
	if i >= 0 && (rows[i].State == views.ThreadUnread || rows[i].State == views.ThreadFailed) {
		rows[i].State = views.ThreadIdle
	}
}

// See records that the reader views a thread. A failure doesn't affect the page.
func (s *Site) See(ctx context.Context, thread string) {
	if err := s.DB.See(ctx, thread); err != nil && ctx.Err() == nil {
		s.Log.Warn("couldn't mark a chat as read", "thread", thread, "err", err)
	}
}
