package channels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/store"
)

func TestAMessageIsAnsweredInItsChat(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "hello there")
	p.await(t, "ada", "re: hello there")
	p.say("ada", "and again")
	p.await(t, "ada", "re: hello there", "re: and again")
	w.settled(t)
	want := []string{"human:hello there", "ai:re: hello there", "human:and again", "ai:re: and again"}
	if got := w.texts(t, "ada", ""); !slices.Equal(got, want) {
		t.Errorf("the thread has %q, want %q", got, want)
	}
	if n := p.orphans("ada"); n != 0 {
		t.Errorf("%d placeholders are left", n)
	}
}

func TestAnUpdateDeliveredAgainIsAnsweredOnce(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	for range 3 {
		p.write(chat.Update{ID: "same", Address: chat.Address{Chat: "ada"}, Sender: chat.Person{ID: "ada"},
			Text: "once"})
	}
	p.say("ada", "last")
	until(t, func() string {
		if got := p.chat("ada"); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], "last") {
			return "not answered yet"
		}
		return ""
	})
	w.settled(t)
	if got := strings.Join(p.chat("ada"), "|"); strings.Count(got, "once") != 1 {
		t.Errorf("the chat shows %q", got)
	}
}

func TestStrangersAreRefusedOnceAndPairedWithACode(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url), settings: func(s *channels.Settings) { s.RequireBound = true }})
	p.say("eve", "let me in")
	p.say("eve", "please")
	until(t, func() string {
		if got := p.chat("eve"); len(got) != 1 || !strings.Contains(got[0], "connected account") {
			return "eve reads " + strings.Join(got, "|")
		}
		return ""
	})
	code, _ := must.Get2(w.hub.Code(t.Context(), "owner-1", "telegram"))(t)
	p.say("ada", "/start "+code)
	p.await(t, "ada", "Your account is connected. Write to me, or send /help.")
	p.say("ada", "hi")
	p.await(t, "ada", "Your account is connected. Write to me, or send /help.", "re: hi")
	p.say("eve", "/connect "+code) // used
	until(t, func() string {
		if got := p.chat("eve"); len(got) != 2 || !strings.Contains(got[1], "not valid") {
			return "eve reads " + strings.Join(got, "|")
		}
		return ""
	})
	w.settled(t)
	c, err := w.db.ChannelChat(t.Context(), "telegram", "ada", "")
	if err != nil || c.Owner != "owner-1" {
		t.Fatalf("the chat belongs to %q: %v", c.Owner, err)
	}
	th, err := w.db.Thread(t.Context(), c.Thread)
	if err != nil || th.Owner != "owner-1" ||
		!strings.Contains(string(th.Metadata), `"channel_source":{"chat_id":"ada","connection_id"`) {
		t.Errorf("thread of %s: %s, %v", th.Owner, th.Metadata, err)
	}
}

func TestACodeInAGroupIsBurnt(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url), settings: func(s *channels.Settings) { s.RequireBound = true }})
	code, _ := must.Get2(w.hub.Code(t.Context(), "owner-1", "telegram"))(t)
	p.write(chat.Update{Address: chat.Address{Chat: "g", Topic: "1", Group: true}, Sender: chat.Person{ID: "ada"},
		Text: "/connect " + code})
	until(t, func() string {
		if got := p.chat("g"); len(got) != 1 || !strings.Contains(got[0], "Never send a code") {
			return "the group reads " + strings.Join(got, "|")
		}
		return ""
	})
	p.say("ada", "/connect "+code)
	until(t, func() string {
		if got := p.chat("ada"); len(got) != 1 || !strings.Contains(got[0], "not valid") {
			return "ada reads " + strings.Join(got, "|")
		}
		return ""
	})
}

