package route

import (
	"context"

	"fawn/agent/channels"
	"fawn/agent/channels/chat"
)

// Channels are the bots of chat apps and what decides which of them there are.
type Channels struct {
	Hub   *channels.Hub
	Apply func()                                                                       // follows the configuration at once
	Try   func(ctx context.Context, provider string, k channels.Keys) (chat.Me, error) // signs in, and stores nothing
}
