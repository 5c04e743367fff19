//go:build !nowechat

package channels

import (
	"encoding/json"

	"fawn/agent/channels/chat"
	"fawn/agent/channels/qrlogin"
)

// weChat adds WeChat, unless Fawn is built with the tag nowechat.
func weChat() []Provider {
	return []Provider{{Name: "wechat", Display: "WeChat", Experimental: true,
		Fields:  []Field{secret("bot_token", "Bot token")},
		Warning: "WeChat's protocol for bots is not documented by WeChat and may end any day.",
		Scan: func(o chat.Options, state json.RawMessage) (qrlogin.Scanner, error) {
			return chat.NewWeChatScan(o, state)
		},
		open: func(k Keys, o chat.Options) (chat.Channel, error) {
			return chat.NewWeChat(chat.WeChatConfig{Token: k.Text("bot_token"), BotID: k.Text("ilink_bot_id"),
				CDN: k.Text("cdn_base_url"), Options: o})
		}}}
}
