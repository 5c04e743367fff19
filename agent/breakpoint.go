package agent

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