func TestCommands(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "first")
	p.await(t, "ada", "re: first")
	w.settled(t)
	one := must.Get(w.db.ChannelChat(t.Context(), "telegram", "ada", ""))(t)
	p.say("ada", "/new")
	p.await(t, "ada", "re: first", "This is a new conversation.")
	p.say("ada", "second")
	p.await(t, "ada", "re: first", "This is a new conversation.", "re: second")
	w.settled(t)
	if two, err := w.db.ChannelChat(t.Context(), "telegram", "ada", ""); err != nil || two.Thread == one.Thread {
		t.Errorf("/new kept the thread: %v", err)
	}
	p.say("ada", "/again")
	p.await(t, "ada", "re: first", "This is a new conversation.", "re: second", "re: second")
	p.say("bob", "/models large")
	p.await(t, "bob", "This chat uses large now.")
	p.say("bob", "/nonsense")
	until(t, func() string {
		if got := p.chat("bob"); len(got) != 2 || !strings.Contains(got[1], "/again") {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	w.settled(t)
}

// TestBotsSpeakTheLanguageOfThePerson: where the app tells it, else that of the server.
func TestBotsSpeakTheLanguageOfThePerson(t *testing.T) {
	p := newPlatform(t)
	lang := ""
	w := start(t, setup{bot: newBot(p.url), settings: func(s *channels.Settings) { s.Lang = lang }})
	write := func(who, lang, text string) {
		p.write(chat.Update{Address: chat.Address{Chat: who}, Sender: chat.Person{ID: who, Name: who, Lang: lang}, Text: text})
	}
	write("li", "zh-hans", "/new")
	p.await(t, "li", "已开始新对话。")
	write("bo", "de", "/new")
	p.await(t, "bo", "This is a new conversation.")
	write("li", "zh-hans", "/models none")
	p.await(t, "li", "已开始新对话。", "没有这个模型。发送 /models 查看可用模型。")
	w.settled(t)
	lang = "zh_CN"
	w.hub.Close()
	w.begin(setup{bot: newBot(p.url), settings: func(s *channels.Settings) { s.Lang = lang }})
	p.say("ann", "/new")
	p.await(t, "ann", "已开始新对话。")
	w.settled(t)
}

// TestModelsOfTheAskerAreListedAndFound by a part of their names.
func TestModelsOfTheAskerAreListedAndFound(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("bob", "/model")
	p.await(t, "bob", "- small\n- large")
	p.say("bob", "/models LAR")
	p.await(t, "bob", "- small\n- large", "This chat uses large now.")
	p.say("bob", "/models l")
	p.await(t, "bob", "- small\n- large", "This chat uses large now.", "Several models match. Send /models and one of these names:\n- small\n- large")
	w.settled(t)
}

// TestStatusTellsWhyTheLastAnswerDidNotArrive: also when it was given up before.
func TestStatusTellsWhyTheLastAnswerDidNotArrive(t *testing.T) {
	p := newPlatform(t)
	p.misbehave(func(op string) string {
		if op == "edit" {
			return "gone"
		}
		return ""
	})
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "hello")
	until(t, func() string {
		if p.orphans("ada") == 0 { // asked first: before the message is stored, nothing is open either
			return "the answer is not begun"
		}
		if open, err := w.open(t.Context()); err != nil || open != "" {
			return "the answer is not given up: " + open
		}
		return ""
	})
	p.say("ada", "/status")
	until(t, func() string {
		got := p.chat("ada")
		if len(got) == 0 || !strings.HasSuffix(got[0], "\nWaiting messages: 0\nLast error: the bot was blocked") {
			return fmt.Sprintf("/status is answered with %q", got)
		}
		return ""
	})
	w.settled(t)
}

func TestStopEndsTheRunAndKeepsItsText(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "hang now")
	p.await(t, "ada", "re: hang now")
	p.say("ada", "/stop")
	p.await(t, "ada", "re: hang now\n\nStopped.")
	w.settled(t)
}

