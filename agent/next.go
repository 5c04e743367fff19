package agent

import "encoding/json"

// Node names as checkpoints and streams show them. "agent" and "lead_agent" are aliases
// of NodeModel on input.
const (
	NodeStart     = "__start__"
	NodeInput     = "__input__"
	NodeModel     = "model"
	NodeTools     = "tools"
	NodeEnd       = "__end__"
	NodeInterrupt = "__interrupt__"
)

// FinishInterrupted marks an AI message that was cut off by a cancel, an error or a crash.
const FinishInterrupted = "interrupted"

// CanonicalNode maps aliases of a node to its name; unknown ones count as input.
func CanonicalNode(name string) string {
	switch name {
	case NodeModel, "agent", "lead_agent":
		return NodeModel
	case NodeTools, NodeEnd, NodeStart:
		return name
	}
	return NodeInput
}

// Next reports which nodes would run after asNode wrote s. It is pure, evaluated once per checkpoint and stored there:
// after input or tools the model, after calls the tools, nothing when an answer is complete, and NodeInterrupt while a
// question to the user is open.
func Next(s *State, asNode string) []string {
	if CanonicalNode(asNode) == NodeStart && len(s.Messages) > 0 {
		return []string{NodeModel}
	}
	i := len(s.Messages) - 1
	for i >= 0 && s.Messages[i].Type == TypeTool {
		i--
	}
	if i < 0 {
		return []string{}
	}
	m := s.Messages[i]
	switch m.Type {
	case TypeHuman, TypeSystem:
		return []string{NodeModel}
	case TypeAI:
		if len(Unanswered(m, s.Messages[i+1:])) > 0 {
			return []string{NodeTools}
		}
		if i < len(s.Messages)-1 {
			if Question(s) != nil {
				return []string{NodeInterrupt}
			}
			return []string{NodeModel}
		}
		if m.Meta["finish_reason"] == FinishInterrupted {
			return []string{NodeModel}
		}
	}
	return []string{}
}

// Unanswered lists the calls of m, valid or not, which have no result in results.
func Unanswered(m *Message, results []*Message) []string {
	var open []string
	for _, id := range m.Calls() {
		answered := false
		for _, r := range results {
			if r.Type == TypeTool && r.ToolCallID == id {
				answered = true
				break
			}
		}
		if !answered {
			open = append(open, id)
		}
	}
	return open
}

// Question returns the tool message of an unanswered clarification, or nil.
func Question(s *State) *Message {
	for i := len(s.Messages) - 1; i >= 0 && s.Messages[i].Type == TypeTool; i-- {
		m := s.Messages[i]
		if m.Name == "ask_clarification" && hasHumanInput(m.Artifact) {
			return m
		}
	}
	return nil
}

func hasHumanInput(artifact json.RawMessage) bool {
	var a struct {
		HumanInput json.RawMessage `json:"human_input"`
	}
	return len(artifact) > 0 && json.Unmarshal(artifact, &a) == nil && len(a.HumanInput) > 0 &&
		string(a.HumanInput) != "null"
}

// StopBreakpoint is the stop reason of a run which a breakpoint ended.
const StopBreakpoint = "breakpoint"

// Stops reports whether breakpoints, names of nodes or "*", apply to a node.
func Stops(breakpoints []string, node string) bool {
	for _, b := range breakpoints {
		if b == "*" || CanonicalNode(b) == node {
			return true
		}
	}
	return false
}

// halted ends the run at a breakpoint.
func (l *loop) halted() Outcome {
	l.out.Breakpoint, l.out.StopReason = true, StopBreakpoint
	return l.out
}

// goOn selects the node after a finished one, NodeEnd for none. A breakpoint only applies if something would follow:
// after a complete answer there is nothing to stop.
func (l *loop) goOn(node string, next []string, end bool) string {
	if end || len(next) == 0 || next[0] == NodeInterrupt {
		return NodeEnd
	}
	if Stops(l.turn.StopAfter, node) || Stops(l.turn.StopBefore, next[0]) {
		l.halted()
		return NodeEnd
	}
	return next[0]
}
