package chat_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func TestTroublesAreToldApart(t *testing.T) {
	for cause, err := range map[chat.Cause]error{
		chat.NoName:       &url.Error{Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x"}}},
		chat.NoConnection: fmt.Errorf("getMe: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}),
		chat.NoTLS:        &tls.CertificateVerificationError{Err: errors.New("expired")},
		chat.Slow:         fmt.Errorf("getMe: %w", context.DeadlineExceeded),
		chat.Lost:         fmt.Errorf("read: %w", io.ErrUnexpectedEOF),
		chat.Foreign:      fmt.Errorf("reading the answer: %w", json.Unmarshal([]byte("<html>"), new(any))),
		chat.Limited:      &chat.Rate{After: time.Second},
		chat.ChatGone:     fmt.Errorf("send: %w", &chat.Gone{Reason: "blocked"}),
		chat.Late:         &chat.Gone{Cause: chat.Late, Reason: "too old"},
		chat.Declined:     &chat.Refused{Reason: "no_text"},
		chat.Elsewhere:    &chat.Fatal{Cause: chat.Elsewhere, Reason: "Another program."},
		"":                errors.New("something else"),
	} {
		got := chat.TroubleOf(err)
		if got.Cause != cause {
			t.Errorf("%v: %q, want %q", err, got.Cause, cause)
		}
		if back := chat.ParseTrouble(got.String()); back != got {
			t.Errorf("stored as %q, read as %+v", got.String(), back)
		}
	}
	for _, text := range []string{"", "getMe: status 502", "[what is this", "[a] b"} {
		if got := chat.ParseTrouble(text); got.String() != text {
			t.Errorf("%q became %q", text, got.String())
		}
	}
	need := chat.Trouble{Cause: chat.NoPermission, Need: "chat:write", Text: "[it] says so"}
	if got := chat.ParseTrouble(need.String()); got != need {
		t.Errorf("%+v", got)
	}
}

// What adapters return is told apart, too: the calls are real, the servers are not.
func TestAdaptersSayWhatTheTroubleIs(t *testing.T) {
	slack := chattest.NewSlack(t)
	slack.State().Fail(chattest.Fault{Op: "send", Kind: chattest.Forbidden},
		chattest.Fault{Op: "send", Kind: chattest.Broken}, chattest.Fault{Op: "send", Kind: chattest.ChatGone})
	s := must.Get(chat.NewSlack(chat.SlackConfig{BotToken: chattest.SlackBotToken, AppToken: chattest.SlackAppToken,
		Options: chat.Options{BaseURL: slack.State().URL}}))(t)
	for _, want := range []chat.Trouble{{Cause: chat.NoPermission, Need: "chat:write"}, {Cause: chat.Faulty},
		{Cause: chat.ChatGone}} {
		_, err := s.Send(t.Context(), chat.Address{Chat: "D7"}, chat.Post{Text: "hello"})
		got := chat.TroubleOf(err)
		if want.Text = got.Text; got != want || got.Text == "" {
			t.Errorf("%v: %+v, want %+v", err, got, want)
		}
	}
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html><title>Sign in to this network</title>")
	}))
	defer html.Close()
	held := must.Get(net.Dial("tcp", html.Listener.Addr().String()))(t) // has a port where nobody else can listen
	defer held.Close()
	down := "http://" + held.LocalAddr().String()
	for at, want := range map[string]chat.Cause{html.URL: chat.Foreign, down: chat.NoConnection} {
		b, err := chat.NewTelegram(chat.TelegramConfig{Token: chattest.TelegramToken,
			Options: chat.Options{BaseURL: at}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = b.Check(t.Context()); err == nil || chat.TroubleOf(err).Cause != want {
			t.Errorf("%s: %v is %q, want %q", at, err, chat.TroubleOf(err).Cause, want)
		}
	}
}
