package chat_test

import (
	"context"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func TestMain(m *testing.M) { agenttest.Main(m) }

// run starts a channel, until the end of the test.
func run(t *testing.T, s chattest.Setup, in *chattest.Inbox) chat.Channel {
	t.Helper()
	ch := must.Get(s.New(chat.Options{BaseURL: s.Fake.State().URL, FirstWait: 10 * time.Millisecond}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, in) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return ch
}
