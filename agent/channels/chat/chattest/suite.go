package chattest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/channels/chat"
)

// A Setup is an adapter and the server it talks to.
type Setup struct {
	Fake Fake
	// New creates an adapter; each call acts like a restart.
	New func(chat.Options) (chat.Channel, error)
	// Person and Group are ids in the platform's form.
	Person, Group string
	// Silent: the platform has no call for Typing.
	Silent bool
	// OneTopic: a group is one conversation.
	OneTopic bool
	// Unconfirmed: the platform delivers once and expects no confirmation.
	Unconfirmed bool
	// NoGroups: the platform has no groups with bots.
	NoGroups bool
	// NoAfter: the platform doesn't report how long to wait.
	NoAfter bool
	// NoFiles: files that people send cannot be read.
	NoFiles bool
	// Marked: all text is shown with formatting.
	Marked bool
	// Bold is shown for a bold word, and Plain where formatting was refused.
	Bold, Plain string
}

// suite is one case.
type suite struct {
	*testing.T
	Setup
	ch chat.Channel
	in *Inbox
}

// Suite runs the cases that every adapter must pass. setup is called for each case.
func Suite(t *testing.T, setup func(t *testing.T) Setup) {
	for _, c := range []struct {
		name string
		run  func(s *suite)
	}{
		{"CheckSaysWhoTheBotIs", (*suite).check},
		{"AMessageArrivesWhole", (*suite).arrives},
		{"NothingIsConfirmedBeforeItIsTaken", (*suite).confirms},
		{"WhatIsDeliveredAgainHasTheSameID", (*suite).repeated},
		{"InAGroupMentionsCount", (*suite).group},
		{"TheBotDoesNotHearItselfOrOtherBots", (*suite).bots},
		{"ABadUpdateBlocksNothing", (*suite).broken},
		{"AFileCanBeRead", (*suite).fetch},
		{"AMessageIsShownAndEdited", (*suite).edits},
		{"RefusedFormattingIsLeftOut", (*suite).unformatted},
		{"AKeyPostsOnce", (*suite).keyed},
		{"TheLongestMessageFits", (*suite).longest},
		{"AFileIsPosted", (*suite).upload},
		{"TypingIsShown", (*suite).typing},
		{"TooManyCallsSayHowLongToWait", (*suite).rate},
		{"AServerErrorMayBeTriedAgain", (*suite).serverError},
		{"AChatThatIsGoneSaysSo", (*suite).chatGone},
		{"AMessageThatIsGoneSaysSo", (*suite).messageGone},
		{"AWrongTokenEndsTheChannel", (*suite).wrongToken},
		{"ABrokenConnectionComesBack", (*suite).cut},
		{"ARestartGoesOn", (*suite).restart},
		{"AnythingMayHappenAtOnce", (*suite).together},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{T: t, Setup: setup(t), in: NewInbox()}
			s.ch = s.open()
			c.run(s)
		})
	}
}

func (s *suite) open() chat.Channel {
	s.Helper()
	ch, err := s.New(chat.Options{BaseURL: s.Fake.State().URL, FirstWait: 10 * time.Millisecond})
	if err != nil {
		s.Fatal(err)
	}
	return ch
}

// run starts the channel, until the end of the test or stop.
func (s *suite) run() (stop func() error) {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- s.ch.Run(ctx, s.in) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	s.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, context.Canceled) {
			s.hidden(err)
		}
	})
	return stop
}

// hidden checks that an error does not show the secret.
func (s *suite) hidden(err error) {
	s.Helper()
	if err != nil && strings.Contains(err.Error(), s.Fake.State().Secret) {
		s.Errorf("the error shows the secret: %v", err)
	}
}

// confirmed waits until the bot confirmed a message, on platforms with confirmations.
func (s *suite) confirmed(text string) {
	s.Helper()
	if !s.Unconfirmed {
		s.Fake.State().WaitConfirmed(text)
	}
}

