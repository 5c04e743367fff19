package ui

import (
	"context"
	"maps"
	"slices"

	"fawn/agent/access"
)

// names returns the names that groups' rules may contain, without other people's agents.
func (u *UI) names(ctx context.Context) map[access.Kind][]string {
	snap := u.Config.Current()
	out := map[access.Kind][]string{}
	for _, m := range snap.UsableModels() {
		out[access.Model] = append(out[access.Model], m.Name)
	}
	agents := slices.Concat(slices.Collect(maps.Keys(snap.File.ACPAgents)), slices.Collect(maps.Keys(snap.File.Subagents.CustomAgents)))
	for _, e := range u.ownAgents(ctx) {
		agents = append(agents, e.Name)
	}
	slices.Sort(agents)
	out[access.Agent] = slices.Compact(agents)
	if u.Skills != nil {
		list, err := u.Skills.List()
		if err != nil {
			u.Log.Warn("couldn't list skills for groups", "err", err)
		}
		for _, s := range list {
			out[access.Skill] = append(out[access.Skill], s.Name)
		}
	}
	out[access.Server] = append(out[access.Server], slices.Sorted(maps.Keys(snap.Extensions.MCPServers))...)
	return out
}
