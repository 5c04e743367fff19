package agent

import (
	"slices"
	"strings"
)

// Access are the files used by a call, by absolute paths; a folder includes its content. Calls of one answer that touch
// the same file run in the answer's order, unless all of them only read it.
type Access struct {
	Reads, Writes []string
	// Perhaps are paths that a command mentions. Its effect on them is unknown, so it keeps its order relative to other
	// calls, but not to other commands.
	Perhaps []string
}

// meets reports whether two calls must keep their order.
func (a Access) meets(b Access) bool {
	return overlap(a.Writes, b.Writes) || overlap(a.Writes, b.Reads) || overlap(a.Reads, b.Writes) ||
		overlap(a.Writes, b.Perhaps) || overlap(a.Perhaps, b.Writes) ||
		overlap(a.Reads, b.Perhaps) || overlap(a.Perhaps, b.Reads)
}

// overlap reports whether a path of a is a path of b, or in it, or around it.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(p string) bool {
		return slices.ContainsFunc(b, func(q string) bool {
			return p == q || strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/")
		})
	})
}

// order returns for each call the earlier ones it must wait for.
func (s *Toolset) order(calls []ToolCall) [][]int {
	touched := make([]Access, len(calls))
	after := make([][]int, len(calls))
	for i, c := range calls {
		tool := s.tool(c.Name)
		if tool == nil || tool.Access == nil {
			continue
		}
		touched[i] = tool.Access(c)
		for k := range i {
			if touched[k].meets(touched[i]) {
				after[i] = append(after[i], k)
			}
		}
	}
	return after
}
