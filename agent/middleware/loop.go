package middleware

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fawn/agent"
)

// LoopOptions configure the detection of loops.
type LoopOptions struct {
	Enabled  bool                 `yaml:"enabled"`
	Warn     int                  `yaml:"warn_threshold" min:"1"` // answers with the same calls
	Hard     int                  `yaml:"hard_limit" min:"1"`
	Window   int                  `yaml:"window_size" min:"1"`    // number of answers examined
	ToolWarn int                  `yaml:"tool_freq_warn" min:"1"` // calls of one tool
	ToolHard int                  `yaml:"tool_freq_hard_limit" min:"1"`
	Tools    map[string]ToolLimit `yaml:"tool_freq_overrides"`
}

// ToolLimit replaces the limits of calls for one tool.
type ToolLimit struct {
	Warn int `yaml:"warn" min:"1" required:"true"`
	Hard int `yaml:"hard_limit" min:"1" required:"true"` // at least Warn
}

// DefaultLoop warns at the third answer with the same calls, and ends at the fifth.
func DefaultLoop() LoopOptions {
	return LoopOptions{
		Enabled: true, Warn: 3, Hard: 5, Window: 20, ToolWarn: 30, ToolHard: 50,
	}
}

// Check reports contradictory limits. entry is the tool's key if it has its own.
func (o LoopOptions) Check(fail func(entry, problem string)) {
	if o.Hard < o.Warn {
		fail("", fmt.Sprintf("hard_limit (%d) must not be below warn_threshold (%d)", o.Hard, o.Warn))
	}
	if o.ToolHard < o.ToolWarn {
		fail("", fmt.Sprintf("tool_freq_hard_limit (%d) must not be below tool_freq_warn (%d)", o.ToolHard, o.ToolWarn))
	}
	for _, tool := range slices.Sorted(maps.Keys(o.Tools)) {
		if l := o.Tools[tool]; l.Hard < l.Warn {
			fail("tool_freq_overrides."+tool,
				fmt.Sprintf("hard_limit (%d) must not be below warn (%d)", l.Hard, l.Warn))
		}
	}
}

// maxLoopNotes limits the warnings one request carries.
const maxLoopNotes = 4

// LoopDetection detects a run that repeats the same calls, or uses one tool far too often. First the model is warned,
// in the next request only; then the calls are dropped and the run gets its last turn.
func LoopDetection(o LoopOptions) agent.Middleware {
	o.Hard = max(o.Hard, o.Warn)
	d := loopDetector{limits: o, warned: map[string]bool{}}
	return agent.Middleware{
		Name: "loop_detection",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				for _, text := range d.pending {
					addNote(req, "loop_warning", text)
				}
				m, err := next(ctx, t, req)
				if err == nil {
					d.pending = nil
				}
				return m, err
			}
		},
		AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
			if len(r.Message.ToolCalls) == 0 {
				return nil
			}
			why := d.see(r.Message.ToolCalls)
			if why == "" {
				return nil
			}
			t.Log.Warn("loop detected; stopping the run", "why", why)
			r.Message = withText(withoutCalls(r.Message), "[FORCED STOP] "+why)
			r.Last = &agent.Last{Reason: "loop_capped",
				Note: why + " Tools are off now. Answer with what you have found " +
					"so far, and say what did not work."}
			r.Jump = agent.ToModel
			return nil
		},
	}
}

// loopDetector records the calls of one run.
type loopDetector struct {
	limits  LoopOptions
	hashes  []string // hashes of the newest answers with calls
	tools   []string // names of the newest calls
	warned  map[string]bool
	pending []string
}

// see takes the calls of an answer, and returns why the run must stop, or "".
func (d *loopDetector) see(calls []agent.ToolCall) (stop string) {
	hash := callsHash(calls)
	d.hashes = newest(append(d.hashes, hash), d.limits.Window)
	n := count(d.hashes, hash)
	switch {
	case n >= d.limits.Hard:
		return fmt.Sprintf("The same calls were made %d times.", n)
	case n < d.limits.Warn:
		delete(d.warned, hash)
	case !d.warned[hash]:
		d.warned[hash] = true
		d.warn(fmt.Sprintf("You have made the same calls %d times, and they will not tell anything new. Change your "+
			"way, or answer with what you have.", n))
	}
	for _, c := range calls {
		if d.tools = append(d.tools, c.Name); stop == "" {
			stop = d.frequent(c.Name)
		}
	}
	return stop
}

// frequent checks how often one tool was called.
func (d *loopDetector) frequent(tool string) (stop string) {
	window := max(d.limits.Window, d.limits.ToolHard)
	for _, o := range d.limits.Tools {
		window = max(window, o.Hard)
	}
	d.tools = newest(d.tools, window)
	l := ToolLimit{d.limits.ToolWarn, d.limits.ToolHard}
	if own, ok := d.limits.Tools[tool]; ok {
		l = own
	}
	l.Hard = max(l.Hard, l.Warn)
	key := "tool " + tool
	switch n := count(d.tools, tool); {
	case n >= l.Hard:
		return fmt.Sprintf("The tool %s was called %d times.", agent.Escape(tool), n)
	case n < l.Warn:
		delete(d.warned, key)
	case !d.warned[key]:
		d.warned[key] = true
		d.warn(fmt.Sprintf("You have called %s %d times in this run. Say to yourself what is still missing, and get it "+
			"with few calls, or answer with what you have.", agent.Escape(tool), n))
	}
	return ""
}

func (d *loopDetector) warn(text string) {
	if len(d.pending) < maxLoopNotes && !slices.Contains(d.pending, text) {
		d.pending = append(d.pending, text)
	}
}

func newest(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return slices.Clone(list[len(list)-n:])
}

func count(list []string, v string) (n int) {
	for _, e := range list {
		if e == v {
			n++
		}
	}
	return n
}
