package lead

import (
	"fawn/agent"
	"fawn/agent/acp"
	"fawn/agent/config"
)

// external returns the tool that calls configured agents that run as separate programs; nil without any.
func (b *Builder) external(list map[string]config.ACPAgent) *agent.Tool {
	if len(list) == 0 {
		return nil
	}
	agents := make(map[string]acp.Agent, len(list))
	for name, a := range list {
		agents[name] = acp.Agent{Command: a.Command, Args: a.Args, Env: a.Env.Plain(), Description: a.Description,
			Model: a.Model, Approve: a.AutoApprovePermissions, Timeout: a.Timeout}
	}
	t, err := acp.Tool(acp.Options{Agents: agents, Dirs: b.dirs, Open: b.open, Log: b.log})
	if err != nil {
		b.log.Error("couldn't offer external agents", "err", err)
		return nil
	}
	return t
}
