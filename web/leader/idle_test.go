package leader_test

import (
	"log/slog"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/clusterstate"
	"fawn/store/pgtest"
)

// TestIdleServersAskLittle of the database, all that look for something taken together. What a server asks at its start
// is counted seconds later, so that the first seconds don't count, nor those in which PostgreSQL cleans up.
func TestIdleServersAskLittle(t *testing.T) {
	const (
		servers = 2
		most    = 3 // transactions a second of each: it looks once, and renews its lease
	)
	pg := pgtest.Start(t)
	for range servers {
		s := joinLooking(t, pg.URL, 5*time.Second)
		settings, err := clusterstate.Open(t.Context(), s.db, nil, slog.New(slog.DiscardHandler))
		must.Do(t, err)
		done := make(chan struct{})
		go func() {
			settings.Run(t.Context())
			close(done)
		}()
		t.Cleanup(func() { <-done })
		s.care.Start()
	}
	var asked []float64
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		began, before := time.Now(), pgtest.Transactions(t, pg.URL)
		time.Sleep(5 * time.Second)
		n := float64(pgtest.Transactions(t, pg.URL)-before) / time.Since(began).Seconds() / servers
		if asked = append(asked, n); n <= most && len(asked) > 2 {
			return
		}
	}
	t.Errorf("idle servers had %.1f transactions a second each", asked)
}
