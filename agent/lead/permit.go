package lead

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/runs"
)

// Admit implements runs.Admit: it refuses a run whose owner may not use its agent or model, or has reached a daily
// limit. All ways of starting a run call it. Errors: access.ErrDenied.
func (b *Builder) Admit(ctx context.Context, s runs.Spec) error {
	may, err := b.access.Of(ctx, s.Owner)
	if err != nil || !may.Limited() {
		return err
	}
	asked := *s.Options
	s.Options, s.Remark = &asked, nil
	c, err := b.who(ctx, s)
	if err != nil {
		return nil // the run itself reports it
	}
	if c.Name != "" && !may.May(access.Agent, c.Name) {
		return may.Deny(access.Agent, c.Name)
	}
	if _, err := models(b.config(), may, asked.ModelName); err != nil {
		return err
	}
	_, err = b.access.Left(ctx, s.Owner, may, s.RunID)
	return err
}

// dayLimit returns the daily allowance left for a run or helper; nil for no limit. Concurrent runs on all servers share
// it: each call's usage is stored when it ends, and checked before the next.
func (b *Builder) dayLimit(s runs.Spec, run string, may access.Rights) *middleware.Allowance {
	if _, tokens := may.PerDay(); tokens == 0 {
		return nil
	}
	return &middleware.Allowance{
		Left: func(ctx context.Context) (int, error) {
			tokens, err := b.access.Left(ctx, s.Owner, may, run)
			if spent := new(access.Spent); errors.As(err, &spent) { // the run was admitted before
				return 0, nil
			}
			return int(tokens), err
		},
		Spend: func(ctx context.Context, tokens int) error {
			return b.access.Spend(ctx, s.Owner, s.RunID, int64(tokens))
		},
	}
}

// unspent rejects a side call if the owner has no tokens left today. Errors: *access.Spent.
func (b *Builder) unspent(ctx context.Context, owner string, may access.Rights) error {
	if !may.Limited() {
		return nil
	}
	_, err := b.access.Left(ctx, owner, may, "")
	if spent := new(access.Spent); errors.As(err, &spent) && spent.What != "tokens" { // no run is created
		return nil
	}
	return err
}

// models returns the configured models that a person may use, the default first. Errors: access.ErrDenied if there are
// none, or if the chosen one isn't among them.
func models(snap *config.Snapshot, may access.Rights, chosen string) ([]config.Model, error) {
	usable := snap.UsableModels()
	if !may.Limited() || len(usable) == 0 || chosen == OfflineModel {
		return usable, nil
	}
	known := slices.ContainsFunc(usable, func(m config.Model) bool { return m.Name == chosen })
	if known && !may.May(access.Model, chosen) {
		return nil, may.Deny(access.Model, chosen)
	}
	usable = Permitted(usable, may)
	if len(usable) == 0 {
		return nil, may.Deny(access.Model, "")
	}
	return usable, nil
}

// Permitted returns the models of a list that a person may use.
func Permitted(list []config.Model, may access.Rights) []config.Model {
	return slices.DeleteFunc(slices.Clone(list), func(m config.Model) bool { return !may.May(access.Model, m.Name) })
}

// permitted returns the configuration without the agents and helper kinds that a person may not use.
func permitted(f config.File, may access.Rights) config.File {
	if _, all := may.List(access.Agent); all {
		return f
	}
	f.ACPAgents = maps.Clone(f.ACPAgents)
	maps.DeleteFunc(f.ACPAgents, func(name string, _ config.ACPAgent) bool { return !may.May(access.Agent, name) })
	f.Subagents.CustomAgents = maps.Clone(f.Subagents.CustomAgents)
	for name := range f.Subagents.CustomAgents {
		if !may.May(access.Agent, name) {
			delete(f.Subagents.CustomAgents, name)
		}
	}
	return f
}

// mayUse reports whether a person may use the MCP server of a tool, if it has one.
func mayUse(may access.Rights, t *agent.Tool) bool {
	return !t.MCP || may.May(access.Server, t.Server)
}
