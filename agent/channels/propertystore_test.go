package channels_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/web/e2e/gate"
)

// play is what a model says in one run: words of steps, each but the last of which ends in a call. It waits before some
// words until it's told to go on.
type play struct {
	steps [][]string
	pause map[string]bool // "step.word"
	at    chan struct{}
	on    chan struct{}
}

// stage has the plays, by the message that asks for them.
type stage struct {
	mu    sync.Mutex
	plays map[string]*play
}

func (s *stage) model(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	var p *play
	step := 0
	for _, m := range req.Messages {
		switch m.Type {
		case agent.TypeHuman:
			s.mu.Lock()
			p, step = s.plays[m.Content.String()], 0
			s.mu.Unlock()
		case agent.TypeAI:
			step++
		}
	}
	for i, word := range p.steps[step] {
		if p.pause[fmt.Sprint(step, ".", i)] {
			p.at <- struct{}{}
			<-p.on
		}
		if !yield(agent.Chunk{Reasoning: "X thought"}, nil) || !yield(agent.Chunk{Text: word}, nil) {
			return
		}
	}
	if step < len(p.steps)-1 {
		yield(agent.Chunk{Calls: []agent.CallDelta{{ID: "c" + agentID(), Name: "none", Args: `{"X":"X"}`}}}, nil)
		yield(agent.Chunk{Finish: "tool_calls"}, nil)
		return
	}
	yield(agent.Chunk{Finish: "stop"}, nil)
}

// TestAChatEndsTheSameWhateverHappens: whatever a run says, whenever the deliverers are stopped and begin anew with
// what is stored, and whichever answers of the platform are lost, the chat ends with the text of the run, each piece
// once and in order, and never shows anything that is not for people.
func TestAChatEndsTheSameWhateverHappens(t *testing.T) {
	p := newPlatform(t)
	limits := chat.Limits{Max: 40, Count: utf8.RuneCountInString, CanEdit: true}
	s := &stage{plays: map[string]*play{}}
	set := setup{bot: newBot(p.url), model: modelOf(s.model)}
	set.bot.(*bot).limits = limits
	w := start(t, set)
	n := 0
	checks := flag.Lookup("rapid.checks").Value
	usual := checks.String()
	t.Cleanup(func() { checks.Set(usual) })
	must.Do(t, checks.Set(strconv.Itoa(gate.Pick(25, 100, 100))))
	rapid.Check(t, func(r *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-w]{1,9}[ \n]`), 1, 12)
		one := &play{pause: map[string]bool{}, at: make(chan struct{}), on: make(chan struct{})}
		restarts := []bool{}
		whole := ""
		for step := range rapid.IntRange(1, 3).Draw(r, "steps") {
			said := words.Draw(r, "words")
			one.steps = append(one.steps, said)
			whole += "\n\n" + strings.Join(said, "")
			for i := range said {
				if rapid.IntRange(0, 5).Draw(r, "pause") == 0 {
					one.pause[fmt.Sprint(step, ".", i)] = true
					restarts = append(restarts, rapid.Bool().Draw(r, "restart"))
				}
			}
		}
		lost := 0                                       // the call whose answer is lost, which takes a second
		if rapid.IntRange(0, 11).Draw(r, "loss") == 0 { // after which it's tried again
			lost = rapid.IntRange(1, 8).Draw(r, "lost")
		}
		n++
		who := fmt.Sprint("person", n)
		s.mu.Lock()
		s.plays[who] = one
		s.mu.Unlock()
		p.mu.Lock()
		p.fault = func(op string) string {
			if op == "typing" {
				return ""
			}
			if lost--; lost == 0 {
				return "drop"
			}
			return ""
		}
		p.mu.Unlock()
		p.say(who, who)
		for _, restart := range restarts {
			<-one.at
			if restart {
				w.hub.Close()
				w.begin(set)
			}
			one.on <- struct{}{}
		}
		until(t, func() string {
			if len(p.chat(who)) == 0 {
				return "nothing is answered"
			}
			return ""
		})
		w.settled(t)
		var want []string
		for _, piece := range chat.Split(strings.TrimPrefix(whole, "\n\n"), limits) {
			want = append(want, strings.TrimSpace(piece.Text))
		}
		var got []string
		for _, m := range p.chat(who) {
			got = append(got, strings.TrimSpace(m))
		}
		if !slices.Equal(got, want) {
			r.Fatalf("the chat ends with %q, want %q", got, want)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range p.messages {
			for _, text := range m.Texts {
				if m.Chat == who && strings.Contains(text, "X") {
					r.Fatalf("people saw %q", text)
				}
			}
		}
	})
}
