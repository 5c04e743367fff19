package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func telegram(t *testing.T) (*chattest.Telegram, chattest.Setup) {
	fake := chattest.NewTelegram(t)
	return fake, chattest.Setup{Fake: fake, Person: "4711", Group: "-100200300", Bold: "a bold word",
		Plain: "a bold word",
		New: func(o chat.Options) (chat.Channel, error) {
			return chat.NewTelegram(chat.TelegramConfig{Token: chattest.TelegramToken, Options: o,
				Commands: []chat.Command{{Name: "new", About: "start a new chat"}}})
		}}
}

func TestTelegram(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := telegram(t)
		return s
	})
}

func telegramRich(t *testing.T) (*chattest.Telegram, chattest.Setup) {
	fake, s := telegram(t)
	s.New = func(o chat.Options) (chat.Channel, error) {
		return chat.NewTelegram(chat.TelegramConfig{Token: chattest.TelegramToken, Rich: true, Options: o})
	}
	return fake, s
}

func TestTelegramRich(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := telegramRich(t)
		return s
	})
}

// TestTelegramShowsCompleteAnswersAsRichMessages, and as text where that is refused or too much.
func TestTelegramShowsCompleteAnswersAsRichMessages(t *testing.T) {
	fake, s := telegramRich(t)
	ch := must.Get(s.New(chat.Options{BaseURL: fake.State().URL}))(t)
	to := chat.Address{Chat: s.Person}
	ref := must.Get(ch.Send(t.Context(), to, chat.Post{Text: "…", Grows: true}))(t)
	const text = "# Plan <b>\n\nFirst *line*,\nsecond [here](https://example.org/?a=1&b=2) and [you](tg://user?id=1)\n\n" +
		"| a | b |\n|---|--:|\n| 1 & 2 | **3** |\n\n- [x] done\n- open\n  1. deep\n\n> said `x<y`\n\n---\n\n```go\nif a < b {\n}\n```\n" +
		"![picture](https://example.org/p.png) <script>alert(1)</script> @everyone"
	for _, c := range []struct {
		name, text string
		final      bool
		fault      chattest.Kind
		rich       string
	}{
		{"while it grows", text, false, "", ""},
		{"refused", text, true, chattest.Unformatted, ""},
		{"complete", text, true, "", `<h1>Plan &lt;b&gt;</h1><p>First <i>line</i>,<br>second ` +
			`<a href="https://example.org/?a=1&amp;b=2">here</a> and you</p><table bordered><tr><th>a</th>` +
			`<th align="right">b</th></tr><tr><td>1 &amp; 2</td><td align="right"><b>3</b></td></tr></table>` +
			`<ul><li><input type="checkbox" checked>done</li><li>open<ol><li>deep</li></ol></li></ul>` +
			`<blockquote><p>said <code>x&lt;y</code></p></blockquote><hr/>` +
			"<pre><code class=\"language-go\">if a &lt; b {\n}</code></pre><p>" +
			`<a href="https://example.org/p.png">picture</a> &lt;script&gt;alert(1)&lt;/script&gt; @everyone</p>`},
		{"again", text, true, "", "<h1>Plan"},
		{"too many blocks", strings.Repeat("- x\n", 501), true, "", ""},
		{"too deep", strings.Repeat("> ", 17) + "x", true, "", ""},
		{"too wide", strings.Repeat("|x", 21) + "|\n" + strings.Repeat("|-", 21) + "|", true, "", ""},
	} {
		if c.fault != "" {
			fake.State().Fail(chattest.Fault{Op: "edit", Kind: c.fault})
		}
		if err := ch.Edit(t.Context(), ref, chat.Post{Text: c.text, Grows: true, Final: c.final}); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := fake.State().Shown(s.Person)[0]
		if c.rich == "" && got.HTML != "" || !strings.HasPrefix(got.HTML, c.rich) || got.Text == "" {
			t.Errorf("%s: the message is %+v, want %s", c.name, got, c.rich)
		}
	}
}

// FuzzRichText: whatever it is made of, a rich message is one that the platform takes.
func FuzzRichText(f *testing.F) {
	f.Add("# a\n\n- [ ] b\n\n| a | b |\n|--|--|\n| c | `d` |\n\n> <b>x</b> [l](tg://user?id=1)")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 || strings.TrimSpace(text) == "" {
			return
		}
		fake, s := telegramRich(t)
		ch := must.Get(s.New(chat.Options{BaseURL: fake.State().URL}))(t)
		ref, err := ch.Send(t.Context(), chat.Address{Chat: s.Person}, chat.Post{Text: "…", Grows: true})
		if err == nil {
			err = ch.Edit(t.Context(), ref, chat.Post{Text: text, Grows: true, Final: true})
		}
		if err != nil && chat.Split(text, ch.Limits())[0].Text == text {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestTelegramTopics(t *testing.T) {
	fake, s := telegram(t)
	in := chattest.NewInbox()
	ch := run(t, s, in)
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "alone"})
	alone := in.WaitText(t, "alone")
	if alone.Mentioned || alone.Topic != "m"+alone.Message {
		t.Errorf("%+v", alone)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "reply", ReplyTo: alone.Message})
	u := in.WaitText(t, "reply")
	if u.Mentioned || u.Topic != alone.Topic || len(u.Under) != 1 || u.Under[0] != alone.Message {
		t.Errorf("%+v", u)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, Topic: "77", From: s.Person, Text: "forum"})
	forum := in.WaitText(t, "forum")
	ref := must.Get(ch.Send(t.Context(), forum.Address, chat.Post{Text: "hi", ReplyTo: forum.Message}))(t)
	if got := fake.State().Shown(s.Group); got[0].Topic != "77" || got[0].ReplyTo != forum.Message {
		t.Errorf("%+v", got)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "to the bot", ReplyTo: ref.Message})
	if u := in.WaitText(t, "to the bot"); !u.Mentioned {
		t.Errorf("an answer to the bot is %+v", u)
	}
	if got := fake.Commands(); !strings.Contains(got, `"command":"new"`) {
		t.Errorf("the commands are %s", got)
	}
}

func TestTelegramWaitsForTheOtherProgram(t *testing.T) {
	fake, s := telegram(t)
	fake.State().Fail(chattest.Fault{Op: "poll", Kind: chattest.Elsewhere})
	in := chattest.NewInbox()
	ch := must.Get(s.New(chat.Options{BaseURL: fake.State().URL}))(t)
	done := make(chan error, 1)
	stop, cancel := context.WithCancel(t.Context())
	go func() { done <- ch.Run(stop, in) }()
	status := in.WaitStatus(t, func(err error) bool { return err != nil })
	cancel()
	if err := <-done; !errors.Is(err, stop.Err()) {
		t.Error(err)
	}
	f, ok := errors.AsType[*chat.Fatal](status)
	if !ok || f.Retry != time.Minute || !strings.Contains(f.Reason, "Another program") {
		t.Errorf("the status is %#v", status)
	}
}

func TestTelegramTokensAreJudged(t *testing.T) {
	for _, token := range []string{"", "a/b", "a b", "a?b", "x\n"} {
		_, err := chat.NewTelegram(chat.TelegramConfig{Token: token})
		if err == nil || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v", token, err)
		}
	}
	_, err := chat.NewTelegram(chat.TelegramConfig{Token: "1:a", Options: chat.Options{BaseURL: "http://example.org"}})
	if err == nil {
		t.Error("the token would go over the network in the clear")
	}
}
