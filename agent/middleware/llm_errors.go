package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// RetryRules configure the retries of failed model calls and the limit of concurrent calls.
type RetryRules struct {
	Concurrent int           `yaml:"max_concurrent_calls" min:"0" reload:"restart"` // on the whole server; 0 = no limit
	Attempts   int           `yaml:"retry_max_attempts" min:"1"`                    // total; 1 never retries
	Base       time.Duration `yaml:"retry_base_delay_ms" unit:"ms" min:"0"`         // base of the delay between two attempts
	Cap        time.Duration `yaml:"retry_cap_delay_ms" unit:"ms" min:"0"`          // limit of that delay
	BurstBase  time.Duration `yaml:"burst_retry_base_delay_ms" unit:"ms" min:"0"`   // after a rate-limit error
}

// DefaultRetry makes up to three attempts, one to eight seconds apart.
func DefaultRetry() RetryRules {
	return RetryRules{Attempts: 3, Base: time.Second, Cap: 8 * time.Second, BurstBase: 5 * time.Second}
}

// Upper limits for delays requested by a provider.
const (
	maxRetryAfter = 2 * time.Minute
	burstAttempts = 2 // for rate limits; also for a stream that stopped
)

// LLMErrors retries a model call that failed before any output and may succeed later; each retry is an event for
// readers. A call that finally fails ends the run with a message for people: the run's error, and an AI message hidden
// from models. line suspends calls to a failing provider; the whole server shares it. backups are tried in order, and
// the rest of the run uses the first that answers.
func LLMErrors(r RetryRules, line *Breaker, backups ...Backup) agent.Middleware {
	at := -1 // the backup that answers; -1 is the model itself
	readings := make([]*Reading, len(backups))
	return agent.Middleware{
		Name: "llm_errors",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				var first *providerError
				for ; ; at++ {
					own, to := line, *req
					if at >= 0 {
						own = backups[at].Line
						if err := backups[at].take(&to); err != nil {
							t.Log.Warn("fallback model unusable", "err", err)
							switch {
							case first == nil:
								return nil, err
							case at+1 >= len(backups):
								return fallback(t, nil, first), first
							}
							continue
						}
						if readings[at] == nil && backups[at].Reading != nil {
							r := backups[at].Reading(ctx, t)
							readings[at] = &r
						}
						if readings[at] != nil {
							ctx = reads(ctx, readings[at])
						}
					}
					m, err := r.ask(ctx, t, &to, own, next)
					failed, gaveUp := err.(*providerError)
					if !gaveUp {
						return m, err
					}
					if first == nil {
						first = failed
					}
					if m != nil || at+1 >= len(backups) {
						if at >= 0 && failed != first {
							noteFailed(t, backups[at].Model, first, failed)
						}
						return fallback(t, m, first), first
					}
					tellBackup(t, backups[at+1].Model, failed)
				}
			}
		},
	}
}

