package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
)

// Triggers of a start.
const (
	Scheduled = "scheduled"
	Manual    = "manual"
)

// Trigger starts a cron now, regardless of its schedule. ErrBusy if its last run hasn't ended and its runs must not
// overlap, ErrFailed if the run manager refuses the run.
func (s *Scheduler) Trigger(ctx context.Context, c store.Cron) (store.CronRun, error) {
	ctx = context.WithoutCancel(ctx) // a begun start must be recorded
	r, err := s.start(ctx, c, s.Now(), Manual)
	switch {
	case err != nil:
		return r, err
	case r.Status == store.CronSkipped:
		return r, ErrBusy
	case r.Status == store.CronFailed:
		return r, fmt.Errorf("%w: %s", ErrFailed, r.Error)
	}
	return r, nil
}

// start stores that a cron starts, starts its run and waits for that in a goroutine. The
// error is one of the store or of the shutdown: how the start went is in the row returned.
func (s *Scheduler) start(ctx context.Context, c store.Cron, due time.Time, trigger string) (store.CronRun, error) {
	r := store.CronRun{ID: uuid.Must(uuid.NewV7()).String(), Cron: c.ID, Run: uuid.Must(uuid.NewV7()).String(),
		Thread:  c.Thread,
		Trigger: trigger, Status: store.CronStarting, DueAt: due}
	if r.Thread == "" {
		r.Thread = uuid.Must(uuid.NewV7()).String()
	}
	var was, next time.Time
	if trigger == Scheduled {
		var err error
		was = c.NextAt
		if next, err = Plan(c, s.Now()); err != nil {
			s.cfg.Log.Error("stored schedule invalid", "cron", c.ID, "err", err)
		}
	}
	skip, err := s.enter(c, r.ID)
	if err == nil && !skip && s.cfg.Shared && c.Overlap == "skip" {
		_, open, failed := s.cfg.DB.CountCronRuns(ctx, c.ID) // of other servers, too
		skip, err = open > 0, failed
	}
	defer func() { s.unlessFollowed(r.ID) }()
	if err != nil {
		return r, err
	}
	if skip {
		r.Status, r.Error, r.FinishedAt = store.CronSkipped, ErrBusy.Error(), s.Now()
	}
	err = s.cfg.DB.ClaimCron(ctx, r, was, next)
	switch {
	case errors.Is(err, store.ErrConflict): // changed or deleted meanwhile
		return r, nil
	case err != nil || skip:
		return r, err
	}
	return s.launch(ctx, c, r)
}

// enter registers a start. skip means that it must not happen: the cron's runs may not overlap, and one hasn't ended.
func (s *Scheduler) enter(c store.Cron, start string) (skip bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, runs.ErrClosed
	}
	if c.Overlap == "skip" {
		for _, l := range s.live {
			skip = skip || l.cron == c.ID
		}
	}
	if !skip {
		s.live[start] = &liveStart{cron: c.ID}
	}
	return skip, nil
}

// unlessFollowed forgets a start without an awaited run.
func (s *Scheduler) unlessFollowed(start string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.live[start]; l != nil && !l.followed {
		delete(s.live, start)
	}
}

// launch starts the run of a start that is stored.
func (s *Scheduler) launch(ctx context.Context, c store.Cron, r store.CronRun) (store.CronRun, error) {
	told, err := s.firstMessage(ctx, c, r, "")
	if err != nil {
		return r, err // likewise
	}
	req, err := requestOf(c, r)
	if err == nil {
		_, err = s.cfg.Runs.StartTelling(ctx, req, told...)
	}
	told = nil                          // is stored with the run
	if errors.Is(err, runs.ErrExists) { // another server took this start up, too
		err = nil
	}
	switch {
	case errors.Is(err, runs.ErrClosed) || errors.Is(err, runs.ErrStorage) || ctx.Err() != nil && err != nil:
		return r, err // taken up at the next start
	case errors.Is(err, runs.ErrBusy):
		r.Status, r.Error, r.FinishedAt = store.CronSkipped, err.Error(), s.Now()
	case err != nil:
		s.cfg.Log.Warn("couldn't start a scheduled run", "cron", c.ID, "err", err)
		r.Status, r.Error, r.FinishedAt = store.CronFailed, err.Error(), s.Now()
		if told, err = s.firstMessage(ctx, c, r, r.Error); err != nil {
			return r, err
		}
	default:
		r.Status, r.StartedAt = store.CronRunning, s.Now()
	}
	if err := s.cfg.DB.PutCronRun(ctx, r, told...); err != nil {
		return r, err
	}
	if r.FinishedAt.IsZero() {
		s.follow(c, r)
	}
	if c.Deliver != "" && s.cfg.Deliver != nil {
		// It is stored, and sent by the next server at the latest.
		if err := s.cfg.Deliver(ctx, r.Run); err != nil && ctx.Err() == nil {
			s.cfg.Log.Error("couldn't send a scheduled run's result yet", "cron", c.ID, "run", r.Run, "err", err)
		}
	}
	return r, nil
}