func (s *suite) private() chat.Address { return chat.Address{Chat: s.Fake.Chat(s.Person)} }

// hear makes a person write, for platforms where a bot may only reply.
func (s *suite) hear() chat.Address {
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "first words"})
	return s.in.WaitText(s, "first words").Address
}

func (s *suite) check() {
	me, err := s.ch.Check(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if me.ID == "" || me.Name == "" {
		s.Errorf("the bot is %+v", me)
	}
}

func (s *suite) arrives() {
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "Hello & <b>\n*you*"})
	u := s.in.WaitText(s, "Hello & <b>\n*you*")
	if u.ID == "" || u.Message == "" || u.Sender.ID != s.Person || u.Address != s.private() ||
		time.Since(u.At) > time.Hour {
		s.Errorf("the update is %+v", u)
	}
	s.confirmed("Hello & <b>\n*you*")
}

func (s *suite) confirms() {
	var refused atomicCount
	free := make(chan struct{})
	s.in.Refuse = func(batch []chat.Update) error {
		if len(batch) == 0 {
			return nil
		}
		switch refused.add() {
		case 1:
			return errors.New("database or disk is full")
		case 2:
			<-free
		}
		return nil
	}
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "keep me"})
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	if !refused.reach(ctx, 1) {
		s.Error("the update never came")
	}
	if s.Fake.State().Confirmed("keep me") {
		s.Error("the update was confirmed though it was not taken")
	}
	if !s.Unconfirmed {
		s.Fake.Repeat()
	}
	if !refused.reach(ctx, 2) {
		s.Error("the update did not come again")
	}
	if s.Fake.State().Confirmed("keep me") {
		s.Error("the update was confirmed before it was taken")
	}
	close(free)
	s.in.WaitText(s, "keep me")
	s.confirmed("keep me")
}

func (s *suite) repeated() {
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "one"})
	first := s.in.WaitText(s, "one")
	s.Fake.Repeat()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "two"})
	if second := s.in.WaitText(s, "two"); second.ID == first.ID {
		s.Error("two messages have one id")
	}
	if n := len(s.in.Updates()); n != 2 {
		s.Errorf("there are %d updates of two messages", n)
	}
}

func (s *suite) group() {
	if s.NoGroups {
		s.Skip("bots are in no groups")
	}
	s.run()
	s.Fake.Say(Said{Chat: s.Group, Group: true, From: s.Person, Name: "Ada", Text: "/help me", Mention: true})
	u := s.in.WaitText(s, "/help me")
	if !u.Mentioned || !u.Group || u.Chat != s.Group || u.Topic == "" && !s.OneTopic {
		s.Errorf("the update is %+v", u)
	}
	ref, err := s.ch.Send(s.Context(), u.Address, chat.Post{Text: "an answer", Key: "g", ReplyTo: u.Message})
	if err != nil {
		s.Fatal(err)
	}
	if got := s.Fake.State().Shown(s.Group); len(got) != 1 || got[0].ID != ref.Message {
		s.Errorf("the group sees %+v", got)
	}
}

func (s *suite) bots() {
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Bot", Text: "I am a bot", Bot: true})
	s.Fake.Say(Said{From: s.Person, Name: "Fawn", Text: "I am myself", Self: true})
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "I am not"})
	s.in.WaitText(s, "I am not")
	if got := s.in.Updates(); len(got) != 1 {
		s.Errorf("the updates are %+v", got)
	}
}

func (s *suite) broken() {
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "unreadable", Broken: true})
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "after it"})
	s.in.WaitText(s, "after it")
	s.confirmed("unreadable")
	s.confirmed("after it")
	i := slices.IndexFunc(s.in.Updates(), func(u chat.Update) bool { return u.Problem != "" })
	if i < 0 || s.in.Updates()[i].ID == "" {
		s.Errorf("the updates are %+v", s.in.Updates())
	}
}