// ask retries a call until it succeeds or finally fails with a *providerError.
func (r RetryRules) ask(ctx context.Context, t *agent.Turn, req *agent.Request, line *Breaker,
	next agent.ModelFunc) (*agent.Message, error) {
	var wait time.Duration
	for attempt := 1; ; attempt++ {
		again := *req // inner stages add to a request
		m, err := line.call(ctx, func() (*agent.Message, error) { return next(ctx, t, &again) })
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return m, err
		}
		var open *circuitOpen
		fail := llmerr.Of(err)
		if fail == nil && !errors.As(err, &open) {
			return m, err // not the provider's doing
		}
		if m != nil || open != nil || !fail.Retriable() || attempt >= r.attempts(fail) {
			return m, &providerError{fail: fail, open: open}
		}
		wait = r.wait(fail, wait)
		tellRetry(t, attempt, r.attempts(fail), wait, fail)
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (r RetryRules) attempts(e *llmerr.Error) int {
	if e.Bursting() || errors.Is(e, llmerr.ErrIdle) {
		return min(r.Attempts, burstAttempts)
	}
	return r.Attempts
}

// wait returns the provider's delay, or a growing random one that spreads the retries of runs that failed together.
func (r RetryRules) wait(e *llmerr.Error, before time.Duration) time.Duration {
	if e.RetryAfter > 0 {
		return min(e.RetryAfter, maxRetryAfter)
	}
	base := r.Base
	if e.Class == llmerr.ClassBurst {
		base = r.BurstBase
	}
	if base >= r.Cap {
		return r.Cap
	}
	top := min(r.Cap, max(base, 3*before))
	return base + time.Duration(rand.Int64N(int64(top-base)+1))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func tellRetry(t *agent.Turn, attempt, of int, wait time.Duration, e *llmerr.Error) {
	t.Log.Warn("retrying a model call", "attempt", attempt, "of", of, "wait", wait, "class", e.Class, "err", e)
	data, err := agent.Encode(map[string]any{"type": "llm_retry", "attempt": attempt, "max_attempts": of,
		"wait_ms": wait.Milliseconds(), "until": time.Now().Add(wait).UTC().Format(time.RFC3339Nano), "reason": e.Class,
		"message": fmt.Sprintf("%s Trying again in %s.", strings.TrimSuffix(explain(e), ":")+ending(explain(e)), spoken(wait))})
	if err != nil { // strings and numbers always encode
		return
	}
	t.Sink.Emit(agent.Event{Kind: agent.EventCustom, NS: t.NS, Data: data})
}

// ending closes a sentence which ends with a colon.
func ending(s string) string {
	if strings.HasSuffix(s, ":") {
		return "."
	}
	return ""
}

func spoken(d time.Duration) string {
	if d < time.Second {
		return "a moment"
	}
	return d.Round(time.Second).String()
}

// explain describes the problem in one sentence.
func explain(e *llmerr.Error) string {
	switch e.Class {
	case llmerr.ClassQuota:
		return "The account of the model provider has no credit left."
	case llmerr.ClassAuth:
		return "The model provider does not accept the key."
	case llmerr.ClassTrust:
		return "No secure connection to the model provider can be made."
	case llmerr.ClassBurst:
		return "The model provider gets too many requests at the moment."
	case llmerr.ClassBusy:
		return "The model provider is overloaded at the moment."
	case llmerr.ClassInvalid:
		return "The model provider refuses the request."
	case llmerr.ClassContext:
		return "The conversation is longer than the model can read."
	case llmerr.ClassNetwork:
		if errors.Is(e, llmerr.ErrIdle) {
			return "The model provider stopped responding."
		}
		if errors.Is(e, llmerr.ErrCut) {
			return "The answer was cut off:"
		}
		if errors.Is(e, llmerr.ErrGarbled) {
			return "The answer of the model provider cannot be read."
		}
		return "The model provider cannot be reached."
	}
	return "The model call failed."
}

// fallback returns the AI message that explains a failure. If part of an answer was shown, that is kept instead.
func fallback(t *agent.Turn, partial *agent.Message, p *providerError) *agent.Message {
	if partial != nil {
		return partial
	}
	reason, detail := "circuit_open", ""
	if p.fail != nil {
		reason, detail = p.fail.Class, p.fail.Error()
	}
	return &agent.Message{ID: t.NewID(), Type: agent.TypeAI, Content: agent.Text(p.Error()), Kwargs: map[string]any{
		agent.ErrorFallback: true, "error_type": p.ErrorName(), "error_reason": reason,
		"error_detail": head(detail, 2000)}}
}

// providerError ends a run whose model couldn't be called.
type providerError struct {
	fail *llmerr.Error
	open *circuitOpen
}

// Error describes the failure and quotes the provider.
func (p *providerError) Error() string {
	if p.fail == nil {
		return p.open.Error()
	}
	if p.fail != nil && errors.Is(p.fail, llmerr.ErrCut) {
		return explain(p.fail) + " " + sentence(p.fail.Said())
	}
	return explain(p.fail) + " " + sentence(p.fail.Error())
}

// StopReason is stored with the run in addition to the error.
func (p *providerError) StopReason() string {
	if p.fail != nil && errors.Is(p.fail, llmerr.ErrCut) {
		return StopCut
	}
	return ""
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	switch s[len(s)-1] {
	case '.', '!', '?':
		return s
	}
	return s + "."
}

// Unwrap returns the provider's failure.
func (p *providerError) Unwrap() error {
	if p.fail == nil {
		return p.open
	}
	return p.fail
}

// ErrorName names the kind of failure for clients.
func (p *providerError) ErrorName() string {
	if p.fail == nil {
		return "ModelCircuitOpen"
	}
	switch p.fail.Class {
	case llmerr.ClassQuota:
		return "ModelQuota"
	case llmerr.ClassAuth:
		return "ModelAuth"
	case llmerr.ClassBurst, llmerr.ClassBusy:
		return "ModelBusy"
	case llmerr.ClassContext:
		return "ContextOverflow"
	case llmerr.ClassNetwork, llmerr.ClassTrust:
		return "ModelUnreachable"
	}
	return "ModelError"
}

// LogValue keeps the log at one line.
func (p *providerError) LogValue() slog.Value { return slog.StringValue(p.Error()) }
