package channels_test

import (
	"context"
	"strings"
	"testing"

	"fawn/agent"
)

// TestWaitingMessagesBecomeOneTurn: those that came while another was under way.
func TestWaitingMessagesBecomeOneTurn(t *testing.T) {
	p := newPlatform(t)
	wait := make(chan struct{})
	w := start(t, setup{bot: newBot(p.url), model: modelOf(func(ctx context.Context, req *agent.Request,
		yield func(agent.Chunk, error) bool) {
		select {
		case <-wait:
		case <-ctx.Done():
		}
		parrot(ctx, req, yield)
	})})
	p.say("ada", "slow one")
	until(t, func() string {
		if p.orphans("ada") == 0 {
			return "no placeholder"
		}
		return ""
	})
	p.say("ada", "two")
	p.say("ada", "three")
	p.say("ada", "four")
	p.say("ada", "/status")
	until(t, func() string {
		if got := p.chat("ada"); len(got) != 1 || !strings.HasSuffix(got[0], "\nWaiting messages: 3") {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	told := p.chat("ada")[0]
	close(wait)
	p.await(t, "ada", "re: slow one", told, "re: two + three + four")
	w.settled(t)
}
