package resume

import (
	"log/slog"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// CloseCalls answers the open calls of the last AI message in s: with the recorded result, else as interrupted. It
// returns the written patch, and sets the node where the thread continues: an open question stays open.
func CloseCalls(s *agent.State, results map[string]runevent.ToolEnd, step *agent.Step, newID func() string,
	log *slog.Logger) (agent.State, error) {
	var answers agent.State
	var patches []agent.State
	i := len(s.Messages) - 1
	for i >= 0 && s.Messages[i].Type == agent.TypeTool {
		i--
	}
	if i < 0 {
		return answers, nil
	}
	caller, interrupted := s.Messages[i], false
	names := map[string]string{}
	for _, c := range caller.ToolCalls {
		names[c.ID] = c.Name
	}
	for _, c := range caller.Invalid {
		names[c.ID] = c.Name
	}
	for _, id := range agent.Unanswered(caller, s.Messages[i+1:]) {
		result := agent.ErrorResult(agent.InterruptedResult)
		if t, ok := results[id]; ok {
			var err error
			if result, err = t.Result(); err != nil {
				return answers, err
			}
		} else {
			interrupted = true
		}
		if result.MessageID == "" {
			result.MessageID = newID()
		}
		answers.Messages = append(answers.Messages,
			result.Message(result.MessageID, agent.ToolCall{ID: id, Name: names[id]}))
		patches = append(patches, result.Patch)
	}
	if err := s.Apply(answers); err != nil {
		return answers, err
	}
	for _, p := range patches {
		joined, err := agent.Join(answers, p)
		if err == nil {
			err = s.Apply(p)
		}
		if err != nil {
			log.Warn("tool's state change rejected", "err", err)
			continue
		}
		answers = joined
	}
	if !interrupted {
		step.Next = agent.Next(s, agent.NodeTools)
	}
	return answers, nil
}
