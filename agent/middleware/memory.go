package middleware

import (
	"context"
	"strings"

	"fawn/agent"
)

// Learn queues the conversation of a run for its owner's memory. It must not block.
type Learn func(t *agent.Turn, said []*agent.Message)

// Memory passes the conversation to the memory at the regular end of a run: the person's words and answers without
// calls. Nothing is learned from a thread that lacks either.
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
				case m.Type == agent.TypeAI && len(m.Calls()) == 0 && !m.Flag(agent.ErrorFallback) &&
					strings.TrimSpace(m.Content.String()) != "":
					answers++
				default:
					continue
				}
				said = append(said, m)
			}
			if people > 0 && answers > 0 {
				learn(t, said)
			}
			return agent.State{}, nil
		},
	}
}
