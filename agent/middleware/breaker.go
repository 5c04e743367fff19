package middleware

import (
	"context"
	"fmt"
	"sync"
	"time"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// BreakerRules configure when calls to a model are suspended.
type BreakerRules struct {
	Failures int           `yaml:"failure_threshold" min:"1"`    // consecutive failures until calls are suspended
	Rest     time.Duration `yaml:"recovery_timeout_sec" min:"1"` // duration of the suspension
}

// DefaultBreaker suspends calls for a minute after five failures.
func DefaultBreaker() BreakerRules { return BreakerRules{Failures: 5, Rest: time.Minute} }

// Breaker is a circuit breaker shared by all runs that call one model: after several failures calls are suspended for a
// while, then a single call tests the model. slots limits concurrent calls; nil means no limit.
type Breaker struct {
	model string
	rules BreakerRules
	slots chan struct{}

	mu     sync.Mutex
	failed int
	until  time.Time // calls are suspended until then
	trying bool      // a trial call is in progress after that
}

// NewBreaker returns the circuit breaker of a model.
func NewBreaker(model string, rules BreakerRules, slots chan struct{}) *Breaker {
	return &Breaker{model: model, rules: rules, slots: slots}
}

// circuitOpen means that a call was suppressed.
type circuitOpen struct {
	model string
	left  time.Duration
}

// Error returns the message for users.
func (c *circuitOpen) Error() string {
	return fmt.Sprintf("The model %s has failed several times in a row and is left alone for another %s.", c.model,
		max(c.left, time.Second).Round(time.Second))
}

// call makes one attempt.
func (l *Breaker) call(ctx context.Context, f func() (*agent.Message, error)) (*agent.Message, error) {
	trial, err := l.enter()
	if err != nil {
		return nil, err
	}
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-ctx.Done():
			l.record(trial, nil, false)
			return nil, context.Cause(ctx)
		}
	}
	returned := false
	defer func() {
		if !returned { // a panic must not block the line for good
			l.record(trial, nil, false)
		}
	}()
	m, err := f()
	returned = true
	l.record(trial, llmerr.Of(err), err == nil)
	return m, err
}

// enter reports whether a call may be made, and whether it is the test call.
func (l *Breaker) enter() (trial bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until.IsZero() {
		return false, nil
	}
	if left := time.Until(l.until); left > 0 || l.trying {
		return false, &circuitOpen{l.model, left}
	}
	l.trying = true
	return true, nil
}

// record records the outcome of a call. Rate limits don't count as the model's failure.
func (l *Breaker) record(trial bool, fail *llmerr.Error, worked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if trial {
		l.trying = false
	}
	broken := fail != nil && fail.Retriable() && fail.Class != llmerr.ClassBurst
	switch {
	case broken:
		if l.failed++; trial || l.failed >= l.rules.Failures {
			l.until = time.Now().Add(l.rules.Rest)
		}
	case worked || fail != nil: // it answers, even if with a refusal
		l.failed, l.until = 0, time.Time{}
	}
}
