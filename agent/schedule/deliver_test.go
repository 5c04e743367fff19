package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/store"
)

// TestWhatAChatIsToldIsStoredWithTheRun: it's there before the run works, and where none can start the reason is.
func TestWhatAChatIsToldIsStoredWithTheRun(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := make(chan error, 1)
	m := runs.New(runs.Config{DB: db, Log: log, Build: func(ctx context.Context, spec runs.Spec) (*agent.Agent, error) {
		list, err := db.OpenAnswers(ctx, "telegram") // as soon as the run is there
		if err == nil && (len(list) != 1 || list[0].Run != spec.RunID) {
			err = fmt.Errorf("planned for run %s: %+v", spec.RunID, list)
		}
		seen <- err
		return says(), nil
	}})
	defer m.Close()
	delivered := make(chan string, 2)
	s := schedule.New(schedule.Config{DB: db, Runs: m, Log: log, Now: func() time.Time { return begin },
		Plan: func(_ context.Context, _ store.Cron, thread, failed string) (store.Outbound, error) {
			return store.Outbound{Piece: "0", Provider: "telegram", Chat: thread, State: store.OutboundPlanned,
				Place: []byte(failed), At: time.Now()}, nil
		},
		Deliver: func(_ context.Context, run string) error { delivered <- run; return nil }})
	defer s.Close()
	payload := must.Get(schedule.Payload("go"))(t)
	c := must.Get(db.CreateCron(t.Context(), store.Cron{ID: "c1", Kind: store.CronOnce, Payload: payload, Deliver: "{}"}))(t)
	r := must.Get(s.Trigger(t.Context(), c))(t)
	if err := <-seen; err != nil {
		t.Error(err)
	}
	if got := <-delivered; got != r.Run {
		t.Errorf("run %s is delivered, want %s", got, r.Run)
	}
	must.Get(m.Wait(t.Context(), r.Run))(t)
	c.Payload = json.RawMessage(`{"command":{"goto":"nowhere"}}`)
	r, err = s.Trigger(t.Context(), c)
	if !errors.Is(err, schedule.ErrFailed) {
		t.Fatalf("it started: %v", err)
	}
	rows, err := db.Outbound(t.Context(), r.Run)
	if err != nil || len(rows) != 1 || string(rows[0].Place) != r.Error || r.Error == "" {
		t.Errorf("told of the failure %q: %+v, %v", r.Error, rows, err)
	}
	if got := <-delivered; got != r.Run {
		t.Errorf("run %s is delivered, want %s", got, r.Run)
	}
	// A run that is refused tells nobody anything.
	o := store.Outbound{Piece: "0", Provider: "telegram", Chat: "x", State: store.OutboundPlanned}
	if _, err := m.StartTelling(t.Context(), runs.Request{ID: r.Run + "x", Thread: "nowhere", IfNotExists: "reject"},
		o); !errors.Is(err, runs.ErrNotFound) {
		t.Fatalf("it started: %v", err)
	}
	if rows, err := db.Outbound(t.Context(), r.Run+"x"); err != nil || len(rows) != 0 {
		t.Errorf("a run that was refused is told of: %+v, %v", rows, err)
	}
}
