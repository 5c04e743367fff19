//go:build nowechat

package chat_test

import (
	"testing"

	"fawn/agent/channels/chat/chattest"
)

func weChatSetups() map[string]func(*testing.T) chattest.Setup { return nil }

func weChatEvents() []events { return nil }
