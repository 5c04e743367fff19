package channels_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
	"fawn/store"
)

// TestAnAnswerThatWasNotTakenIsSentAgain, also where messages are sent at most once: the platform has said that it did
// not take it.
func TestAnAnswerThatWasNotTakenIsSentAgain(t *testing.T) {
	for _, name := range []string{"dingtalk", "wecom", "wechat"} {
		for _, kind := range []chattest.Kind{chattest.Broken, chattest.Rate} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				t.Parallel() // it waits a second
				a := apps(t, name)
				w := a.world(t, name)
				a.fake.State().Fail(chattest.Fault{Op: "send", Kind: kind, After: time.Second})
				a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "hello"})
				a.shows(t, "4711", "re: hello")
				w.settled(t)
			})
		}
	}
}

// TestAnAnswerThatMayBeMissingIsNotSentTwiceAndSaid, in the next one and only there.
func TestAnAnswerThatMayBeMissingIsNotSentTwiceAndSaid(t *testing.T) {
	for _, name := range []string{"dingtalk", "wecom", "wechat"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits a second
			a := apps(t, name)
			w := a.world(t, name)
			a.fake.State().Fail(chattest.Fault{Op: "send", Kind: chattest.Lost})
			a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "one"})
			until(t, func() string {
				lost, err := w.db.Undelivered(t.Context(), 1)
				if err != nil || len(lost) != 1 || lost[0].State != store.OutboundUnknown {
					return fmt.Sprintf("%+v, %v", lost, err)
				}
				return ""
			})
			a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "two"})
			a.fake.Say(chattest.Said{From: "4712", Name: "q", Text: "other"})
			a.shows(t, "4711", "re: one", "My last message may be missing: /again\n\nre: two")
			a.shows(t, "4712", "re: other")
			w.settled(t)
			a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "three"})
			a.shows(t, "4711", "re: one", "My last message may be missing: /again\n\nre: two", "re: three")
			w.settled(t)
		})
	}
}

// world is a server with the bot of a stand-in.
func (a app) world(t *testing.T, name string) *world {
	t.Helper()
	bot := must.Get(a.keys.open(name, a.fake.State().URL))(t)
	return start(t, setup{provider: name, bot: bot})
}

// shows waits until a chat shows these messages.
func (a app) shows(t *testing.T, person string, want ...string) {
	t.Helper()
	until(t, func() string {
		var got []string
		for _, m := range a.fake.State().Shown(a.fake.Chat(person)) {
			if m.Text != "…" {
				got = append(got, m.Text)
			}
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			return fmt.Sprintf("%s shows %q, want %q", person, got, want)
		}
		return ""
	})
}

// TestAFileIsThereOnceWhateverIsLost: where a file can be put into a message that is there, an answer that was lost
// costs no second one.
func TestAFileIsThereOnceWhateverIsLost(t *testing.T) {
	a := apps(t, "telegram")
	w := a.world(t, "telegram")
	a.fake.State().Fail(chattest.Fault{Op: "attach", Kind: chattest.Lost},
		chattest.Fault{Op: "attach", Kind: chattest.Broken})
	a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "file please"})
	w.awaitFile(t, a, 2)
	w.settled(t)
	got := a.fake.State().Shown("4711")
	if len(got) != 2 || got[0].Text != "re: file please" || got[1].File == nil || got[1].File.Name != "a.txt" ||
		string(got[1].File.Data) != "made" || a.fake.State().Calls("attach") != 3 {
		t.Errorf("the chat shows %+v after %d calls", got, a.fake.State().Calls("attach"))
	}
}

// leaves is a channel that holds its nth Send until the server stops: the platform has the message, but the server
// never learns that.
type leaves struct {
	chat.Channel
	n     atomic.Int64
	there chan struct{}
}

// Limits are so small that a few lines of text take two messages.
func (l *leaves) Limits() chat.Limits {
	limits := l.Channel.Limits()
	limits.Max = 100
	return limits
}

func (l *leaves) Send(ctx context.Context, to chat.Address, p chat.Post) (chat.Ref, error) {
	ref, err := l.Channel.Send(ctx, to, p)
	if l.n.Add(-1) == 0 && err == nil {
		close(l.there)
		<-ctx.Done()
		return chat.Ref{}, ctx.Err()
	}
	return ref, err
}

// TestTheNextServerSendsNoSecondMessage covers platforms that recognise a message by its key, for placeholders and
// text.
func TestTheNextServerSendsNoSecondMessage(t *testing.T) {
	long := "slow " + strings.Repeat("word ", 30) + "end"
	for _, name := range []string{"discord", "feishu"} {
		for n, text := range map[int64]string{1: "slow one", 2: long} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				t.Parallel()
				a := apps(t, name)
				bot := must.Get(a.keys.open(name, a.fake.State().URL))(t)
				ends := &leaves{Channel: bot, there: make(chan struct{})}
				ends.n.Store(n)
				s := setup{provider: name, bot: ends, dir: t.TempDir()}
				w := start(t, s)
				a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: text})
				<-ends.there
				w.close()
				w = start(t, s)
				w.settled(t)
				var got []string
				for _, m := range a.fake.State().Shown(a.fake.Chat("4711")) {
					got = append(got, strings.TrimSpace(m.Text))
				}
				if len(got) != int(n) || strings.Join(got, " ") != "re: "+text {
					t.Errorf("the chat shows %q", got)
				}
			})
		}
	}
}

// TestAnAnswerThatIsAskedForAgainHasItsFiles covers platforms that recognise a file by its key.
func TestAnAnswerThatIsAskedForAgainHasItsFiles(t *testing.T) {
	for _, name := range []string{"discord", "feishu"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := apps(t, name)
			w := a.world(t, name)
			a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "file please"})
			w.awaitFile(t, a, 2)
			w.settled(t)
			a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "/again"})
			w.awaitFile(t, a, 4)
			w.settled(t)
			a.shows(t, "4711", "re: file please", "", "re: file please", "")
		})
	}
}

// awaitFile waits until the chat has so many messages, the last of which is a file.
func (w *world) awaitFile(t *testing.T, a app, n int) {
	t.Helper()
	until(t, func() string {
		got := a.fake.State().Shown(a.fake.Chat("4711"))
		if len(got) < n || got[len(got)-1].File == nil {
			return fmt.Sprintf("the chat shows %+v", got)
		}
		return ""
	})
}
