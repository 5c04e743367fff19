package chat

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// statuses is an inbox that keeps what it is told.
type statuses struct{ all []error }

func (s *statuses) Take(context.Context, []Update, map[string]string) error { return nil }
func (s *statuses) Cursor(string) string                                    { return "" }
func (s *statuses) Status(err error)                                        { s.all = append(s.all, err) }

// TestBetweenTwoTriesItWaitsLonger, up to a minute, a little more or less each time; after a connection that stood it
// begins anew, and what the platform asks for wins.
func TestBetweenTwoTriesItWaitsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("the network is gone")
		session := 0
		var began []time.Time
		ctx, cancel := context.WithCancel(t.Context())
		in := &statuses{}
		err := again(ctx, Options{}, in, func(_ context.Context, up func()) error {
			began = append(began, time.Now())
			switch session++; session {
			case 10:
				up()
			case 12:
				return &Rate{After: 5 * time.Minute}
			case 13:
				cancel()
			}
			return lost
		})
		if !errors.Is(err, context.Canceled) || session != 13 {
			t.Fatalf("%v after %d sessions", err, session)
		}
		want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60, 1, 2}
		for i, s := range want {
			d := began[i+1].Sub(began[i])
			if least, most := s*time.Second*8/10, s*time.Second*12/10; d < least || d > most {
				t.Errorf("pause %d is %s, want %s ± 20 %%", i+1, d, s*time.Second)
			}
		}
		if d := began[12].Sub(began[11]); d != 5*time.Minute {
			t.Errorf("the platform asked for 5 minutes and got %s", d)
		}
		if !slices.Contains(in.all, nil) || !slices.Contains(in.all, lost) {
			t.Errorf("told: %v", in.all)
		}
	})
}
