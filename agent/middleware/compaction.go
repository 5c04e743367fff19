package middleware

import (
	"context"
	"fmt"
	"slices"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// CompactionRules configure when the older part of a conversation is hidden from the model, and how much stays.
type CompactionRules struct {
	CompactionOptions
	Window int        // tokens the model reads; 0 is unknown and counts as 128,000
	Fixed  int        // tokens of each request besides the messages
	Front  func() int // current value of Fixed if it changes during a run; nil uses Fixed
	Ask    Ask        // writes the summary; nil uses rules

	// Learned receives the window named in a refusal, and returns the prompt and tools for it, with their tokens; 0
	// tokens change nothing. It may be nil.
	Learned func(t *agent.Turn, window int) Smaller
}

const (
	unknownWindow = 128_000
	fullWindow    = 0.95 // part of the window at which something must happen in any case
	roomy         = 0.8  // part of the room for messages that they may fill after a forced compaction
	worthwhile    = 0.3  // share of the conversation that makes a compaction worthwhile
	negligible    = 0.1  // share of the conversation; saving less isn't worthwhile
	freshResults  = 4    // newest tool results with unabridged output
	patience      = 10   // messages more until a summary that failed is tried again
)

// Compaction keeps requests within the model's context window. The log stays complete: a view of it replaces the older
// part by a summary, omits tool output, or both. The person's newest words stay verbatim, and calls stay together with
// their results.
func Compaction(rules CompactionRules) agent.Middleware {
	overflow := false   // the last request was refused as too long
	var smaller Smaller // the front of requests, once a window was learned to be small
	var other *Reading  // limits of the backup model; nil uses the run's own
	whole := rules.Fixed
	return agent.Middleware{
		Name: "compaction",
		BeforeModel: func(ctx context.Context, t *agent.Turn) (agent.State, error) {
			size := rules.size(&t.State)
			must := overflow || rules.full(size)
			failed := triedLately(&t.State)
			if !must && (failed || !rules.due(&t.State, size)) {
				return agent.State{}, nil
			}
			overflow = false
			with := rules
			if failed {
				with.Ask = nil
			}
			return with.run(ctx, t, must)
		},
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if r, ok := ctx.Value(readingKey{}).(*Reading); ok && r != other {
					other, smaller = r, r.Smaller
					rules.turnTo(r, whole)
				}
				req = smaller.of(req)
				m, err := next(ctx, t, req)
				for range 3 {
					e := llmerr.Of(err)
					if e == nil || e.Class != llmerr.ClassContext || m != nil || ctx.Err() != nil {
						break
					}
					had := smaller.Tokens
					smaller = rules.learn(t, e.Window(), smaller)
					less := smaller.of(req)
					if had > 0 || smaller.Tokens == 0 || rules.full(tokensOf(req.Messages)) {
						overflow = true
						short := *less
						if short.Messages = squeeze(req.Messages); len(short.Messages) == 0 {
							break
						}
						t.Log.Warn("request too long for the model; sending a shorter one",
							"messages", len(short.Messages))
						t.Note(CutKey, "the conversation was longer than the model can read; older messages were left out of a request")
						less = &short
					}
					req = less
					m, err = next(ctx, t, req)
				}
				return m, err
			}
		},
		AfterAgent: func(ctx context.Context, t *agent.Turn) (agent.State, error) {
			if !overflow {
				return agent.State{}, nil
			}
			with := rules
			with.Ask = nil // the answer does not wait for a summary
			return with.run(ctx, t, true)
		},
	}
}

// CutKey is the remark on a run with a shortened request.
const CutKey = "context_cut"

// run compacts the state of a turn. A summary that failed is remembered in the thread, so
// that the next runs do not wait for it again.
func (r CompactionRules) run(ctx context.Context, t *agent.Turn, must bool) (agent.State, error) {
	size := r.size(&t.State)
	patch, err := r.Compact(ctx, &t.State, must)
	if err != nil {
		if ctx.Err() != nil {
			return agent.State{}, context.Cause(ctx)
		}
		t.Log.Warn("couldn't summarise the conversation; it stays as it is", "err", err)
		view := viewOf(&t.State)
		view.Tried = t.State.Messages[len(t.State.Messages)-1].ID
		return agent.State{View: &view}, nil
	}
	if patch.View != nil {
		t.Log.Info("summarised the conversation for the model", "tokens", size, "from", patch.View.From,
			"outputs_left_out", len(patch.View.Cut))
	}
	return patch, nil
}

// viewOf returns a copy of the view of a state.
func viewOf(s *agent.State) agent.View {
	if s.View == nil {
		return agent.View{}
	}
	return *s.View
}

