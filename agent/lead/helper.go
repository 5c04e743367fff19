package lead

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/agent/middleware"
)

// helperTime limits a call of a helper model.
const helperTime = 90 * time.Second

// errBlank means that a helper model returned an empty answer.
var errBlank = errors.New("the model returned an empty answer")

// helper returns a model for side calls, such as titles: the named one, otherwise the run's own. Its
// cost is charged as job says. It returns nil for the built-in model, which can't do them.
func (b *Builder) helper(snap *config.Snapshot, named string, own config.Model, job SideCall) middleware.Ask {
	call := b.sideCall(snap, named, own, job)
	if call == nil {
		return nil
	}
	return func(ctx context.Context, prompt string) (string, error) {
		answer, err := call(ctx, &agent.Request{Messages: []*agent.Message{
			{ID: "helper", Type: agent.TypeHuman, Content: agent.Text(prompt)}}})
		if err != nil {
			return "", err
		}
		return answer.Content.String(), nil
	}
}

// sideCall is helper for whole requests.
func (b *Builder) sideCall(snap *config.Snapshot, named string, own config.Model,
	job SideCall) func(context.Context, *agent.Request) (*agent.Message, error) {
	entry := own
	if m, ok := snap.Model(named); ok && m.Disabled == "" {
		entry = m
	} else if named == OfflineModel {
		return nil
	} else if named != "" {
		b.log.Warn("model for side tasks unusable; using the run's model", "model", named)
	}
	if builtIn(entry) {
		return nil
	}
	return func(ctx context.Context, req *agent.Request) (*agent.Message, error) {
		ctx, cancel := context.WithTimeout(ctx, helperTime)
		defer cancel()
		m, err := b.models.get(snap, entry, b.connect)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", entry.Name, err)
		}
		began := time.Now()
		answer, err := agent.Collect("helper", m.Stream(ctx, req))
		if answer != nil && answer.Usage != nil {
			job := job
			job.Usage, job.Took = *answer.Usage, time.Since(began)
			job.budget.Spend(middleware.SpendingOf(answer.Usage))
			if with, ok := ctx.Value(billKey{}).(*bill); ok {
				with.add(job)
			} else {
				b.spent(context.WithoutCancel(ctx), job)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", entry.Name, err)
		}
		if answer.Content.String() == "" {
			return nil, fmt.Errorf("model %s: %w", entry.Name, errBlank)
		}
		return answer, nil
	}
}

// builtIn reports whether a model is the built-in one, also under a name of the configuration.
func builtIn(m config.Model) bool { return m.Name == OfflineModel || llm.IsOffline(m.Use) }

// bill collects side calls that are stored together with what they were for, in one commit.
type bill struct {
	mu    sync.Mutex
	calls []SideCall
}

type billKey struct{}

func (l *bill) add(c SideCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

// drain returns the calls that were not returned yet.
func (l *bill) drain() []SideCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

// background runs f until it ends or the Builder is closed; false once it is.
func (b *Builder) background(f func(ctx context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return false
	}
	b.work.Go(func() { f(b.ctx) })
	return true
}

// Close ends background work and waits for it. Close the runs' manager first.
func (b *Builder) Close() {
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	b.work.Wait()
}

// titles returns the rules for naming threads.
func (b *Builder) titles(snap *config.Snapshot, e equipment) middleware.TitleRules {
	c := snap.File.Title
	rules := middleware.TitleRules{TitleOptions: c, Late: b.lateTitle, Go: b.withBill,
		Ask: b.helper(snap, sideModel(snap, c.ModelName, e.model), e.model, e.job("title"))}
	if b.found != nil {
		rules.Shown = func(ctx context.Context) string { return b.found.Shown(ctx, e.thread) }
		rules.Kept = func(ctx context.Context) string { return b.found.Kept(ctx, e.thread, e.run) }
		rules.Keep = func(ctx context.Context, title string) { b.found.Keep(ctx, e.thread, e.run, title) }
	}
	return rules
}

// withBill runs f in the background, and afterwards stores the cost of its model calls, unless f has stored it.
func (b *Builder) withBill(f func(context.Context)) {
	b.background(func(ctx context.Context) {
		l := &bill{}
		f(context.WithValue(ctx, billKey{}, l))
		for _, c := range l.drain() {
			b.spent(context.WithoutCancel(ctx), c)
		}
	})
}

// lateTitle passes on a title that came after the end of its run, with its cost.
func (b *Builder) lateTitle(ctx context.Context, thread, from, to string) {
	var cost []SideCall
	if l, ok := ctx.Value(billKey{}).(*bill); ok {
		cost = l.drain()
	}
	b.late(ctx, thread, from, to, cost)
}

// line returns the circuit breaker shared by all runs of a model.
func (b *Builder) line(rules middleware.BreakerRules, model string) *middleware.Breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := lineKey{model, rules}
	if b.lines[key] == nil {
		b.lines[key] = middleware.NewBreaker(model, rules, b.slots)
	}
	return b.lines[key]
}

// lineKey identifies a breaker. The configuration names the models, so there are few.
type lineKey struct {
	model string
	rules middleware.BreakerRules
}

// remember returns the memory for models, or nil. A model with a small window has no room for it, and
// a helper knows its task alone.
func (b *Builder) remember(c config.Memory, e equipment) middleware.Remember {
	if e.options.Guest || e.brief != "" || e.helper != nil || !c.Enabled || !c.InjectionEnabled {
		return nil
	}
	return b.memory
}
