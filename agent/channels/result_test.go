package channels_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/store"
)

const pairedOwner = "ada"

// paired is a server whose bot answers connected people only, with the account of one.
func paired(t *testing.T, p *platform, s setup) *world {
	t.Helper()
	s.bot = newBot(p.url)
	s.settings = func(set *channels.Settings) { set.Bots[0].Allowed = nil }
	w := start(t, s)
	w.connect(t, p, "7")
	return w
}

func (w *world) connect(t *testing.T, p *platform, who string) {
	t.Helper()
	before := len(p.chat(who))
	code, _ := must.Get2(w.hub.Code(t.Context(), pairedOwner, w.provider))(t)
	p.say(who, "/connect "+code)
	until(t, func() string {
		if got := p.chat(who); len(got) != before+1 || !strings.Contains(got[before], "connected") {
			return fmt.Sprintf("connecting: %q", got)
		}
		return ""
	})
}

func (w *world) revoke(t *testing.T) {
	t.Helper()
	list := must.Get(w.db.Connections(t.Context(), pairedOwner))(t)
	for _, c := range list {
		must.Do(t, w.db.Disconnect(t.Context(), pairedOwner, c.ID))
	}
	must.Do(t, w.hub.Revoked(t.Context(), w.provider))
}

func to(chatID string) string {
	return channels.Destination{Provider: "telegram", Chat: chatID}.String()
}

// task is a task that is started by hand.
func (w *world) task(t *testing.T, title, prompt, deliver string, change ...func(*store.Cron)) store.Cron {
	t.Helper()
	payload := must.Get(schedule.Payload(prompt))(t)
	c := store.Cron{ID: "task-" + agentID() + title, Owner: pairedOwner, Kind: store.CronOnce, Title: title, Task: true,
		Enabled: true, After: "keep", Overlap: "skip", Timezone: "UTC", Payload: payload, Deliver: deliver}
	for _, do := range change {
		do(&c)
	}
	c = must.Get(w.db.CreateCron(t.Context(), c))(t)
	return c
}

func (w *world) trigger(t *testing.T, c store.Cron) store.CronRun {
	t.Helper()
	r := must.Get(w.tasks.Trigger(t.Context(), c))(t)
	return r
}

// last is the message of the bot that a chat shows last.
func (p *platform) last(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range slices.Backward(p.messages) {
		if m.Chat == id {
			return m.ID
		}
	}
	return ""
}

func (p *platform) reply(who, message, text string) {
	p.write(chat.Update{Address: chat.Address{Chat: who}, Sender: chat.Person{ID: who, Name: who}, Text: text,
		Under: []string{message}})
}

// thread is what a thread says, as "type:text".
func (w *world) thread(t *testing.T, id string) (out []string) {
	t.Helper()
	snap := must.Get(w.db.Snapshot(t.Context(), id, ""))(t)
	st := must.Get(runs.State(snap))(t)
	for _, m := range st.Messages {
		if text := m.Content.String(); text != "" {
			out = append(out, m.Type+":"+text)
		}
	}
	return out
}

// failures are the reasons of answers that were given up.
func (w *world) failures(t *testing.T) (out []string) {
	t.Helper()
	list := must.Get(w.db.Undelivered(t.Context(), 10))(t)
	for _, o := range list {
		out = append(out, o.State+": "+o.Error)
	}
	return out
}

