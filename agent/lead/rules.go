package lead

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
)

// errNoGuard means that Fawn lacks the class of a guard.
var errNoGuard = errors.New("unknown guard")

// isAllowList reports whether a guard's class is the only supported one, with two lists.
func isAllowList(use string) bool { return strings.Contains(strings.ToLower(use), "allowlist") }

// failing returns a guard that cannot decide.
func failing(err error) middleware.Guard {
	return func(context.Context, middleware.GuardRequest) (middleware.GuardVerdict, error) {
		return middleware.GuardVerdict{}, err
	}
}

// guard returns the configured guard. Only lists are supported; a Python class can't run, and counts as a failing
// guard.
func guard(c config.Guardrails) middleware.Guard {
	if use := c.Provider.Use; use != "" && !isAllowList(use) {
		return failing(fmt.Errorf("guardrails.provider.use %s: %w", use, errNoGuard))
	}
	allowed, given := names(c.Provider.Config["allowed_tools"])
	if !given {
		allowed = nil
	}
	denied, _ := names(c.Provider.Config["denied_tools"])
	return middleware.AllowList(allowed, denied)
}

// errNoRules means that the configuration has no rules for a default role.
var errNoRules = errors.New("the role has no rules")

// authorizer returns the guard of authorization: a role's tool lists, DeerFlow's roles.<role>.tools.allow and deny.
// Everyone has the default role. A role without rules, and invalid rules, count as a failing guard.
func authorizer(c config.Authorization) middleware.Guard {
	if use := c.Provider.Use; use != "" && !isRoles(use) {
		return failing(fmt.Errorf("authorization.provider.use %s: %w", use, errNoGuard))
	}
	roles, _ := c.Provider.Config["roles"].(map[string]any)
	role, ok := roles[c.DefaultRole].(map[string]any)
	if !ok {
		return failing(fmt.Errorf("authorization.provider.config.roles.%s: %w", c.DefaultRole, errNoRules))
	}
	rules, _ := role["tools"].(map[string]any)
	denied, _ := names(rules["deny"])
	switch allow := rules["allow"].(type) {
	case nil:
		return middleware.AllowList(nil, denied)
	case bool:
		if allow {
			return middleware.AllowList(nil, denied)
		}
		return middleware.AllowList([]string{}, denied)
	case string:
		if allow == "*" {
			return middleware.AllowList(nil, denied)
		}
	case []any:
		allowed, _ := names(allow)
		return middleware.AllowList(allowed, denied)
	}
	return failing(fmt.Errorf("authorization.provider.config.roles.%s.tools.allow must be *, true, false or a list of names",
		c.DefaultRole))
}

// isRoles reports whether the class of an authorization is the only supported one, with roles.
func isRoles(use string) bool { return strings.Contains(strings.ToLower(use), "rbac") }

// names reads a list of strings; given reports whether there is one, even an empty one.
func names(v any) (list []string, given bool) {
	values, ok := v.([]any)
	if !ok {
		return nil, false
	}
	list = []string{}
	for _, v := range values {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	return list, true
}

// now returns the time in the owner's zone.
func (b *Builder) now(zone string) func() time.Time {
	return func() time.Time {
		if zone != "" {
			if l, err := time.LoadLocation(zone); err == nil {
				return time.Now().In(l)
			}
		}
		return time.Now()
	}
}

// compaction returns the rules for conversations that grow too long. Switched off, only the model's window is kept to,
// without a call for a summary.
func (b *Builder) compaction(snap *config.Snapshot, e equipment, k *kit) middleware.CompactionRules {
	c := snap.File.Summarization
	r := middleware.CompactionRules{CompactionOptions: c, Window: e.model.ContextWindow, Front: k.front}
	r.Learned = func(t *agent.Turn, window int) (s middleware.Smaller) {
		written := e.model
		if m, ok := snap.Model(e.model.Name); ok { // e.model has the effective window
			written.ContextWindow = m.ContextWindow
		}
		b.windows.refuse(written, window)
		if small(window) && e.brief == "" {
			s.System, s.Tools = e.shortened(k.now.tools)
			s.Tokens = front(s.System, s.Tools)
			t.Note(SmallKey, smallNote(e.model.Name, window))
		}
		return s
	}
	if !c.Enabled {
		r.Trigger = nil
		return r
	}
	r.Ask = b.helper(snap, sideModel(snap, c.ModelName, e.model), e.model, e.job("summary"))
	return r
}

// learned records the window named in a model's refusal.
func (b *Builder) learned(e equipment, m config.Model) func(*agent.Turn, int) middleware.Smaller {
	return func(t *agent.Turn, window int) middleware.Smaller {
		b.windows.refuse(m, window)
		s := e.smaller(window)
		if s.Tokens > 0 {
			t.Note(SmallKey, smallNote(m.Name, window))
		}
		return s
	}
}

// smaller returns a shortened front of the request for a model with a small window; nothing if the window suffices or
// the front is short already.
func (e equipment) smaller(window int) (s middleware.Smaller) {
	if small(window) && e.brief == "" {
		s.System, s.Tools = e.shortened(e.tools)
		s.Tokens = front(s.System, s.Tools)
	}
	return s
}

// reading returns the limits of a model that replaces the run's.
func (b *Builder) reading(e equipment, m config.Model) func(context.Context, *agent.Turn) middleware.Reading {
	return func(ctx context.Context, t *agent.Turn) middleware.Reading {
		r := middleware.Reading{Window: b.window(ctx, m), Learned: b.learned(e, m)}
		if r.Smaller = e.smaller(r.Window); r.Smaller.Tokens > 0 {
			t.Note(SmallKey, smallNote(m.Name, r.Window))
		}
		return r
	}
}

// smallNote returns the remark that a model works with a shortened prompt; it begins with the window size.
func smallNote(model string, window int) string {
	return fmt.Sprintf("%d tokens are all that the model %s reads; it works with a short prompt and few tools", window,
		model)
}

// front estimates the tokens before the messages of each request.
func front(system string, tools []*agent.Tool) int { return weights(nil).front(system, tools) }

// weights caches the token sizes of tools common to all runs.
type weights map[*agent.Tool]int

func (w weights) front(system string, tools []*agent.Tool) int {
	n := middleware.TextTokens(system)
	for _, t := range tools {
		own, known := w[t]
		if !known {
			own = weight(t)
		}
		n += own
	}
	return n
}

func weight(t *agent.Tool) int {
	return toolTokens + middleware.TextTokens(t.Name+t.Description+string(t.Schema))
}
