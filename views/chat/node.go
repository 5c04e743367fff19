package chat

import (
	"context"
	"time"

	"fawn/views"
	"fawn/views/i18n"
)

// minGroup is the number of consecutive calls of one tool that are grouped.
const minGroup = 3

// Node is one entry of a trail: a step, or a group of finished calls of one tool in a row. A running, failed or
// stopped step isn't grouped.
type Node struct{ Steps []views.Step }

// Grouped reports whether the node is a group.
func (n Node) Grouped() bool { return len(n.Steps) > 1 }

// ID returns the id of the node's element.
func (n Node) ID() string {
	s := &n.Steps[0]
	switch {
	case n.Grouped():
		return "g-" + s.ID
	case s.Kind == views.StepReasoning:
		return "r-" + s.ID
	case s.Kind == views.StepNote:
		return "n-" + s.ID
	case s.Kind == views.StepRetry:
		return "w-" + s.ID
	}
	return "s-" + s.ID
}

// Nodes returns the entries of a trail with these steps; they share their memory.
func Nodes(steps []views.Step) []Node {
	out := make([]Node, 0, len(steps))
	for i := 0; i < len(steps); {
		n := 1
		if groupable(&steps[i]) {
			for i+n < len(steps) && groupable(&steps[i+n]) && steps[i+n].Tool == steps[i].Tool {
				n++
			}
		}
		if n >= minGroup {
			out = append(out, Node{steps[i : i+n]})
		} else {
			for k := range n {
				out = append(out, Node{steps[i+k : i+k+1]})
			}
		}
		i += n
	}
	return out
}

// groupable reports whether a step may be one of a group. Helpers, and pages with their pictures, are worth a line
// each.
func groupable(s *views.Step) bool {
	return s.Kind != views.StepReasoning && s.Kind != views.StepNote && s.Kind != views.StepRetry &&
		stateOf(*s) == views.StepDone && s.Tool != "task" && !alone[s.Tool] && !browsing(s.Tool)
}

// summarize describes the calls of a group.
func summarize(ctx context.Context, n Node) line {
	l := describe(ctx, n.Steps[0])
	targets := map[string]bool{}
	var took time.Duration
	for _, s := range n.Steps {
		targets[describe(ctx, s).target] = true
		took += s.Elapsed
	}
	tool, count := n.Steps[0].Tool, len(n.Steps)
	switch {
	case len(targets) == 1 && tool == "read_file":
		l.meta = []string{i18n.N(ctx, "tool.group.parts", count)}
	case len(targets) == 1:
		l.meta = []string{i18n.N(ctx, "tool.group.times", count)}
	default:
		switch tool {
		case "ls", "read_file", "write_file", "str_replace", "web_fetch", "view_image":
			count = len(targets)
		}
		l = line{verb: i18n.N(ctx, "tool.group."+tool, count)}
	}
	if d := views.Duration(i18n.Lang(ctx), took); d != "" {
		l.meta = append(l.meta, d)
	}
	return l
}

// alone are tools whose calls aren't grouped.
var alone = map[string]bool{"generate_image": true, "edit_image": true, "generate_speech": true, "transcribe_audio": true}