// TestAResultIsOneMessageWhoseReplyGoesOn in the task's thread, while the conversation of the chat stays what it was
// until then.
func TestAResultIsOneMessageWhoseReplyGoesOn(t *testing.T) {
	p := newPlatform(t)
	w := paired(t, p, setup{})
	p.say("7", "hello")
	shown := []string{"Your account is connected. Write to me, or send /help.", "re: hello"}
	p.await(t, "7", shown...)
	r := w.trigger(t, w.task(t, "Morning *report*", "file of today", to("7")))
	shown = append(shown, "**Morning \\*report\\***\n\nre: file of today")
	p.await(t, "7", shown...)
	w.settled(t)
	p.mu.Lock()
	texts, sent := slices.Clone(p.messages[len(p.messages)-1].Texts), slices.Clone(p.files)
	p.mu.Unlock()
	if len(texts) != 2 || texts[0] != "…" || !slices.Equal(sent, []string{"a.txt=made"}) {
		t.Errorf("it was not sent at once: %q, files %q", texts, sent)
	}
	result := p.last("7")
	p.say("7", "still here")
	shown = append(shown, "re: still here")
	p.await(t, "7", shown...)
	w.settled(t)
	if got := w.texts(t, "7", ""); len(got) != 4 {
		t.Errorf("the conversation of the chat: %q", got)
	}
	p.reply("7", result, "what of it")
	shown = append(shown, "re: what of it")
	p.await(t, "7", shown...)
	p.say("7", "and more")
	p.await(t, "7", append(shown, "re: and more")...)
	w.settled(t)
	want := []string{"human:file of today", "tool:done", "ai:re: file of today", "human:what of it",
		"ai:re: what of it", "human:and more", "ai:re: and more"}
	if got := w.thread(t, r.Thread); !slices.Equal(got, want) {
		t.Errorf("the thread of the task: %q", got)
	}
}

// TestAResultWaitsForNobodyAndKeepsNobodyWaiting: people go on talking while a task works.
func TestAResultWaitsForNobodyAndKeepsNobodyWaiting(t *testing.T) {
	p := newPlatform(t)
	w := paired(t, p, setup{})
	first := "Your account is connected. Write to me, or send /help."
	r := w.trigger(t, w.task(t, "Long", "hang on", to("7")))
	p.say("7", "meanwhile")
	p.await(t, "7", first, "re: meanwhile")
	must.Do(t, w.runs.Cancel(t.Context(), r.Thread, r.Run, true))
	p.await(t, "7", first, "re: meanwhile", "The task “Long” was stopped.")
	w.settled(t)
}

func TestAFailedTaskIsOneLine(t *testing.T) {
	p := newPlatform(t)
	w := paired(t, p, setup{})
	first := "Your account is connected. Write to me, or send /help."
	w.trigger(t, w.task(t, "Report", "fail now", to("7")))
	line := "The task “Report” failed: the provider is gone."
	p.await(t, "7", first, line)
	c := w.task(t, "Lost", "x", to("7"), func(c *store.Cron) {
		c.Payload = json.RawMessage(`{"command":{"goto":"x"}}`)
	})
	if _, err := w.tasks.Trigger(t.Context(), c); err == nil {
		t.Fatal("it started")
	}
	until(t, func() string {
		if got := p.chat("7"); len(got) != 3 || !strings.HasPrefix(got[2], "The task “Lost” failed: ") ||
			strings.Contains(got[2], "\n") {
			return fmt.Sprintf("the chat shows %q", got)
		}
		return ""
	})
	w.settled(t)
}

// TestAResultIsNotSentToAChatThatIsNoLongerConnected, whether that was so when the run began or came later.
func TestAResultIsNotSentToAChatThatIsNoLongerConnected(t *testing.T) {
	p := newPlatform(t)
	w := paired(t, p, setup{})
	before := len(p.chat("7"))
	r := w.trigger(t, w.task(t, "Long", "hang on", to("7")))
	until(t, func() string {
		if w.runs.Active(r.Thread) == "" {
			return "no run"
		}
		return ""
	})
	w.revoke(t)
	if got := w.failures(t); !slices.Equal(got, []string{"failed: " + channels.NotConnected}) {
		t.Errorf("given up: %q", got)
	}
	must.Do(t, w.runs.Cancel(t.Context(), r.Thread, r.Run, true))
	late := w.trigger(t, w.task(t, "Late", "hello", to("7")))
	must.Get(w.runs.Wait(t.Context(), late.Run))(t)
	w.settled(t)
	if got := w.failures(t); len(got) != 2 {
		t.Errorf("given up: %q", got)
	}
	if got := p.chat("7"); len(got) != before {
		t.Errorf("the chat shows %q", got)
	}
	w.connect(t, p, "7") // and it's sent again when it's asked for
	must.Do(t, w.hub.Retry(t.Context(), late.Run))
	until(t, func() string {
		if got := p.chat("7"); got[len(got)-1] != "**Late**\n\nre: hello" {
			return fmt.Sprintf("the chat shows %q", got)
		}
		return ""
	})
	w.settled(t)
}

