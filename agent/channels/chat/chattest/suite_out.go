package chattest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"fawn/agent/channels/chat"
)

func (s *suite) edits() {
	to := s.hear()
	ref, err := s.ch.Send(s.Context(), to, chat.Post{Text: "…", Key: "a", Grows: true})
	if err != nil || ref.Message == "" || ref.Address != to {
		s.Fatalf("%+v, %v", ref, err)
	}
	if !s.ch.Limits().CanEdit {
		if len(s.Fake.State().Shown(to.Chat)) != 1 {
			s.Errorf("the chat is %+v", s.Fake.State().Shown(to.Chat))
		}
		return
	}
	for range 2 { // the second call changes nothing, which isn't an error
		p := chat.Post{Text: "a **bold** word <!channel> @everyone", Grows: true}
		if err := s.ch.Edit(s.Context(), ref, p); err != nil {
			s.Fatal(err)
		}
	}
	got := s.Fake.State().Shown(to.Chat)
	if len(got) != 1 || !strings.Contains(got[0].Text, s.Bold) {
		s.Errorf("the chat is %+v, without %q", got, s.Bold)
	}
	if err := s.ch.Edit(s.Context(), ref, chat.Post{Text: "a **plain** text", Plain: true}); err != nil {
		s.Fatal(err)
	}
	if got := s.Fake.State().Shown(to.Chat); got[0].Rich && !s.Marked {
		s.Errorf("plain text is shown as %+v", got)
	}
	for range 2 { // repeating the last edit changes nothing either
		if err := s.ch.Edit(s.Context(), ref, chat.Post{Text: "the **end**", Grows: true, Final: true}); err != nil {
			s.Fatal(err)
		}
	}
	if got := s.Fake.State().Shown(to.Chat); len(got) != 1 || !strings.Contains(got[0].Text, "end") {
		s.Errorf("the chat is %+v", got)
	}
}

func (s *suite) unformatted() {
	if s.Plain == "" {
		s.Skip("the platform refuses no formatting")
	}
	to := s.hear()
	s.Fake.State().Fail(Fault{Op: "send", Kind: Unformatted})
	if _, err := s.ch.Send(s.Context(), to, chat.Post{Text: "a **bold** word"}); err != nil {
		s.Fatal(err)
	}
	if got := s.Fake.State().Shown(to.Chat); len(got) != 1 || got[0].Rich || !strings.Contains(got[0].Text, s.Plain) {
		s.Errorf("the chat is %+v, without %q", got, s.Plain)
	}
}

func (s *suite) keyed() {
	to := s.hear()
	s.Fake.State().Fail(Fault{Op: "send", Kind: Lost})
	first, err := s.ch.Send(s.Context(), to, chat.Post{Text: "once", Key: "key-1"})
	if err == nil {
		s.Fatal("an answer that was lost is no error")
	}
	s.hidden(err)
	first, err = s.ch.Send(s.Context(), to, chat.Post{Text: "once", Key: "key-1"})
	if err != nil {
		s.Fatal(err)
	}
	want := 2
	if s.ch.Limits().Keyed {
		want = 1
	}
	got := s.Fake.State().Shown(to.Chat)
	if len(got) != want || got[len(got)-1].ID != first.Message {
		s.Errorf("the chat is %+v, want %d messages, the last of which is %s", got, want, first.Message)
	}
	if _, err := s.ch.Send(s.Context(), to, chat.Post{Text: "other", Key: "key-2"}); err != nil {
		s.Fatal(err)
	}
	if got := s.Fake.State().Shown(to.Chat); len(got) != want+1 {
		s.Errorf("another key made %+v", got)
	}
}

