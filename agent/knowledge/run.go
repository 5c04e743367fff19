package knowledge

import (
	"context"
	"sync"
	"time"

	"fawn/store"
)

// Polling intervals of Run without notifications.
const (
	lookAlone  = 10 * time.Minute
	lookShared = 5 * time.Second // polling interval; another server may have got the request
	lookMark   = 15 * time.Second
	afterError = 15 * time.Second
	strays     = 100 // documents removed per batch
)

// Run reads sources as they become due, local ones concurrently with remote ones, removes documents of deleted sources,
// and creates embeddings, until ctx ends. One server of a database runs it.
func (s *Service) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { s.lane(ctx, [2]string{store.UploadSource, store.FolderSource}) })
	work.Go(func() { s.lane(ctx, [2]string{store.WebSource, store.GitSource}) })
	work.Go(func() { s.tidy(ctx) })
	work.Wait()
}

// interval returns the interval of checking for changes.
func (s *Service) interval() time.Duration {
	if s.cfg.DB.Clustered() {
		return lookShared
	}
	return lookAlone
}

// lane reads sources of two kinds, one after the other.
func (s *Service) lane(ctx context.Context, kinds [2]string) {
	for ctx.Err() == nil {
		changed := s.awaited()
		due, next, err := s.cfg.DB.DueSources(ctx, kinds, 1)
		if err == nil && len(due) > 0 {
			if err = s.read(ctx, due[0]); err == nil {
				s.wake() // for vectors
				continue
			}
		}
		wait := s.interval()
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.Error("couldn't read the sources of collections", "err", err)
			wait, changed = afterError, nil
		} else if !next.IsZero() {
			wait = min(wait, max(next.Sub(s.cfg.DB.Now()), time.Second))
		}
		pause(ctx, wait, changed)
	}
}

func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
	}
}

// tidy removes documents of deleted sources and creates missing embeddings.
func (s *Service) tidy(ctx context.Context) {
	for wait := time.Duration(0); ctx.Err() == nil; {
		changed := s.awaited()
		mark, err := s.mark(ctx)
		if err == nil {
			err = s.removeStrays(ctx)
		}
		if err == nil {
			err = s.embedAll(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("couldn't update collections", "err", err)
			wait = min(max(afterError, 2*wait), lookAlone)
			pause(ctx, wait, nil)
			continue
		}
		wait = 0
		s.untilOther(ctx, changed, mark)
	}
}

// mark returns a value that changes when tidy may have work that this process doesn't report: another server removed
// sources, or the model changed.
func (s *Service) mark(ctx context.Context) (string, error) {
	model := ""
	if e := s.cfg.Embedder(); e != nil {
		model = e.Model()
	}
	if !s.cfg.DB.Clustered() {
		return model, nil
	}
	sources, err := s.cfg.DB.SourceChanges(ctx)
	return sources + " " + model, err
}

// untilOther waits for a notification or a changed mark.
func (s *Service) untilOther(ctx context.Context, changed <-chan struct{}, mark string) {
	for end := time.Now().Add(lookAlone); ctx.Err() == nil && time.Now().Before(end); {
		pause(ctx, lookMark, changed)
		select {
		case <-changed:
			return
		default:
		}
		if now, err := s.mark(ctx); err != nil || now != mark {
			return
		}
	}
}

func (s *Service) removeStrays(ctx context.Context) error {
	for {
		list, err := s.cfg.DB.StrayDocuments(ctx, strays)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, d := range list {
			if err := s.cfg.DB.RemoveDocument(ctx, d); err != nil {
				return err
			}
		}
	}
}