// firstMessage returns the first message to a cron's chat: about a run, or the reason why it could not start.
func (s *Scheduler) firstMessage(ctx context.Context, c store.Cron, r store.CronRun, failed string) ([]store.Outbound, error) {
	if c.Deliver == "" || s.cfg.Plan == nil {
		return nil, nil
	}
	o, err := s.cfg.Plan(ctx, c, r.Thread, failed)
	o.Run = r.Run
	return []store.Outbound{o}, err
}

// requestOf creates the run request of a start.
func requestOf(c store.Cron, r store.CronRun) (runs.Request, error) {
	var req runs.Request
	if err := json.Unmarshal(c.Payload, &req); err != nil {
		return req, err
	}
	meta := map[string]json.RawMessage{}
	for _, raw := range []json.RawMessage{c.Metadata, req.Metadata} {
		if len(raw) == 0 {
			continue
		}
		if err := json.Unmarshal(raw, &meta); err != nil {
			return req, err
		}
	}
	var err error
	if meta["cron_id"], err = agent.Encode(c.ID); err != nil {
		return req, err
	}
	if req.Metadata, err = agent.Encode(meta); err != nil {
		return req, err
	}
	req.ID, req.Thread, req.Origin = r.Run, r.Thread, request.OriginCron
	req.Owner, req.AssistantID = c.Owner, c.Assistant
	if c.Thread != "" {
		req.IfNotExists = "reject"
	}
	return req, nil
}

// follow waits for the run of an entered start and stores its end.
func (s *Scheduler) follow(c store.Cron, r store.CronRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.live[r.ID].followed = true
	s.wg.Go(func() {
		err := s.finish(s.ctx, c, r)
		s.mu.Lock()
		delete(s.live, r.ID)
		s.mu.Unlock()
		s.Wake()
		if err != nil && s.ctx.Err() == nil {
			s.cfg.Log.Error("couldn't store the end of a scheduled run", "cron", r.Cron, "run", r.Run, "err", err)
		}
	})
}

// finish waits for the end of a run, then deletes its thread if it was created for it. The two are separate steps, so a
// crash in between is made up for.
func (s *Scheduler) finish(ctx context.Context, c store.Cron, r store.CronRun) error {
	if r.Status == store.CronRunning {
		run, err := s.cfg.Runs.Wait(ctx, r.Run)
		switch {
		case errors.Is(err, runs.ErrNotFound):
			r.Status, r.Error = store.CronInterrupted, "the run was deleted"
		case err != nil:
			return err
		case !runs.Done(run.Status): // the server stops; another one continues the run
			return nil
		default:
			r.Status, r.Error = statusOf(run), run.Error
		}
		if c.Thread == "" && c.After == "delete" {
			if err := s.cfg.DB.PutCronRun(ctx, r); err != nil {
				return err
			}
		}
	}
	if c.Thread == "" && c.After == "delete" {
		if err := s.cfg.Runs.DeleteThread(ctx, r.Thread); err != nil && !errors.Is(err, runs.ErrNotFound) {
			return err
		}
	}
	r.FinishedAt = s.Now()
	return s.cfg.DB.PutCronRun(ctx, r)
}

func statusOf(run store.Run) string {
	switch run.Status {
	case runs.Success:
		return store.CronSuccess
	case runs.Interrupted:
		return store.CronInterrupted
	}
	return store.CronFailed
}

// Resume resumes starts of an earlier process: it starts missing runs, waits for running ones, and records the ends of
// others. Run calls it.
func (s *Scheduler) Resume(ctx context.Context) error {
	open, err := s.cfg.DB.OpenCronRuns(ctx)
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := s.resume(ctx, r); err != nil {
			return fmt.Errorf("resume the start of cron %s: %w", r.Cron, err)
		}
	}
	return nil
}

func (s *Scheduler) resume(ctx context.Context, r store.CronRun) error {
	s.mu.Lock()
	_, known := s.live[r.ID]
	if !known {
		s.live[r.ID] = &liveStart{cron: r.Cron}
	}
	s.mu.Unlock()
	if known { // active here
		return nil
	}
	defer s.unlessFollowed(r.ID)
	c, err := s.cfg.DB.Cron(ctx, "", r.Cron)
	if errors.Is(err, store.ErrNotFound) {
		return nil // its starts were deleted with it
	}
	if err != nil {
		return err
	}
	if r.Status == store.CronStarting {
		run, err := s.cfg.DB.Run(ctx, r.Run)
		if errors.Is(err, store.ErrNotFound) {
			_, err = s.launch(ctx, c, r)
			return err
		}
		if err != nil {
			return err
		}
		r.Status, r.StartedAt = store.CronRunning, run.CreatedAt
		if err := s.cfg.DB.PutCronRun(ctx, r); err != nil {
			return err
		}
	}
	s.follow(c, r)
	return nil
}