func (s *suite) longest() {
	to := s.hear()
	l := s.ch.Limits()
	text := strings.Repeat("*a* `b` <c> [d](https://example.org/?a=1&b=2) 一😀 | _\n", 1+2*l.Max/50)
	pieces := chat.Split(text, l)
	if len(pieces) < 2 {
		s.Fatalf("only %d piece", len(pieces))
	}
	for _, p := range pieces[:2] {
		if _, err := s.ch.Send(s.Context(), to, chat.Post{Text: p.Text, Key: p.Text[:8]}); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *suite) upload() {
	to := s.hear()
	if s.ch.Limits().MaxFile == 0 {
		s.Skip("the platform takes no files")
	}
	data := bytes.Repeat([]byte("x"), 100000)
	f := chat.File{Name: "report.txt", Type: "text/plain", Size: int64(len(data)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
	for range 2 {
		ref, err := s.ch.Upload(s.Context(), to, f, "file-1")
		if err != nil || ref.Message == "" {
			s.Fatalf("%+v, %v", ref, err)
		}
		if !s.ch.Limits().Keyed {
			break
		}
	}
	got := s.Fake.State().Shown(to.Chat)
	if len(got) != 1 || got[0].File == nil || got[0].File.Name != "report.txt" || !bytes.Equal(got[0].File.Data, data) {
		s.Errorf("the chat has %d messages: %.300s", len(got), describe(got))
	}
}

func describe(all []Shown) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.ID + " " + m.Text)
		if m.File != nil {
			b.WriteString(" file " + m.File.Name)
		}
		b.WriteString("; ")
	}
	return b.String()
}

func (s *suite) typing() {
	to := s.hear()
	if err := s.ch.Typing(s.Context(), to); err != nil {
		s.Fatal(err)
	}
	if s.Fake.State().Calls("typing") == 0 && !s.Silent {
		s.Error("nothing was shown")
	}
}

func (s *suite) rate() {
	to := s.hear()
	s.Fake.State().Fail(Fault{Op: "send", Kind: Rate, After: 2 * time.Second})
	_, err := s.ch.Send(s.Context(), to, chat.Post{Text: "x"})
	if r, ok := errors.AsType[*chat.Rate](err); !ok || r.After != 2*time.Second && !s.NoAfter {
		s.Errorf("the error is %#v", err)
	}
}

func (s *suite) serverError() {
	to := s.hear()
	s.Fake.State().Fail(Fault{Op: "send", Kind: Broken})
	_, err := s.ch.Send(s.Context(), to, chat.Post{Text: "x"})
	if err == nil || isTyped(err) {
		s.Errorf("the error is %#v", err)
	}
	s.hidden(err)
}

func isTyped(err error) bool {
	_, rate := errors.AsType[*chat.Rate](err)
	_, gone := errors.AsType[*chat.Gone](err)
	_, fatal := errors.AsType[*chat.Fatal](err)
	_, refused := errors.AsType[*chat.Refused](err)
	return rate || gone || fatal || refused
}

func (s *suite) chatGone() {
	to := s.hear()
	s.Fake.State().Fail(Fault{Op: "send", Kind: ChatGone})
	_, err := s.ch.Send(s.Context(), to, chat.Post{Text: "x"})
	if g, ok := errors.AsType[*chat.Gone](err); !ok || g.Message || g.Reason == "" {
		s.Errorf("the error is %#v", err)
	}
}

func (s *suite) messageGone() {
	if !s.ch.Limits().CanEdit {
		s.Skip("messages stay as they are")
	}
	to := s.hear()
	ref, err := s.ch.Send(s.Context(), to, chat.Post{Text: "x", Key: "m", Grows: true})
	if err != nil {
		s.Fatal(err)
	}
	s.Fake.State().Fail(Fault{Op: "edit", Kind: MessageGone})
	err = s.ch.Edit(s.Context(), ref, chat.Post{Text: "y"})
	if _, stays := errors.AsType[*chat.Stays](err); stays && s.ch.Limits().MayStay {
		return
	}
	if g, ok := errors.AsType[*chat.Gone](err); !ok || !g.Message {
		s.Errorf("the error is %#v", err)
	}
}