// triedLately reports whether a summary failed recently.
func triedLately(s *agent.State) bool {
	if s.View == nil || s.View.Tried == "" {
		return false
	}
	newest := s.Messages[max(len(s.Messages)-patience, 0):]
	return slices.ContainsFunc(newest, func(m *agent.Message) bool { return m.ID == s.View.Tried })
}

func (r CompactionRules) window() int {
	if r.Window > 0 {
		return r.Window
	}
	return unknownWindow
}

// size estimates the tokens of the messages in a request of this state.
func (r CompactionRules) size(s *agent.State) int {
	return tokensOf(agent.BuildRequest("", s, nil, agent.ModelOptions{}).Messages)
}

// sizeAs is size as if the state had another view.
func (r CompactionRules) sizeAs(s *agent.State, v *agent.View) int {
	c := s.Clone()
	c.View = v
	return r.size(&c)
}

// fixed returns the current parts of a request before the messages.
func (r CompactionRules) fixed() int {
	if r.Front != nil {
		return r.Front()
	}
	return r.Fixed
}

// room returns the part of the window left for messages.
func (r CompactionRules) room() float64 {
	return float64(max(r.window()-r.fixed(), r.window()/4))
}

// full reports whether messages of this size fill the window.
func (r CompactionRules) full(size int) bool { return float64(size) > fullWindow*r.room() }

// due reports whether a trigger fires. Only a fraction of the window includes prompt and tools, which can't be
// shortened.
func (r CompactionRules) due(s *agent.State, size int) bool {
	for _, a := range r.Trigger {
		if a.Type == "fraction" && float64(r.fixed()+size) >= a.Value*float64(r.window()) ||
			a.Type == "tokens" && float64(size) >= a.Value {
			return true
		}
	}
	return r.manyMessages(s)
}

// manyMessages reports whether a trigger that counts messages fires.
func (r CompactionRules) manyMessages(s *agent.State) bool {
	return slices.ContainsFunc(r.Trigger, func(a Amount) bool {
		return a.Type == "messages" && float64(len(shownMessages(s))) >= a.Value
	})
}

// shownMessages returns the messages of the log that requests still contain.
func shownMessages(s *agent.State) []*agent.Message {
	if s.View == nil || s.View.From == "" {
		return s.Messages
	}
	return s.Messages[max(slices.IndexFunc(s.Messages, func(m *agent.Message) bool { return m.ID == s.View.From }), 0):]
}

// Compact returns the view that shortens the conversation by a summary, keeping the parts that the rules protect. It is
// empty if that saves too little. With must, old tool output and more of the newest turns are dropped while space is
// short, and a rule-based summary is used if no model makes one. Unused summaries aren't requested.
func (r CompactionRules) Compact(ctx context.Context, s *agent.State, must bool) (agent.State, error) {
	shown, before := shownMessages(s), r.size(s)
	at := cutPoint(shown, r.keepFrom(shown))
	view := hiding(s, shown, at)
	if must {
		at, view = r.tight(s, shown, at, before)
	}
	gain := before - r.sizeAs(s, view)
	if at > 0 {
		gain -= TextTokens(summaryBlock(s, ""))
	}
	much := gain >= int(worthwhile*float64(before)) || r.manyMessages(s) && at >= int(worthwhile*float64(len(shown)))
	if gain <= 0 || !much && (!must || gain < int(negligible*float64(before))) {
		return agent.State{}, nil
	}
	if at > 0 {
		if err := r.summarise(ctx, s, view, shown[:at], gain/2, must); err != nil {
			return agent.State{}, err
		}
	}
	return r.written(view), nil
}

// tight lists the parts to drop under pressure: unprotected ones, then old tool output, then the oldest protected ones.
func (r CompactionRules) tight(s *agent.State, shown []*agent.Message, at, before int) (int, *agent.View) {
	target := roomy * r.room()
	if float64(before) <= target { // manual, or the window is smaller than expected
		target = (1 - worthwhile) * float64(before)
	}
	view := hiding(s, shown, at)
	if float64(r.sizeAs(s, view)) <= target {
		return at, view
	}
	view.Cut = oldOutputs(s, *view)
	if float64(r.sizeAs(s, view)) <= target {
		return at, view
	}
	if at = max(at, cutPoint(shown, newestFrom(shown, int(target/2)))); at > 0 {
		view = hiding(s, shown, at)
		view.Cut = oldOutputs(s, *view)
	}
	return at, view
}

func (r CompactionRules) written(v *agent.View) agent.State {
	patch := agent.State{View: v}
	if v.Plain != "" {
		text := v.Plain
		patch.SummaryText = &text
	}
	return patch
}