func (s *suite) fetch() {
	if s.NoFiles {
		s.Skip("the platform hands out no files")
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 9000)
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "look", File: &Sent{"notes.txt", data}})
	s.in.await(s, "a file", func() bool { return len(s.in.updates) == 1 && len(s.in.updates[0].Files) == 1 })
	f := s.in.Updates()[0].Files[0]
	if f.Name == "" || strings.Contains(f.ID, s.Fake.State().Secret) {
		s.Errorf("the file is %+v", f)
	}
	var got bytes.Buffer
	if err := s.ch.Fetch(s.Context(), f, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		s.Errorf("got %d bytes and %v, want %d", got.Len(), err, len(data))
	}
	full := errors.New("the limit is reached")
	if err := s.ch.Fetch(s.Context(), f,
		writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		s.Errorf("the writer's limit became %v", err)
	}
	err := s.ch.Fetch(s.Context(), chat.FileRef{ID: "no such file"}, io.Discard)
	if err == nil {
		s.Error("a file that isn't there was read")
	}
	s.hidden(err)
}

func (s *suite) wrongToken() {
	s.Fake.State().Fail(Fault{Op: "check", Kind: Unknown}, Fault{Op: "check", Kind: Unknown})
	_, err := s.ch.Check(s.Context())
	if _, ok := errors.AsType[*chat.Fatal](err); !ok {
		s.Errorf("Check says %#v", err)
	}
	s.hidden(err)
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	err = s.ch.Run(ctx, s.in)
	f, ok := errors.AsType[*chat.Fatal](err)
	if !ok || f.Reason == "" || f.Remedy == "" {
		s.Fatalf("Run says %#v", err)
	}
	s.hidden(err)
}

func (s *suite) cut() {
	s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "before"})
	s.in.WaitText(s, "before")
	s.confirmed("before")
	for range 3 {
		s.Fake.Cut()
	}
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "after"})
	s.in.WaitText(s, "after")
	s.in.await(s, "a connection", func() bool { return len(s.in.status) > 0 && s.in.status[len(s.in.status)-1] == nil })
}

func (s *suite) restart() {
	stop := s.run()
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "before"})
	s.in.WaitText(s, "before")
	if err := stop(); !errors.Is(err, context.Canceled) {
		s.Errorf("it stopped with %v", err)
	}
	s.Fake.State().WaitClosed() // without confirmations, messages written to a closing socket are lost
	s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "meanwhile"})
	s.ch = s.open()
	s.run()
	s.in.WaitText(s, "meanwhile")
	if n := len(s.in.Updates()); n != 2 {
		s.Errorf("there are %d updates", n)
	}
}

func (s *suite) together() {
	to := s.hear()
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			key := string(rune('a' + i))
			ref, err := s.ch.Send(s.Context(), to, chat.Post{Text: "message " + key, Key: key, Grows: true})
			if err != nil {
				s.Error(err)
				return
			}
			if s.ch.Limits().CanEdit {
				for range 5 {
					err = errors.Join(err, s.ch.Edit(s.Context(), ref, chat.Post{Text: "last " + key}))
				}
			}
			if err := errors.Join(err, s.ch.Typing(s.Context(), to)); err != nil {
				s.Error(err)
			}
			s.Fake.Say(Said{From: s.Person, Name: "Ada", Text: "said " + key})
			s.in.WaitText(s, "said "+key)
		})
	}
	work.Wait()
	if got := s.Fake.State().Shown(to.Chat); len(got) != 4 {
		s.Errorf("the chat is %s", describe(got))
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// atomicCount counts calls that others wait for.
type atomicCount struct {
	mu      sync.Mutex
	n       int
	changed chan struct{}
}

func (c *atomicCount) add() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if c.changed != nil {
		close(c.changed)
	}
	c.changed = make(chan struct{})
	return c.n
}

func (c *atomicCount) reach(ctx context.Context, n int) bool {
	for {
		c.mu.Lock()
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		have, changed := c.n, c.changed
		c.mu.Unlock()
		if have >= n {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