func TestARunThatFailsSaysWhy(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "fail please")
	until(t, func() string {
		if got := p.chat("ada"); len(got) != 1 || !strings.Contains(got[0], "re: fail please") ||
			!strings.Contains(got[0], "Something went wrong") {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	w.settled(t)
}

func TestGroupsAreOffUntilAllowedAndNeedAMention(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	group := func(id, text string, mentioned bool, under ...string) {
		p.write(chat.Update{ID: id, Address: chat.Address{Chat: "g", Topic: "m" + id, Group: true}, Under: under,
			Sender: chat.Person{ID: "ada", Name: "Ada [x]\n"}, Text: text, Mentioned: mentioned})
	}
	group("1", "anyone?", true)
	until(t, func() string {
		if got := p.chat("g"); len(got) != 1 || !strings.Contains(got[0], "/allow") {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	group("2", "/allow", false)
	until(t, func() string {
		if got := p.chat("g"); len(got) != 2 {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	group("3", "not for the bot", false)
	group("4", "hi", true)
	until(t, func() string {
		if got := p.chat("g"); len(got) != 3 || got[2] != "re: [Ada  x] hi" {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	w.settled(t)
	p.mu.Lock()
	last := p.messages[len(p.messages)-1]
	p.mu.Unlock()
	if last.ReplyTo != "mu4" && last.ReplyTo != "m4" {
		t.Errorf("the answer replies to %q", last.ReplyTo)
	}
	group("5", "more", true, last.ID) // a reply to the answer goes on in its thread
	until(t, func() string {
		if got := p.chat("g"); len(got) != 4 || !strings.HasPrefix(got[3], "re: ") {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	w.settled(t)
	if got := w.texts(t, "g", "m4"); len(got) != 4 {
		t.Errorf("the thread of the topic has %q", got)
	}
}

func TestFilesGoBothWays(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.write(chat.Update{Address: chat.Address{Chat: "ada"}, Sender: chat.Person{ID: "ada"}, Text: "file please",
		Files: []chat.FileRef{{ID: "x1", Name: "../notes.txt"}}})
	p.await(t, "ada", "re: file please\n(Sent a file: notes.txt)")
	w.settled(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.files, []string{"a.txt=made"}) {
		t.Errorf("sent files: %q", p.files)
	}
	c := must.Get(w.db.ChannelChat(t.Context(), "telegram", "ada", ""))(t)
	r, _ := must.Get2(w.openFile(c.Thread, "/mnt/user-data/uploads/notes.txt"))(t)
	r.Close()
}

func TestFaultsOfThePlatformLoseNothing(t *testing.T) {
	for _, fault := range []string{"rate", "error", "drop"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel() // it waits a second
			p := newPlatform(t)
			n := 0
			p.misbehave(func(op string) string {
				if n++; op != "typing" && n%3 == 0 && n < 8 {
					return fault
				}
				return ""
			})
			w := start(t, setup{bot: newBot(p.url)})
			p.say("ada", "hello there")
			p.await(t, "ada", "re: hello there")
			w.settled(t)
		})
	}
}

func TestADeletedMessageIsReplacedAndABlockedBotGivesUp(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "hang on")
	p.await(t, "ada", "re: hang on")
	p.mu.Lock()
	p.messages[0].Deleted = true
	p.mu.Unlock()
	p.say("ada", "/stop")
	p.await(t, "ada", "re: hang on\n\nStopped.")
	w.settled(t)
	p.misbehave(func(string) string { return "gone" })
	p.say("ada", "more")
	until(t, func() string {
		failed, err := w.db.Undelivered(t.Context(), 10)
		if err != nil || len(failed) != 1 || failed[0].State != store.OutboundFailed ||
			channels.Trouble(failed[0]) != (chat.Trouble{Cause: chat.ChatGone, Text: "the bot was blocked"}) {
			return fmt.Sprintf("undelivered: %+v, %v", failed, err)
		}
		return ""
	})
}

func TestTheNextServerGoesOnInTheSameMessage(t *testing.T) {
	p := newPlatform(t)
	dir := t.TempDir()
	w := start(t, setup{dir: dir, bot: newBot(p.url)})
	p.say("ada", "hang here")
	p.await(t, "ada", "re: hang here")
	p.say("ada", "later")
	until(t, func() string {
		if n, err := w.db.CountWaiting(t.Context(), "telegram"); err != nil || n != 1 {
			return "not stored"
		}
		return ""
	})
	w.close()
	before := hangs.Load()
	w = start(t, setup{dir: dir, bot: newBot(p.url)})
	until(t, func() string {
		if hangs.Load() == before {
			return "the run does not go on"
		}
		if got := p.chat("ada"); len(got) != 1 || got[0] != "re: hang here" {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	p.say("ada", "/stop")
	until(t, func() string {
		got := p.chat("ada")
		if len(got) < 2 || !strings.HasPrefix(got[0], "re: hang here") || !strings.Contains(got[1], "later") {
			return "shows " + strings.Join(got, "|")
		}
		return ""
	})
	p.say("ada", "/stop")
	w.settled(t)
}

// TestThePaceOfAPlatformIsKept: the first message goes at once, those after it as the platform allows.
func TestThePaceOfAPlatformIsKept(t *testing.T) {
	p := newPlatform(t)
	b := newBot(p.url)
	b.limits.Bot, b.limits.Chat = chat.Bucket{N: 30, Per: time.Second}, chat.Bucket{N: 1, Per: 20 * time.Millisecond}
	w := start(t, setup{bot: b})
	p.say("ada", "hello there")
	p.await(t, "ada", "re: hello there")
	w.settled(t)
}

func TestAWrongTokenIsSaidWithItsRemedy(t *testing.T) {
	p := newPlatform(t)
	b := newBot(p.url)
	b.poison = true
	w := start(t, setup{bot: b})
	until(t, func() string {
		if s, ok := w.hub.Status("telegram"); !ok || s.Error != "the token is wrong" || s.Remedy == "" || s.Running {
			return s.Error
		}
		return ""
	})
}