// TestRevokingStopsTheAnswerThatIsBeingWritten: what stands there stays, and nothing is added.
func TestRevokingStopsTheAnswerThatIsBeingWritten(t *testing.T) {
	p := newPlatform(t)
	w := paired(t, p, setup{})
	p.say("7", "hang here")
	until(t, func() string {
		if got := p.chat("7"); got[len(got)-1] != "re: hang here" { // all so far: no call is on its way any more
			return fmt.Sprintf("the chat shows %q", got)
		}
		return ""
	})
	w.revoke(t)
	p.mu.Lock()
	calls := p.calls["send"] + p.calls["edit"]
	p.mu.Unlock()
	c := must.Get(w.db.ChannelChat(t.Context(), "telegram", "7", ""))(t)
	must.Do(t, w.runs.CancelAll(t.Context(), c.Thread))
	w.settled(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.calls["send"] + p.calls["edit"]; now != calls {
		t.Errorf("%d calls were made after the account was disconnected", now-calls)
	}
	if got := w.failures(t); !slices.Equal(got, []string{"failed: " + channels.NotConnected}) {
		t.Errorf("given up: %q", got)
	}
}

// TestAGroupGetsTheResultsOfWhoLetTheBotIn, and only they go on with them.
func TestAGroupGetsTheResultsOfWhoLetTheBotIn(t *testing.T) {
	p := newPlatform(t)
	w := paired(t, p, setup{})
	in := func(who, text string, under ...string) {
		topic := ""
		for _, m := range under {
			topic = "m" + m
		}
		p.write(chat.Update{Address: chat.Address{Chat: "g", Topic: topic, Group: true}, ChatName: "Team", Text: text,
			Sender: chat.Person{ID: who, Name: who}, Under: under, Mentioned: true})
	}
	if _, ok, err := w.hub.Find(t.Context(), pairedOwner, channels.Destination{Provider: "telegram", Chat: "g"}); ok ||
		err != nil {
		t.Errorf("a group that nobody enabled is offered: %v", err)
	}
	in("7", "/allow")
	until(t, func() string {
		if len(p.chat("g")) != 1 {
			return "the group is not enabled"
		}
		return ""
	})
	offers, err := w.hub.Offers(t.Context(), pairedOwner)
	if err != nil || len(offers) != 2 || !slices.ContainsFunc(offers, func(o channels.Offer) bool {
		return o.Group && o.Name == "Team" && o.App == "telegram"
	}) {
		t.Errorf("offers: %+v, %v", offers, err)
	}
	if others, err := w.hub.Offers(t.Context(), "bob"); err != nil || len(others) != 0 {
		t.Errorf("somebody else is offered %+v, %v", others, err)
	}
	r := w.trigger(t, w.task(t, "Weekly", "sum it up", to("g")))
	until(t, func() string {
		if got := p.chat("g"); len(got) != 2 || got[1] != "**Weekly**\n\nre: sum it up" {
			return fmt.Sprintf("the group shows %q", got)
		}
		return ""
	})
	result := p.last("g")
	code, _ := must.Get2(w.hub.Code(t.Context(), "bob", w.provider))(t)
	p.say("8", "/connect "+code)
	until(t, func() string {
		if len(p.chat("8")) != 1 {
			return "8 is not connected"
		}
		return ""
	})
	in("8", "mine", result)
	until(t, func() string {
		if got := p.chat("g"); len(got) != 3 || !strings.HasSuffix(got[2], "mine") {
			return fmt.Sprintf("the group shows %q", got)
		}
		return ""
	})
	if got := w.thread(t, r.Thread); len(got) != 2 {
		t.Errorf("somebody else went on with it: %q", got)
	}
	in("7", "go on", result)
	until(t, func() string {
		if got := p.chat("g"); len(got) != 4 {
			return fmt.Sprintf("the group shows %q", got)
		}
		return ""
	})
	w.settled(t)
	if got := w.thread(t, r.Thread); len(got) != 4 || got[2] != "human:[7] go on" {
		t.Errorf("the thread of the task: %q", got)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.messages[len(p.messages)-1]; m.Topic != "m"+result {
		t.Errorf("the answer stands in topic %q", m.Topic)
	}
}
