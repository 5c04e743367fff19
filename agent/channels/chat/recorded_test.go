package chat_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

// TestEveryRecordedCallIsMade holds recordings and adapters together: a call that a stand-in has no recording of is
// refused in every test, and here each adapter makes all that are recorded.
func TestEveryRecordedCallIsMade(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(t *testing.T) chattest.Setup
		more  func(t *testing.T, s chattest.Setup, in *chattest.Inbox, ch chat.Channel)
	}{
		{"telegram", func(t *testing.T) chattest.Setup { _, s := telegram(t); return s }, nil},
		{"slack", func(t *testing.T) chattest.Setup { _, s := slack(t); return s }, nil},
		{"discord", func(t *testing.T) chattest.Setup { _, s := discord(t, true); return s }, discordReconnects},
		{"feishu", func(t *testing.T) chattest.Setup { _, s := feishu(t); return s }, nil},
		{"dingtalk", func(t *testing.T) chattest.Setup { _, s := dingTalkCards(t, chattest.DingTalkTemplate); return s }, nil},
		{"wecom", func(t *testing.T) chattest.Setup {
			_, s := weCom(t)
			open := s.New
			s.New = func(o chat.Options) (chat.Channel, error) {
				o.Beat = 100 * time.Millisecond
				return open(o)
			}
			return s
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := c.setup(t)
			in := chattest.NewInbox()
			ch := run(t, s, in)
			in.WaitStatus(t, func(err error) bool { return err == nil }) // before it, messages go to the check of the connection
			must.Get(ch.Check(t.Context()))(t)
			s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "alone", File: &chattest.Sent{Name: "a.txt", Data: []byte("x")}})
			u := in.WaitFiles(t, 1)
			must.Report(t, ch.Fetch(t.Context(), u.Files[0], io.Discard))
			converse(t, ch, u.Address, "")
			s.Fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Name: "Ada", Text: "together", Mention: true})
			g := in.WaitText(t, "together")
			converse(t, ch, g.Address, g.Message)
			if x, ok := ch.(chat.Examiner); ok {
				must.Try(x.Examine(t.Context()))(t)
			}
			if c.more != nil {
				c.more(t, s, in, ch)
			}
			if left := s.Fake.State().WaitMade(t); len(left) > 0 {
				t.Errorf("recorded, but not made: %q", left)
			}
		})
	}
}

// converse makes the calls of an answer with files.
func converse(t *testing.T, ch chat.Channel, to chat.Address, reply string) {
	t.Helper()
	must.Report(t, ch.Typing(t.Context(), to))
	data := []byte("x")
	file := func(name, kind string, image bool) chat.File {
		return chat.File{Name: name, Type: kind, Size: 1, Image: image, ReplyTo: reply, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}}
	}
	ref := must.Get(ch.Send(t.Context(), to, chat.Post{Text: "…", Key: fmt.Sprint("a", to), ReplyTo: reply, Grows: true}))(t)
	if ch.Limits().CanEdit {
		for _, p := range []chat.Post{{Text: "words", Grows: true}, {Text: "more *words*", Grows: true, Final: true},
			{Text: "all words", Grows: true, Final: true}} {
			must.Report(t, ch.Edit(t.Context(), ref, p))
		}
	}
	if at, ok := ch.(chat.Attacher); ok {
		must.Report(t, at.Attach(t.Context(), ref, file("b.txt", "text/plain", false)))
	}
	for _, f := range []chat.File{file("a.txt", "text/plain", false), file("a.png", "image/png", true)} {
		if _, err := ch.Upload(t.Context(), to, f, fmt.Sprint(f.Name, to)); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// discordReconnects resumes a session, and loses one.
func discordReconnects(t *testing.T, s chattest.Setup, in *chattest.Inbox, _ chat.Channel) {
	fake := s.Fake.(*chattest.Discord)
	fake.Cut()
	fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "resumed"})
	in.WaitText(t, "resumed")
	fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "missed"})
	fake.Forget()
	fake.Cut()
	in.WaitText(t, "missed")
}
