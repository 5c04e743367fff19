package chat_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

// setups are all platforms.
func setups() map[string]func(*testing.T) chattest.Setup {
	all := weChatSetups()
	if all == nil {
		all = map[string]func(*testing.T) chattest.Setup{}
	}
	maps.Copy(all, map[string]func(*testing.T) chattest.Setup{
		"telegram": func(t *testing.T) chattest.Setup { _, s := telegram(t); return s },
		"slack":    func(t *testing.T) chattest.Setup { _, s := slack(t); return s },
		"discord":  func(t *testing.T) chattest.Setup { _, s := discord(t, false); return s },
		"feishu":   func(t *testing.T) chattest.Setup { _, s := feishu(t); return s },
		"dingtalk": func(t *testing.T) chattest.Setup { _, s := dingTalk(t); return s },
		"wecom":    func(t *testing.T) chattest.Setup { _, s := weCom(t); return s },
	})
	return all
}

// TestASilentConnectionIsMadeAnew: nothing says that it is dead, as after a machine has slept.
func TestASilentConnectionIsMadeAnew(t *testing.T) {
	for name, setup := range setups() {
		t.Run(name, func(t *testing.T) {
			s := setup(t)
			wire := chattest.NewWire(t, s.Fake.State())
			in := chattest.NewInbox()
			beat := 300 * time.Millisecond
			if name == "telegram" || s.Unconfirmed { // it counts in seconds; or what a busy machine cuts off is lost
				beat = time.Second
			}
			runWith(t, s, in, chat.Options{Beat: beat})
			s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "before"})
			in.WaitText(t, "before")
			if !s.Unconfirmed {
				s.Fake.State().WaitConfirmed("before")
			}
			checks := s.Fake.State().Calls("check")
			wire.Freeze()
			in.WaitStatus(t, func(err error) bool { return err != nil })
			if s.Unconfirmed { // what is written to the old connection is lost
				s.Fake.State().WaitAgain(checks + 1)
			}
			s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "after"})
			in.WaitText(t, "after")
			if n := len(in.Updates()); n != 2 {
				t.Errorf("two messages became %d", n)
			}
		})
	}
}

// runWith starts a channel with options, until the end of the test, and gives what Run ends with.
func runWith(t *testing.T, s chattest.Setup, in *chattest.Inbox, o chat.Options) <-chan error {
	t.Helper()
	o.BaseURL, o.FirstWait = s.Fake.State().URL, 10*time.Millisecond
	ch := must.Get(s.New(o))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended <- ch.Run(ctx, in)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return ended
}

// fatal waits for the end of a channel that nothing but its owner can help.
func fatal(t *testing.T, ended <-chan error, reason, remedy string) {
	t.Helper()
	select {
	case err := <-ended:
		f, ok := errors.AsType[*chat.Fatal](err)
		if !ok || f.Retry != 0 || !strings.Contains(f.Reason, reason) || !strings.Contains(f.Remedy, remedy) {
			t.Errorf("it ended with %#v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

func TestSlackNamesTheScopeAndTheSwitch(t *testing.T) {
	fake, s := slack(t)
	fake.State().Fail(chattest.Fault{Op: "check", Kind: chattest.Forbidden})
	fatal(t, runWith(t, s, chattest.NewInbox(), chat.Options{}), "chat:write", "install the app")
	fake, s = slack(t)
	in := chattest.NewInbox()
	ended := runWith(t, s, in, chat.Options{})
	in.WaitStatus(t, func(err error) bool { return err == nil })
	fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "hello"})
	in.WaitText(t, "hello")
	fake.SwitchOff(t.Context())
	fatal(t, ended, "Socket Mode", "Switch it on")
}

func TestFeishuNamesTheLongConnection(t *testing.T) {
	fake, s := feishu(t)
	fake.State().Fail(chattest.Fault{Op: "link", Kind: chattest.Forbidden})
	fatal(t, runWith(t, s, chattest.NewInbox(), chat.Options{}), "long connection", "Choose the long connection")
}

// TestDiscordSavesItsSessions: without any left for today it waits, instead of having its token reset.
func TestDiscordSavesItsSessions(t *testing.T) {
	fake, s := discord(t, false)
	fake.Exhaust()
	in := chattest.NewInbox()
	runWith(t, s, in, chat.Options{})
	err := in.WaitStatus(t, func(err error) bool { return err != nil })
	if r, ok := errors.AsType[*chat.Rate](err); !ok || r.After < time.Minute {
		t.Errorf("the status is %#v", err)
	}
	if began, _ := fake.Sessions(); began != 0 {
		t.Errorf("%d sessions began", began)
	}
}
