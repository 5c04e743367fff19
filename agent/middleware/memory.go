package middleware

import (
	"context"
	"strings"

	"fawn/agent"
)

// Learn takes what a turn said, to be remembered later. It must not block.
type Learn func(thread, agentName string, said []*agent.Message)

// Memory hands what people and the agent said to each other to the memory, at the regular
// end of a run: the words of people, and answers that call nothing. A thread in which one
// of the two is missing has nothing to learn from.
func Memory(learn Learn) agent.Middleware {
	return agent.Middleware{
		Name: "memory",
		AfterAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			var said []*agent.Message
			people, answers := 0, 0
			for _, m := range t.State.Messages {
				switch {
				case m.Genuine() && strings.TrimSpace(m.Content.String()) != "":
					people++
				case m.Type == agent.TypeAI && len(m.Calls()) == 0 && !m.Flag(agent.ErrorFallback) && strings.TrimSpace(m.Content.String()) != "":
					answers++
				default:
					continue
				}
				said = append(said, m)
			}
			if people > 0 && answers > 0 {
				learn(t.ThreadID, t.Options.AgentName, said)
			}
			return agent.State{}, nil
		},
	}
}
