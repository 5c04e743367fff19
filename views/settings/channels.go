package settings

import (
	"context"
	"strconv"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/part"
)

// ChannelApp renders one chat app of the section, which the page reloads while a code is pending.
func ChannelApp(lang string, a views.ChannelApp) templ.Component { return i18n.In(lang, channelApp(a)) }

// ChannelTest renders the result of signing in with credentials.
func ChannelTest(lang string, t views.ChannelTest) templ.Component {
	return i18n.In(lang, channelTest(t))
}

// botPages returns where the platforms have their bots made.
func botPages() map[string]string {
	return map[string]string{
		"telegram": "https://t.me/BotFather",
		"slack":    "https://api.slack.com/apps?new_app=1",
		"discord":  "https://discord.com/developers/applications",
		"feishu":   "https://open.feishu.cn/app",
		"dingtalk": "https://open-dev.dingtalk.com/",
		"wecom":    "https://work.weixin.qq.com/",
	}
}

// slackManifest is the manifest of a suitable Slack app.
const slackManifest = `{
  "display_information": {"name": "Fawn"},
  "features": {
    "app_home": {"messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
    "bot_user": {"display_name": "Fawn", "always_online": true}
  },
  "oauth_config": {
    "scopes": {
      "bot": ["app_mentions:read", "channels:history", "chat:write", "files:read", "files:write", "groups:history",
        "im:history", "im:write", "mpim:history", "reactions:read", "reactions:write"]
    }
  },
  "settings": {
    "event_subscriptions": {
      "bot_events": ["app_mention", "message.channels", "message.groups", "message.im", "message.mpim", "reaction_added"]
    },
    "socket_mode_enabled": true
  }
}`

// channelHow explains how to create a bot on its platform; "" without instructions.
func channelHow(ctx context.Context, name string) string {
	key := "channels.how." + name
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return ""
}

// channelLacks lists missing permissions, and where to grant them.
func channelLacks(ctx context.Context, t views.ChannelTest) string {
	text := i18n.C(ctx, "channels.lacks")
	if key := "channels.lacks." + t.App; i18n.C(ctx, key) != key {
		text += " " + i18n.C(ctx, key)
	}
	return text
}

// channelLabel returns the label of a credential.
func channelLabel(ctx context.Context, f views.ChannelField) string {
	key := "channels.field." + f.Name
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return f.Label
}

func channelDot(a views.ChannelApp) string {
	switch a.State {
	case views.ChannelConnected:
		return "good"
	case views.ChannelFailed:
		return "failed"
	case views.ChannelStarting:
		return "running"
	}
	return ""
}

func channelState(ctx context.Context, a views.ChannelApp) string {
	if a.State == views.ChannelConnected && a.Bot != "" {
		return i18n.C(ctx, "channels.as", views.Safe(a.Bot))
	}
	return i18n.C(ctx, "channels.state."+string(a.State))
}

// set reports whether a bot is configured.
func set(a views.ChannelApp) bool { return a.State != views.ChannelNew && a.State != views.ChannelOff }

func pairedURL(a views.ChannelApp) string {
	return views.ChannelURL(a.Name, "paired") + "?since=" + strconv.FormatInt(a.Offer.Since, 10)
}

// personText returns an account besides its name.
func personText(p views.ChannelPerson) string {
	if p.Workspace != "" {
		return views.Safe(p.Account + " · " + p.Workspace)
	}
	return views.Safe(p.Account)
}

// undeliveredTo returns the chat that an answer did not reach.
func undeliveredTo(ctx context.Context, u views.Undelivered) string {
	return part.AppName(ctx, u.App) + " · " + views.Safe(u.Chat)
}

// ChannelScan renders the sign-in by QR code of an app.
func ChannelScan(lang string, a views.ChannelApp) templ.Component {
	return i18n.In(lang, channelScan(a))
}

func scanBox(q views.QR) string { return "0 0 " + strconv.Itoa(q.Size) + " " + strconv.Itoa(q.Size) }

// scanTrigger makes scripts poll until digits must be entered.
func scanTrigger(s views.ChannelScan) string {
	if s.Digits {
		return "submit"
	}
	return "load delay:1s, submit"
}

// scanText describes the progress of a sign-in.
func scanText(ctx context.Context, s views.ChannelScan) string {
	if s.Problem != "" {
		key := "channels.scan.problem." + s.Problem
		if text := i18n.C(ctx, key); text != key {
			return text
		}
	}
	return i18n.C(ctx, "channels.scan."+s.State)
}