// keepFrom returns the start of the part that the rules protect.
func (r CompactionRules) keepFrom(msgs []*agent.Message) int {
	budget := r.Keep.Value
	switch r.Keep.Type {
	case "messages":
		return len(msgs) - int(min(max(budget, 1), float64(len(msgs))))
	case "fraction":
		budget *= float64(r.window())
	}
	return newestFrom(msgs, int(min(budget, 1<<40)))
}

// newestFrom returns the start of the newest messages within a number of tokens.
func newestFrom(msgs []*agent.Message, left int) int {
	for i, m := range slices.Backward(msgs) {
		if left -= tokens(m); left < 0 {
			return i + 1
		}
	}
	return 0
}

// cutPoint returns the nearest place at or before at where the log may be cut: not between a call and its results.
// Something must remain after it.
func cutPoint(msgs []*agent.Message, at int) int {
	at = max(min(at, len(msgs)-1), 0)
	for at > 0 && msgs[at].Type == agent.TypeTool {
		at--
	}
	return at
}

// oldOutputs returns all tool messages a view shows but the newest.
func oldOutputs(s *agent.State, v agent.View) []string {
	c := s.Clone()
	c.View = &v
	cut := slices.Clone(v.Cut)
	shown := shownMessages(&c)
	fresh := 0
	for _, m := range slices.Backward(shown) {
		if m.Type != agent.TypeTool {
			continue
		}
		if fresh++; fresh > freshResults && tokens(m) > 50 && !slices.Contains(cut, m.ID) {
			cut = append(cut, m.ID)
		}
	}
	return cut
}

// squeeze halves a request: older messages are dropped; the person's newest words, the notes at the end and whole
// groups of calls stay.
func squeeze(msgs []*agent.Message) []*agent.Message {
	total, left := tokensOf(msgs), 0
	at := len(msgs)
	for at > 0 && left+tokens(msgs[at-1]) <= total/2 {
		at--
		left += tokens(msgs[at])
	}
	at = min(at, len(msgs)-1)
	for at < len(msgs) && msgs[at].Type == agent.TypeTool { // its call is gone
		at++
	}
	out := slices.Clone(msgs[at:])
	if question := agent.LastGenuine(msgs); question != nil && !slices.Contains(out, question) {
		out = append([]*agent.Message{question}, out...)
	}
	for i, m := range out {
		if m.Type == agent.TypeTool && tokens(m) > 2000 {
			c := *m
			text := c.Content.String()
			c.Content = agent.Text(head(text, 2000) + fmt.Sprintf("\n[… %d characters left out]", len(text)))
			out[i] = &c
		}
	}
	if tokensOf(out) >= total || len(out) == 0 {
		return nil
	}
	return agent.PairToolCalls(out)
}

// Hidden counts the log's messages omitted from requests, and those included.
func Hidden(s *agent.State) (hidden, shown int) {
	shown = len(shownMessages(s))
	return len(s.Messages) - shown, shown
}

// Tokens estimates the tokens of the conversation in a request.
func Tokens(s *agent.State) int { return CompactionRules{}.size(s) }

// Amount is a length of conversation: a fraction of the model's window, tokens, or messages.
type Amount struct {
	Type  string  `yaml:"type" enum:"fraction|tokens|messages" required:"true"`
	Value float64 `yaml:"value" min:"0" required:"true"`
}

// Check returns the problem with an amount, or "".
func (a Amount) Check() string {
	if a.Type == "fraction" && a.Value > 1 {
		return fmt.Sprintf("a fraction must be from 0 to 1, not %v", a.Value)
	}
	return ""
}

// CompactionOptions shorten a long conversation for the model; the stored messages stay whole.
type CompactionOptions struct {
	Enabled   bool     `yaml:"enabled"`                          // false leaves only the guard against overflow
	ModelName string   `yaml:"model_name"`                       // empty = the run's model
	Trigger   []Amount `yaml:"trigger" one:"true"`               // any of them starts it
	Keep      Amount   `yaml:"keep"`                             // part that stays unsummarized
	Trim      int      `yaml:"trim_tokens_to_summarize" min:"0"` // token limit of the summary call's input; 0 = none
	Prompt    string   `yaml:"summary_prompt"`                   // empty = built in

	SkillFileReadToolNames []string `yaml:"skill_file_read_tool_names"`
}

// DefaultCompaction starts at four fifths of the window and keeps 20 messages.
func DefaultCompaction() CompactionOptions {
	return CompactionOptions{
		Enabled: true, Trigger: []Amount{{Type: "fraction", Value: 0.8}}, Keep: Amount{Type: "messages", Value: 20},
		Trim: 4000, SkillFileReadToolNames: []string{"read_file", "read", "view", "cat"},
	}
}
