package channels

import (
	"encoding/json"
	"fmt"
	"slices"

	"fawn/agent/channels/chat"
	"fawn/agent/channels/qrlogin"
)

// Provider is a supported chat app.
type Provider struct {
	Name    string
	Display string
	Fields  []Field
	// Experimental marks an adapter that could not be tested against the platform.
	Experimental bool
	// Warning is shown to the owner before switching it on; empty for none.
	Warning string
	Link    func(handle, code string) string // adds a code to a link to the bot; nil if codes are typed
	// Scan starts a sign-in by QR code, or resumes one from its state; nil if the platform has no such sign-in.
	Scan func(o chat.Options, state json.RawMessage) (qrlogin.Scanner, error)
	open func(k Keys, o chat.Options) (chat.Channel, error)
}

// ScanKey switches signing in by QR code on.
const ScanKey = "qrcode_login_enabled"

// Field is a credential that a bot needs.
type Field struct {
	Name, Label string
	Secret      bool
	Optional    bool
}

// Keys are the configured keys of a chat app.
type Keys interface {
	Text(key string) string
	Switch(key string, otherwise bool) bool
}

// Providers returns all supported chat apps in display order.
func Providers() []Provider {
	return append([]Provider{
		{Name: "telegram", Display: "Telegram", Link: telegramLink,
			Fields: []Field{secret("bot_token", "Bot token"),
				{Name: "bot_username", Label: "Bot username", Optional: true}},
			open: func(k Keys, o chat.Options) (chat.Channel, error) {
				return chat.NewTelegram(chat.TelegramConfig{Token: k.Text("bot_token"), Commands: offered(),
					Rich: k.Switch("rich_messages", false), Options: o})
			}},
		{Name: "slack", Display: "Slack",
			Fields: []Field{secret("bot_token", "Bot token"), secret("app_token", "App token")},
			open: func(k Keys, o chat.Options) (chat.Channel, error) {
				return chat.NewSlack(chat.SlackConfig{BotToken: k.Text("bot_token"), AppToken: k.Text("app_token"),
					Options: o})
			}},
		{Name: "discord", Display: "Discord", Fields: []Field{secret("bot_token", "Bot token")},
			open: func(k Keys, o chat.Options) (chat.Channel, error) {
				return chat.NewDiscord(chat.DiscordConfig{Token: k.Text("bot_token"),
					Threads: k.Switch("thread_mode", false), Options: o})
			}},
		{Name: "feishu", Display: "Feishu",
			Fields: []Field{plain("app_id", "App ID"), secret("app_secret", "App secret")},
			open: func(k Keys, o chat.Options) (chat.Channel, error) {
				return chat.NewFeishu(chat.FeishuConfig{AppID: k.Text("app_id"), AppSecret: k.Text("app_secret"),
					Domain: k.Text("domain"), Options: o})
			}},
		{Name: "dingtalk", Display: "DingTalk",
			Fields: []Field{plain("client_id", "Client ID"), secret("client_secret", "Client secret")},
			open: func(k Keys, o chat.Options) (chat.Channel, error) {
				return chat.NewDingTalk(chat.DingTalkConfig{ClientID: k.Text("client_id"),
					ClientSecret: k.Text("client_secret"), CardTemplate: k.Text("card_template_id"), Options: o})
			}},
		{Name: "wecom", Display: "WeCom",
			Fields: []Field{plain("bot_id", "Bot ID"), secret("bot_secret", "Bot secret")},
			open: func(k Keys, o chat.Options) (chat.Channel, error) {
				return chat.NewWeCom(chat.WeComConfig{BotID: k.Text("bot_id"), Secret: k.Text("bot_secret"),
					Options: o})
			}},
	}, weChat()...)
}

func plain(name, label string) Field { return Field{Name: name, Label: label} }

func secret(name, label string) Field { return Field{Name: name, Label: label, Secret: true} }

func telegramLink(handle, code string) string { return "https://t.me/" + handle + "?start=" + code }

// ProviderOf returns the chat app of a name.
func ProviderOf(name string) (Provider, bool) {
	all := Providers()
	i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return all[i], true
}

// Missing returns the labels of credentials that are not there.
func (p Provider) Missing(k Keys) (labels []string) {
	for _, f := range p.Fields {
		if !f.Optional && k.Text(f.Name) == "" {
			labels = append(labels, f.Label)
		}
	}
	return labels
}

// Open makes the bot. It makes no network call.
func (p Provider) Open(k Keys, o chat.Options) (chat.Channel, error) {
	ch, err := p.open(k, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Display, err)
	}
	return ch, nil
}

// offered returns the commands that apps suggest while a person types.
func offered() []chat.Command {
	return []chat.Command{{Name: "new", About: "Start a new conversation"},
		{Name: "stop", About: "Stop what I am doing"}, {Name: "again", About: "Send the last answer again"},
		{Name: "status", About: "What I am doing"}, {Name: "models", About: "Show or choose the model"},
		{Name: "memory", About: "How much I remember about you"}, {Name: "goal", About: "Set a goal"},
		{Name: "link", About: "This conversation in the browser"}, {Name: "help", About: "All commands"}}
}
